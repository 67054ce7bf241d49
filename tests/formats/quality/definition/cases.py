"""A change to a small repository, written as two sets of files, and what a check runs there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from yaoki.core.model import CheckSpec
from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import DefinitionReview, TreeView
from yaoki.formats.quality.definition import review_definition

PYTEST = "python -m pytest -q"
UNITTEST = "python -m unittest"

Files = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Case:
    """`changed` maps to the new text, or None for a file that is deleted.

    `where` is the file that the finding must name; `unsure` says that a second look decides.
    `links`: changed files that are symbolic links.
    """

    shell: str
    base: Files
    changed: Mapping[str, str | None]
    where: str = ""
    unsure: bool = False
    scope: tuple[str, ...] = ()
    allow: bool = False
    goal: str = ""
    modes: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = "."
    definition: tuple[str, ...] = ()
    success: str = "exitCode:0"
    links: tuple[str, ...] = ()


def view(files: Files, links: tuple[str, ...] = ()) -> TreeView:
    plain = {path: text for path, text in files.items() if path not in links}
    return TreeView(frozenset(files), plain.get, dict.fromkeys(links, "120000 1"))


def a_change(path: str, before: str | None, after: str | None, modes: tuple[str, str]) -> Change:
    old = set((before or "").splitlines())
    lines = enumerate((after or "").splitlines(), start=1)
    added = tuple((number, line) for number, line in lines if line not in old)
    return Change(path, before, after, added, mode_before=modes[0], mode_after=modes[1])


def review_case(case: Case) -> DefinitionReview:
    after = {**case.base, **case.changed}
    candidate = {path: text for path, text in after.items() if text is not None}
    paths = dict.fromkeys((*case.changed, *case.modes))
    changes = [
        a_change(path, case.base.get(path), candidate.get(path), case.modes.get(path, ("", "")))
        for path in paths
    ]
    check = CheckSpec(
        "c",
        shell=case.shell,
        env=case.env,
        definition=case.definition,
        success=case.success,
        cwd=case.cwd,
    )
    return review_definition(
        [check],
        changes,
        view(case.base),
        view(candidate, case.links),
        scope=case.scope,
        allow_weaker_tests=case.allow,
        goal=case.goal,
    )
