"""Readers: turn the output of test runners, type checkers, linters and formatters into items.

`interpret_output` is the entry point.  It never reports a failed command as a success: output that
no reader understands is reported as not understood, with both ends of the raw output.
"""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.adapters.checks.readers.choice import READERS, choose_readers
from yaoki.adapters.checks.readers.command_output import CommandOutput, split_output
from yaoki.adapters.checks.readers.counts import count_tests
from yaoki.adapters.checks.readers.entries import (
    ParsedOutput,
    ReportUnreadable,
    describe_error,
    try_reader,
)
from yaoki.adapters.checks.readers.extractors import extract, extractor_names
from yaoki.adapters.checks.readers.interpretation import (
    Interpretation,
    describe_unread_output,
    interpret_entries,
    raw_params,
)
from yaoki.adapters.checks.readers.report import read_report
from yaoki.core.lazy_dataclass import replace

__all__ = [
    "READERS",
    "CommandOutput",
    "Interpretation",
    "count_tests",
    "describe_unread_output",
    "extract",
    "extractor_names",
    "interpret_output",
    "interpret_report",
    "raw_params",
    "reader_defect",
    "split_output",
]


def interpret_output(
    command: CommandOutput, argv: Sequence[str] = (), *, reader: str = "", pattern: str = ""
) -> Interpretation:
    """Tries the report file first, then the readers chosen by name or command.

    `pattern` is the failure pattern of the plan: its params are present even if empty.
    """
    report, defect, fault = _read_report(command)
    if report is not None and report.entries:
        return interpret_entries(report, command, pattern)
    faults = [fault] if fault else []
    output = split_output(command)
    tries = (
        _accept(try_reader(candidate, output, faults), command)
        for candidate in choose_readers(argv, reader)
    )
    reading = interpret_entries(
        next((parsed for parsed in tries if parsed), report), command, pattern
    )
    return replace(reading, reader_fault="; ".join(faults), report_defect=defect)


def _read_report(command: CommandOutput) -> tuple[ParsedOutput | None, str, str]:
    """The report, why it is unreadable, and the error of a reader of ours."""
    try:
        return read_report(command), "", ""
    except ReportUnreadable as error:
        return None, str(error), ""
    except Exception as error:  # noqa: BLE001 - foreign text may break a reader in any way
        return None, "was not understood", f"the reader of reports failed: {describe_error(error)}"


def _accept(parsed: ParsedOutput | None, command: CommandOutput) -> ParsedOutput | None:
    """The parsed output, unless it has no entries although the command failed: then the output is
    in another format.
    """
    return parsed if parsed is not None and (parsed.entries or command.exit_code == 0) else None


def interpret_report(command: CommandOutput, pattern: str = "") -> Interpretation | None:
    """The report file alone; None if there is none.  `report_defect` for an unreadable one."""
    report, defect, fault = _read_report(command)
    if report is None and not defect:
        return None
    reading = interpret_entries(report, command, pattern)
    return (
        replace(reading, understood=False, report_defect=defect, reader_fault=fault)
        if defect
        else reading
    )


def reader_defect(name: str) -> str:
    """The reason why a check cannot use this reader; empty if it can."""
    return "" if not name or name in READERS else f"there is no reader {name!r}"
