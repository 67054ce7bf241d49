"""Readers: what a test runner, type checker, linter or formatter wrote, as items and params.

One door, `interpret_output`.  It never says that a failed command had no failure: what no reader
understands is told as not understood, with both ends of the raw output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from yaoki.adapters.checks.readers.choice import READERS, choose_readers
from yaoki.adapters.checks.readers.command_output import CommandOutput, split_output
from yaoki.adapters.checks.readers.counts import count_tests
from yaoki.adapters.checks.readers.entries import (
    ParsedOutput,
    ReportUnreadable,
    describe_error,
    try_reader,
)
from yaoki.adapters.checks.readers.extractors import extract, extractor_defect, extractor_names
from yaoki.adapters.checks.readers.interpretation import (
    Interpretation,
    describe_unread_output,
    interpret_entries,
    raw_params,
)
from yaoki.adapters.checks.readers.report import read_report

__all__ = [
    "READERS",
    "CommandOutput",
    "Interpretation",
    "count_tests",
    "describe_unread_output",
    "extract",
    "extractor_defect",
    "extractor_names",
    "interpret_output",
    "interpret_report",
    "raw_params",
    "reader_defect",
    "split_output",
]


def interpret_output(
    seen: CommandOutput, argv: Sequence[str] = (), *, reader: str = "", pattern: str = ""
) -> Interpretation:
    """The report file first, then the readers the name or the command asks for.

    `pattern` is what the plan calls this failure: its params are there even when empty.
    """
    report, defect, fault = _reported(seen)
    if report is not None and report.entries:
        return interpret_entries(report, seen, pattern)
    faults = [fault] if fault else []
    output = split_output(seen)
    tries = (
        _usable(try_reader(look, output, faults), seen) for look in choose_readers(argv, reader)
    )
    reading = interpret_entries(next((found for found in tries if found), report), seen, pattern)
    return replace(reading, reader_fault="; ".join(faults), report_defect=defect)


def _reported(seen: CommandOutput) -> tuple[ParsedOutput | None, str, str]:
    """The report, why it cannot be read, and what of ours failed over it."""
    try:
        return read_report(seen), "", ""
    except ReportUnreadable as why:
        return None, str(why), ""
    except Exception as error:  # noqa: BLE001 - foreign text, whatever it does to a reader
        return None, "was not understood", f"the reader of reports failed: {describe_error(error)}"


def _usable(found: ParsedOutput | None, seen: CommandOutput) -> ParsedOutput | None:
    """A failed command whose output holds no fault was written by somebody else."""
    return found if found is not None and (found.entries or seen.exit_code == 0) else None


def interpret_report(seen: CommandOutput, pattern: str = "") -> Interpretation | None:
    """The report file alone; None when there is none.  One that cannot be read has a `defect`."""
    report, defect, fault = _reported(seen)
    if report is None and not defect:
        return None
    found = interpret_entries(report, seen, pattern)
    return (
        replace(found, understood=False, report_defect=defect, reader_fault=fault)
        if defect
        else found
    )


def reader_defect(name: str) -> str:
    """Why a check may not ask for this reader, or nothing."""
    return "" if not name or name in READERS else f"there is no reader {name!r}"
