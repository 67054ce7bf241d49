"""Readers: what a test runner, type checker, linter or formatter wrote, as items and params.

One door, `read`.  It never says that a failed command had no failure: what no reader understands
is told as not understood, with both ends of the raw output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from yaoki.adapters.checks.readers.choice import READERS, chosen
from yaoki.adapters.checks.readers.command_output import Seen, opened
from yaoki.adapters.checks.readers.counts import count
from yaoki.adapters.checks.readers.entries import Parsed, Unreadable, looked, named
from yaoki.adapters.checks.readers.extractors import extract, extractor_defect, extractor_names
from yaoki.adapters.checks.readers.interpretation import Reading, finished, raw_params, unread
from yaoki.adapters.checks.readers.report import read_report

__all__ = [
    "READERS",
    "Reading",
    "Seen",
    "count",
    "extract",
    "extractor_defect",
    "extractor_names",
    "opened",
    "raw_params",
    "read",
    "read_file",
    "reader_defect",
    "unread",
]


def read(seen: Seen, argv: Sequence[str] = (), *, reader: str = "", pattern: str = "") -> Reading:
    """The report file first, then the readers the name or the command asks for.

    `pattern` is what the plan calls this failure: its params are there even when empty.
    """
    report, defect, fault = _reported(seen)
    if report is not None and report.entries:
        return finished(report, seen, pattern)
    faults = [fault] if fault else []
    output = opened(seen)
    tries = (_usable(looked(look, output, faults), seen) for look in chosen(argv, reader))
    reading = finished(next((found for found in tries if found), report), seen, pattern)
    return replace(reading, fault="; ".join(faults), defect=defect)


def _reported(seen: Seen) -> tuple[Parsed | None, str, str]:
    """The report, why it cannot be read, and what of ours failed over it."""
    try:
        return read_report(seen), "", ""
    except Unreadable as why:
        return None, str(why), ""
    except Exception as error:  # noqa: BLE001 - foreign text, whatever it does to a reader
        return None, "was not understood", f"the reader of reports failed: {named(error)}"


def _usable(found: Parsed | None, seen: Seen) -> Parsed | None:
    """A failed command whose output holds no fault was written by somebody else."""
    return found if found is not None and (found.entries or seen.exit_code == 0) else None


def read_file(seen: Seen, pattern: str = "") -> Reading | None:
    """The report file alone; None when there is none.  One that cannot be read has a `defect`."""
    report, defect, fault = _reported(seen)
    if report is None and not defect:
        return None
    found = finished(report, seen, pattern)
    return replace(found, understood=False, defect=defect, fault=fault) if defect else found


def reader_defect(name: str) -> str:
    """Why a check may not ask for this reader, or nothing."""
    return "" if not name or name in READERS else f"there is no reader {name!r}"
