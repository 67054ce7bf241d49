"""Report files: JUnit XML, SARIF or JSON of known tools, distinguished by the first character."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from yaoki.adapters.checks.readers.command_output import (
    CommandOutput,
    parse_json_value,
    wrap_json_document,
)
from yaoki.adapters.checks.readers.entries import ParsedOutput, ReportUnreadable
from yaoki.adapters.checks.readers.json_tools import DOCUMENTS
from yaoki.adapters.checks.readers.junit import REPORT_BYTES_MAX, read_junit

JSON_BYTES_MAX = 16 << 20
_SUPPORTED = "supported are JUnit XML, SARIF and the JSON of known linters and type checkers"


def read_report(command: CommandOutput) -> ParsedOutput | None:
    """Read the report; None if none was requested or written.  Raises `ReportUnreadable` for an
    unusable one.

    In both cases it proves nothing.
    """
    file = command.report
    if file is None or _is_absent(file):
        return None
    with file.open("rb") as stream:
        start = stream.read(512).lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start:
        return None
    if start[:1] in (b"{", b"["):
        return _read_json(file, command)
    if start[:1] != b"<" and not start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ReportUnreadable(f"is neither XML nor JSON; {_SUPPORTED}")
    return read_junit(file, command)


def read_report_or_none(command: CommandOutput) -> ParsedOutput | None:
    """The report; None if there is none or it is unreadable."""
    try:
        return read_report(command)
    except ReportUnreadable:
        return None


def _is_absent(file: Path) -> bool:
    """Accepts only a plain file of limited size: an agent could put a link or a pipe there."""
    try:
        facts = file.lstat()
    except FileNotFoundError:
        return True
    if not stat.S_ISREG(facts.st_mode):
        raise ReportUnreadable("is not a regular file")
    if facts.st_size > REPORT_BYTES_MAX:
        raise ReportUnreadable(f"has {facts.st_size} bytes; at most {REPORT_BYTES_MAX} are read")
    if not os.access(file, os.R_OK):
        raise ReportUnreadable("may not be read")
    return facts.st_size == 0


def _read_json(file: Path, command: CommandOutput) -> ParsedOutput:
    if file.stat().st_size > JSON_BYTES_MAX:
        raise ReportUnreadable(
            f"is JSON of {file.stat().st_size} bytes; at most {JSON_BYTES_MAX} are read"
        )
    text = file.read_text(encoding="utf-8-sig", errors="replace").strip()
    document = parse_json_value(text)
    if document is None:
        raise ReportUnreadable("is JSON that is broken, nested too deep, or has too many values")
    output = wrap_json_document(command, document)
    parsed = next((parsed for read in DOCUMENTS if (parsed := read(output)) is not None), None)
    if parsed is None:
        raise ReportUnreadable(f"is JSON of an unknown tool; {_SUPPORTED}")
    return parsed
