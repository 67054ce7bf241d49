"""Readers: what a test runner, type checker, linter or formatter wrote, as items and params.

One door, `read`.  It never says that a failed command had no failure: what no reader understands
is told as not understood, with both ends of the raw output.
"""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.checks.readers.choice import READERS, chosen
from yaoki.checks.readers.entries import Parsed
from yaoki.checks.readers.extractors import extract, extractor_defect, extractor_names
from yaoki.checks.readers.reading import Reading, finished, raw_params
from yaoki.checks.readers.report import read_report
from yaoki.checks.readers.seen import Seen, opened

__all__ = [
    "READERS",
    "Reading",
    "Seen",
    "extract",
    "extractor_defect",
    "extractor_names",
    "raw_params",
    "read",
    "read_file",
    "reader_defect",
]


def read(seen: Seen, argv: Sequence[str] = (), *, reader: str = "", pattern: str = "") -> Reading:
    """The report file first, then the readers the name or the command asks for.

    `pattern` is what the plan calls this failure: its params are there even when empty.
    """
    report = read_report(seen)
    if report is not None and report.entries:
        return finished(report, seen, pattern)
    output = opened(seen)
    tries = (_usable(look(output), seen) for look in chosen(argv, reader))
    return finished(next((found for found in tries if found), report), seen, pattern)


def _usable(found: Parsed | None, seen: Seen) -> Parsed | None:
    """A failed command whose output holds no fault was written by somebody else."""
    return found if found is not None and (found.entries or seen.exit_code == 0) else None


def read_file(seen: Seen, pattern: str = "") -> Reading | None:
    """The report file alone; None when there is none that can be read."""
    report = read_report(seen)
    return None if report is None else finished(report, seen, pattern)


def reader_defect(name: str) -> str:
    """Why a check may not ask for this reader, or nothing."""
    return "" if not name or name in READERS else f"there is no reader {name!r}"
