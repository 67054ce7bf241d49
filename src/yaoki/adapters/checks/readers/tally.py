"""Counts of tests, and how summaries are added up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from yaoki.adapters.checks.readers.command_output import OutputLines
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile

NAMES_MAX = 20_000
NAMES_CHARS_MAX = 1 << 20
_AMOUNT = lazy_compile(r"(\d{1,9}) ([a-z]{1,20})")


@dataclass(frozen=True, slots=True)
class SuiteTally:
    """`passed_names` holds all passed tests or none, and `failed_names` all failed ones or none.

    `skipped` tests prove nothing; `xfailed` of them ran and failed as their marker expects.
    """

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    passed_names: tuple[str, ...] = ()
    xfailed: int = 0
    failed_names: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.skipped


# None: the output has no summary of this runner.
TallyReader = Callable[[OutputLines], SuiteTally | None]


def add_tallies(
    parts: Sequence[SuiteTally], names: Iterable[str] = (), failed_names: Iterable[str] = ()
) -> SuiteTally | None:
    """Adds up several summaries in one output, as of a workspace or a makefile."""
    if not parts:
        return None
    passed = sum(part.passed for part in parts)
    all_names = [*names] or [name for part in parts for name in part.passed_names]
    failed, skipped, xfailed = (
        sum(getattr(part, end) for part in parts) for end in ("failed", "skipped", "xfailed")
    )
    all_failed = [*failed_names] or [name for part in parts for name in part.failed_names]
    return SuiteTally(
        passed,
        failed,
        skipped,
        names_if_complete(all_names, passed),
        xfailed,
        names_if_complete(all_failed, failed),
    )


def names_if_complete(names: Sequence[str], count: int) -> tuple[str, ...]:
    """All names; empty if some are missing or there are too many."""
    is_complete = len(names) == count <= NAMES_MAX
    return tuple(names) if is_complete and sum(map(len, names)) <= NAMES_CHARS_MAX else ()


def match_lines(output: OutputLines, shape: re.Pattern[str]) -> Iterator[re.Match[str]]:
    return (hit for line in output.lines if (hit := shape.match(line)))


def parse_worded_summary(text: str, names: Mapping[str, str]) -> SuiteTally:
    """Parses `3 passed, 1 failed`; `names` maps the words of the runner."""
    sums = {"passed": 0, "failed": 0, "skipped": 0, "xfailed": 0}
    for number, word in _AMOUNT.findall(text):
        if word in names:
            sums[names[word]] += int(number)
    not_proven = sums["skipped"] + sums["xfailed"]
    return SuiteTally(sums["passed"], sums["failed"], not_proven, xfailed=sums["xfailed"])
