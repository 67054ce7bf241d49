"""A report file: JUnit XML, SARIF or a known tool's JSON, told apart by the first character."""

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
from yaoki.adapters.checks.readers.junit import REPORT_BYTES_MAX, read_junit
from yaoki.adapters.checks.readers.structured import DOCUMENTS

JSON_BYTES_MAX = 16 << 20
_KNOWN = "JUnit XML, SARIF and the JSON of known linters and type checkers are read"


def read_report(seen: CommandOutput) -> ParsedOutput | None:
    """None: nobody asked for a report, or none was written.  `ReportUnreadable`: one that says
    nothing.

    In both cases nothing is proven by it.
    """
    file = seen.report
    if file is None or _absent(file):
        return None
    with file.open("rb") as stream:
        start = stream.read(512).lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start:
        return None
    if start[:1] in (b"{", b"["):
        return _read_json(file, seen)
    if start[:1] != b"<" and not start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ReportUnreadable(f"is neither XML nor JSON; {_KNOWN}")
    return read_junit(file, seen)


def read_report_or_none(seen: CommandOutput) -> ParsedOutput | None:
    """The report, or nothing where there is none that can be read."""
    try:
        return read_report(seen)
    except ReportUnreadable:
        return None


def _absent(file: Path) -> bool:
    """Only a plain file of bearable size is read: a link or a pipe could be put there."""
    try:
        facts = file.lstat()
    except FileNotFoundError:
        return True
    if not stat.S_ISREG(facts.st_mode):
        raise ReportUnreadable("is no plain file")
    if facts.st_size > REPORT_BYTES_MAX:
        raise ReportUnreadable(f"has {facts.st_size} bytes; at most {REPORT_BYTES_MAX} are read")
    if not os.access(file, os.R_OK):
        raise ReportUnreadable("may not be read")
    return facts.st_size == 0


def _read_json(file: Path, seen: CommandOutput) -> ParsedOutput:
    if file.stat().st_size > JSON_BYTES_MAX:
        raise ReportUnreadable(
            f"is JSON of {file.stat().st_size} bytes; at most {JSON_BYTES_MAX} are read"
        )
    text = file.read_text(encoding="utf-8-sig", errors="replace").strip()
    document = parse_json_value(text)
    if document is None:
        raise ReportUnreadable("is JSON that is broken, nested too deep, or of too many values")
    output = wrap_json_document(seen, document)
    found = next((found for read in DOCUMENTS if (found := read(output)) is not None), None)
    if found is None:
        raise ReportUnreadable(f"is JSON of a tool nobody knows; {_KNOWN}")
    return found
