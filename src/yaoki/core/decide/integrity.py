"""Fewer tests than before: a green check that looks at less than it did proves less."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from yaoki.core.counting import count
from yaoki.core.decide.baseline import KNOWN
from yaoki.core.model import Finding, Item, Outcome
from yaoki.core.model.check_definition import NOT_FOLDED, Folding

NAME, PATTERN = "test-integrity", "test-weakened"
ITEMS_MAX = 50
COUNT, SKIPPED, PASSED = "testCount", "skippedCount", "passedCount"
_WORDS = re.compile(r"\w+")
LOST = "passed at the base, and does not pass now"


def counted(finding: Finding) -> bool:
    """Does the finding say how many tests there were?"""
    return type(finding.params.get(COUNT)) is int


def ran(finding: Finding) -> int:
    """How many tests were really run."""
    return int(finding.params[COUNT]) - int(finding.params.get(SKIPPED, 0))


def good(finding: Finding) -> int:
    """How many tests passed; all that ran where nobody says."""
    return int(finding.params.get(PASSED, ran(finding)))


def tests_told(finding: Finding) -> str:
    """`784 tests`, of those that passed; nothing where the check counts none."""
    passed = finding.params.get(PASSED)
    return count(passed, "test") if type(passed) is int else ""


def fewer(now: Finding, base: Finding, folding: Folding = NOT_FOLDED) -> Finding | None:
    """What is missing since the base; None when the same tests run, or nobody can say.

    Tests that became cases of a loop are not missing, and neither are their numbers.

    By name where both sides have names: a test that passed at the base passes again.  Under a
    guard that lets old failures pass, nothing but a moved test takes the place of one that passed;
    elsewhere other tests of the same file may, for a table of cases replaces single ones.
    """
    if not counted(now) or not counted(base):
        return None
    items: list[Item] = []
    named = bool(now.passing and base.passing)
    if named:
        lost = vanished(now.passing, base.passing, strict=KNOWN in now.params)
        lost = tuple(name for name in lost if not folding.names & set(_WORDS.findall(name)))
        items = [Item(name, LOST, _file(name)) for name in lost]
    less = folding.fewer
    if ran(now) + less >= ran(base) and (named or good(now) + less >= good(base)):
        return finding(items) if items else None
    more = int(now.params.get(SKIPPED, 0)) - int(base.params.get(SKIPPED, 0))
    skipped = f", and {count(more, 'more is', 'more are')} skipped" if more > 0 else ""
    words = f"{count(ran(base), 'test')} ran before the change, {ran(now)} with it{skipped}"
    return finding([Item(f"check {now.check}", words), *items])


def vanished(now: Sequence[str], base: Sequence[str], *, strict: bool) -> tuple[str, ...]:
    """The tests that passed at the base and have neither passed again nor been replaced."""
    fresh = Counter(now)
    fresh.subtract(base)
    lost = [name for name, times in fresh.items() for _ in range(-times)]
    new = [name for name, times in fresh.items() for _ in range(times)]
    lost = _unmatched(lost, Counter(_function(name) for name in new), _function)
    if not strict:
        kept = Counter(_file(name) for name in new)
        lost = _unmatched(lost, kept, _file)
    return tuple(lost)


def _unmatched(lost: Sequence[str], new: Counter[str], key: Callable[[str], str]) -> list[str]:
    """Those for which no new test of the same key is left; each new one serves once."""
    rest: list[str] = []
    for name in lost:
        if key(name) and new[key(name)] > 0:
            new[key(name)] -= 1
        else:
            rest.append(name)
    return rest


def _function(name: str) -> str:
    """`tests/test_a.py::C::test_x[1]` is test_x, wherever it stands and whatever it is given."""
    return name.rpartition("::")[2].partition("[")[0]


def _file(name: str) -> str:
    return name.partition("::")[0] if "::" in name else ""


def finding(items: Sequence[Item]) -> Finding:
    """The one finding about weaker tests, whatever was seen."""
    kept = tuple(items[:ITEMS_MAX])
    named = ", ".join(_named(item) for item in kept[:3])
    many = "1 change weakens" if len(items) == 1 else f"{len(items)} changes weaken"
    return Finding(
        NAME,
        Outcome.FAILED,
        pattern=PATTERN,
        message=f"{many} the tests: {named}",
        items=kept,
        params={"weakenedTests": [_record(item) for item in kept]},
    )


def _named(item: Item) -> str:
    """A test is named with its file, for several files may hold a test of that name."""
    place = f" in {item.where}" if item.where and item.where not in item.name else ""
    return f"{item.name}{place} ({item.message})"


def _record(item: Item) -> dict[str, str]:
    return {"name": item.name, "message": item.message, "file": item.where}
