"""Reviews a change to tests, with trees made from the change alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from yaoki.core.decide.integrity import weakened_tests_finding
from yaoki.core.model import CheckSpec, Finding
from yaoki.core.model.check_definition import DefinitionReview, TreeView
from yaoki.formats.quality import Change
from yaoki.formats.quality.definition.review import review_definition


def review_changes(changes: Sequence[Change], commands: Iterable[str] = ()) -> DefinitionReview:
    """`commands` are programs that checks of the plan run."""
    checks = [CheckSpec(name, argv=(name,)) for name in commands]
    before = {one.path: one.before for one in changes if one.before is not None}
    after = {one.path: one.after for one in changes if one.after is not None}
    base, candidate = (TreeView(frozenset(held), held.get) for held in (before, after))
    return review_definition(checks, changes, base, candidate, scope=(), allow_weaker_tests=False)


def weakening_finding(changes: Sequence[Change], commands: Iterable[str] = ()) -> Finding | None:
    found = review_changes(changes, commands).weakened
    return weakened_tests_finding(found) if found else None
