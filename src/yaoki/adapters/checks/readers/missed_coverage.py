"""A suite that fails for its coverage: a failure of its own beside those of tests.

Without it a failing test that the base has as well would explain the exit code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from yaoki.adapters.checks.readers.entries import OutputEntry
from yaoki.core.lazy_pattern import lazy_compile

NAME = "coverage"
LINES_MAX = 5
# pytest-cov, coverage.py, nyc with c8 and vitest, Node's own runner, SimpleCov; the reader of Jest
# has its own.
_MISSED = lazy_compile(
    r"Required test coverage of \S{1,20} not reached"
    r"|Coverage failure: total of \S{1,20} is less than fail-under"
    r"|Coverage for \w{1,40} \(\S{1,20}\) does not meet .{0,80}threshold"
    r"|\S{1,20} \w{1,40} coverage does not meet threshold"
    r"|[Cc]overage \(\S{1,20}\) is below the expected minimum"
)


def find_missed_coverage(lines: Sequence[str]) -> Iterator[OutputEntry]:
    """One entry for each threshold that the suite says is not reached."""
    missed = dict.fromkeys(line.strip() for line in lines if _MISSED.search(line))
    for line, _ in zip(missed, range(LINES_MAX), strict=False):
        yield OutputEntry(NAME, line)
