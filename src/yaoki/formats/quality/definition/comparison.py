"""Compares two versions of a Python test or helper: is everything still asserted?"""

from __future__ import annotations

import ast
import copy
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum, auto
from types import MappingProxyType
from typing import Protocol, TypeVar

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import FindingItem
from yaoki.formats.quality.definition.asked_errors import find_asked_errors
from yaoki.formats.quality.definition.asked_values import find_asked_value, has_other_value
from yaoki.formats.quality.definition.assertions import (
    ANY_ERROR,
    TEXT_CHARS_MAX,
    Assertion,
    AssertionKind,
)
from yaoki.formats.quality.definition.equivalence import form_of_text, table_forms
from yaoki.formats.quality.definition.new_helpers import has_moved
from yaoki.formats.quality.definition.skip_marks import has_lost_marks, is_skip_mark
from yaoki.formats.quality.definition.units import MODULE, CodeUnit, PythonSource
from yaoki.formats.quality.python import parse_python

LOOSENED = "an assertion was removed or loosened"
CHANGED = "an expected value was changed"
CASE = "a case or an expected value was removed or changed"
_HARMLESS_DECORATORS = lazy_compile(
    r"(?:pytest\.)?(?:mark\.(?!skip|xfail)\w+|fixture)|(?:pytest\.mark\.)?(?:parametrize|usefixtures)"
    r"|given|settings|example|override|staticmethod|classmethod|property|asyncio|anyio"
)
_SKIPS = lazy_compile(r"\bskip|xfail|expectedFailure", re.IGNORECASE)


NO_HELPERS: Mapping[str, CodeUnit] = MappingProxyType({})


class Coverage(Enum):
    """Is an assertion of the old version still made?"""

    KEPT = auto()
    UNSURE = auto()
    LOST = auto()


_WEAKER = frozenset({AssertionKind.TRUTH, AssertionKind.OTHER, AssertionKind.SAME})
_MAY_ASSERT = frozenset({AssertionKind.CALL, AssertionKind.TRUTH})


class AssertionText(Protocol):
    """An assertion in any language, compared by its text."""

    @property
    def text(self) -> str: ...


AssertionT = TypeVar("AssertionT", bound=AssertionText)


@dataclass(slots=True)
class Judgement:
    """`items`: certainly weaker.  `is_unsure`: changed in a way whose effect is unclear."""

    items: list[FindingItem] = field(default_factory=list)
    is_unsure: bool = False


def compare_units(
    old: CodeUnit,
    new: CodeUnit,
    path: str,
    judgement: Judgement,
    goal: str = "",
    helpers: Mapping[str, CodeUnit] = NO_HELPERS,
) -> None:
    """`goal` may ask for other expected values.  `helpers`: new functions, by their last name."""
    if old.text == new.text or old.shape == new.shape:
        return
    name = path if old.name == MODULE else old.name.rpartition(".")[2]
    if new.never_runs_because and not old.never_runs_because:
        judgement.items.append(FindingItem(name, new.never_runs_because, path))
        return
    lost, gained = differences(old.assertions, new.assertions)
    asked = list(_find_asked(old, new, goal, lost, gained))
    judged = list(lost)
    for one, _ in asked:
        judged.remove(one)
    for one in judged:
        verdict = _match_state(one, lost, gained, new)
        if verdict is Coverage.LOST and has_moved(one, old, gained, helpers):
            verdict = Coverage.UNSURE
        if verdict is Coverage.LOST:
            words = f"{_describe_loss(one, gained)}: {one.text[:TEXT_CHARS_MAX]}"
            judgement.items.append(FindingItem(name, words, path))
        judgement.is_unsure |= verdict is Coverage.UNSURE
    if not judged and old.name != MODULE:
        judgement.is_unsure |= not _only_adds(old, new, asked)
    judgement.is_unsure |= _has_new_decorator(old, new)


def _find_asked(
    old: CodeUnit,
    new: CodeUnit,
    goal: str,
    lost: Sequence[Assertion],
    gained: Sequence[Assertion],
) -> Iterator[tuple[Assertion, str]]:
    """The lost assertions that the goal asks to change, with their new text."""
    errors = find_asked_errors(old, new, goal) if goal and lost else Counter()
    for one in lost:
        pair = next((p for p, many in errors.items() if many and p[0] == one.text), None)
        if pair is not None:
            errors[pair] -= 1
            yield one, pair[1]
        elif (now := find_asked_value(one, gained, goal, old.node)) is not None:
            yield one, now.text


def _describe_loss(one: Assertion, gained: Sequence[Assertion]) -> str:
    if one.kind is AssertionKind.ROW:
        return CASE
    return CHANGED if has_other_value(one, gained) else LOOSENED


def differences(
    old: Sequence[AssertionT], new: Sequence[AssertionT]
) -> tuple[list[AssertionT], list[AssertionT]]:
    """The assertions that only the old or only the new code has, compared by their text."""
    before, after = Counter(a.text for a in old), Counter(a.text for a in new)
    return _unmatched(old, before - after), _unmatched(new, after - before)


def _unmatched(assertions: Sequence[AssertionT], many: Counter[str]) -> list[AssertionT]:
    unmatched = []
    for one in assertions:
        if many[one.text] > 0:
            many[one.text] -= 1
            unmatched.append(one)
    return unmatched


def _match_state(
    one: Assertion, lost: Sequence[Assertion], gained: Sequence[Assertion], new: CodeUnit
) -> Coverage:
    if one.kind is AssertionKind.CALL:
        return Coverage.UNSURE
    if one.kind is not AssertionKind.ROW and form_of_text(one.text) in table_forms(new):
        return Coverage.KEPT
    if one.kind is AssertionKind.ROW and has_lost_marks(one.text, (g.text for g in gained)):
        return Coverage.KEPT
    alike = [g for g in gained if _as_strong(g, one) and one.constants <= g.constants]
    if any(form_of_text(g.text) == form_of_text(one.text) for g in alike):
        return Coverage.KEPT
    # The same values may be in other places, or with another sign.
    if alike or (one.kind is not AssertionKind.ROW and is_table_case(one, new)):
        return Coverage.UNSURE
    if any(g.kind in _MAY_ASSERT and one.constants <= g.constants for g in gained):
        shared = any(one.names & g.names for g in gained if g.kind in _MAY_ASSERT)
        if shared and any(g.kind is AssertionKind.CALL for g in gained):
            return Coverage.UNSURE
    lost_count = sum(1 for a in lost if a.kind is one.kind)
    gained_count = sum(1 for a in gained if _as_strong(a, one))
    return (
        Coverage.UNSURE
        if gained_count >= lost_count and one.constants <= new.constants
        else Coverage.LOST
    )


def _as_strong(new: Assertion, old: Assertion) -> bool:
    if new.kind is old.kind is AssertionKind.RAISES:
        return not (new.names & ANY_ERROR) - old.names
    return new.kind is old.kind or (new.kind is AssertionKind.EQUAL and old.kind in _WEAKER)


def is_table_case(one: Assertion, unit: CodeUnit) -> bool:
    """Is it one case of a test that takes its values from a table?"""
    cases = [a for a in unit.assertions if a.kind is AssertionKind.ROW]
    bodies = [a for a in unit.assertions if a.kind is not AssertionKind.ROW and _as_strong(a, one)]
    return any(
        one.constants <= case.constants | body.constants and one.names & body.names
        for case in cases
        for body in bodies
    )


def coverage_of(old: CodeUnit, new: CodeUnit) -> Coverage:
    """Does this other test assert everything that one did?"""
    asserted = [a for a in old.assertions if a.kind is not AssertionKind.CALL]
    if not asserted:
        calls = {a.text for a in old.assertions}
        return (
            Coverage.KEPT if calls and calls <= {a.text for a in new.assertions} else Coverage.LOST
        )
    known = table_forms(new) | {
        form_of_text(a.text) for a in new.assertions if a.kind is not AssertionKind.ROW
    }
    if all(form_of_text(one.text) in known for one in asserted):
        return Coverage.KEPT
    return Coverage.UNSURE if all(_has_same_values(one, new) for one in asserted) else Coverage.LOST


def _has_same_values(one: Assertion, new: CodeUnit) -> bool:
    """Does an assertion of the new unit have the same values, possibly in other places?"""
    return is_table_case(one, new) or any(
        _as_strong(other, one)
        and one.constants <= other.constants
        and (one.names <= other.names or one.text == other.text)
        for other in new.assertions
    )


# ------------------------------------------------------------------ other statements


def _only_adds(old: CodeUnit, new: CodeUnit, asked: Sequence[tuple[Assertion, str]] = ()) -> bool:
    """Are all statements still there, in order, with only unrelated ones between them?

    `asked`: assertions that the goal asks to change, with their new text.
    """
    before, after = old.statements, new.statements
    if asked:
        # Their messages change with them.
        texts = {one.text: now for one, now in asked}
        before = tuple(_with_texts(one, texts) for one in _without_messages(old))
        after = tuple(_without_messages(new))
    rest = iter(after)
    if not all(any(one == other for other in rest) for one in before):
        return False
    many = Counter(after) - Counter(before)
    used = frozenset(re.findall(r"\w+", old.shape))
    return all(_harmless(text, used) for text in many)


def _with_texts(statement: str, texts: Mapping[str, str]) -> str:
    for old, new in texts.items():
        statement = statement.replace(old, new)
    return statement


def _without_messages(unit: CodeUnit) -> Iterator[str]:
    for statement in unit.statements:
        tree = copy.deepcopy(parse_python(statement))
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.Assert):
                node.msg = None
        yield ast.unparse(tree) if tree is not None else statement


def _harmless(text: str, used: frozenset[str]) -> bool:
    tree = parse_python(text)
    if tree is None:
        return False
    for node in ast.walk(tree):
        if isinstance(
            node, (ast.Return, ast.Raise, ast.Global, ast.Nonlocal, ast.Delete, ast.Import)
        ):
            return False
        if isinstance(node, (ast.ImportFrom, ast.Yield, ast.YieldFrom)):
            return False
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in used:
            return False
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            return False
        if isinstance(node, ast.Call) and _replaces(ast.unparse(node.func)):
            return False
    return True


def _replaces(name: str) -> bool:
    last = name.rpartition(".")[2]
    return last in (
        "setattr",
        "delattr",
        "setitem",
        "patch",
        "exit",
        "_exit",
        "object",
        "exec",
        "eval",
    )


def _has_new_decorator(old: CodeUnit, new: CodeUnit) -> bool:
    """A new decorator may do anything to its test; marks and tables do not.

    Without a mark that skips it, or that expects it to fail, a test asks for more.
    """
    added = set(new.decorators) - set(old.decorators)
    known = (_HARMLESS_DECORATORS.match(one) or _SKIPS.search(one) for one in added)
    removed = set(old.decorators) - set(new.decorators)
    return not all(known) or not all("parametrize" in one or is_skip_mark(one) for one in removed)


# ------------------------------------------------------------------ the module


def compare_values(old: PythonSource, new: PythonSource, path: str, judgement: Judgement) -> None:
    """Named tables and expected values beside the tests."""
    changed = [name for name, value in old.values.items() if new.values.get(name) != value]
    if not changed:
        return
    asserted = {name for unit in old.units.values() for a in unit.assertions for name in a.names}
    texts = "\n".join(unit.text for unit in old.units.values() if unit.name != MODULE)
    for name in changed:
        value, bare = old.values[name], name.rpartition(".")[2]
        if not re.search(rf"\b{re.escape(bare)}\b", texts):
            continue
        if name not in new.values:
            judgement.is_unsure = True
            continue
        lost, gained = differences(value, new.values[name])
        unmatched = [one for one in lost if not any(one.constants <= g.constants for g in gained)]
        unmatched = [one for one in unmatched if one.constants or one not in gained]
        table = len(value) != 1 or value[0].text not in value[0].constants
        if unmatched and (table or bare in asserted):
            judgement.items.append(
                FindingItem(bare, f"{CASE}: {unmatched[0].text[:TEXT_CHARS_MAX]}", path)
            )
        elif lost:
            judgement.is_unsure = True


def compare_modules(old: PythonSource, new: PythonSource, judgement: Judgement) -> None:
    """Compare the statements that run when the file is loaded, without values and assertions."""
    before, after = (tuple(_load_statements(source, old)) for source in (old, new))
    if before == after:
        return
    used = frozenset(re.findall(r"\w+", "\n".join(u.text for u in old.units.values())))
    removed = Counter(before) - Counter(after)
    added = Counter(after) - Counter(before)
    judgement.is_unsure |= any(not is_skip_mark(text) for text in removed) or not all(
        _harmless(text, used) for text in added
    )


def _load_statements(source: PythonSource, old: PythonSource) -> Iterator[str]:
    """Existing values are compared case by case."""
    for text in source.module_statements:
        name = re.match(r"(\w+)(?::[^=]+)? = ", text)
        if not (name and name[1] in old.values) and not text.startswith("assert "):
            yield text


def find_swapped_imports(old: PythonSource, new: PythonSource) -> Iterable[tuple[str, str, str]]:
    """Names that the tests use and that now come from another module: name, before, after."""
    used = frozenset(re.findall(r"\w+", "\n".join(u.text for u in old.units.values())))
    for name, module in old.imported_names.items():
        now = new.imported_names.get(name)
        if now is not None and now != module and name in used:
            yield name, module, now
