"""Fewer tests than before: a green check that looks at less than it did proves less."""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.core.counting import count
from yaoki.core.model import Finding, Item, Outcome

NAME, PATTERN = "test-integrity", "test-weakened"
ITEMS_MAX = 50
COUNT, SKIPPED = "testCount", "skippedCount"


def counted(finding: Finding) -> bool:
    """Does the finding say how many tests there were?"""
    return type(finding.params.get(COUNT)) is int


def ran(finding: Finding) -> int:
    """How many tests were really run."""
    return int(finding.params[COUNT]) - int(finding.params.get(SKIPPED, 0))


def fewer(now: Finding, base: Finding) -> Finding | None:
    """What is missing since the base; None when as many tests run, or nobody can say."""
    if not counted(now) or not counted(base) or ran(now) >= ran(base):
        return None
    more = int(now.params.get(SKIPPED, 0)) - int(base.params.get(SKIPPED, 0))
    skipped = f", and {count(more, 'more is', 'more are')} skipped" if more > 0 else ""
    words = f"{count(ran(base), 'test')} ran before the change, {ran(now)} with it{skipped}"
    return finding([Item(f"check {now.check}", words)])


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
