"""A report file: JUnit XML, SARIF or a known tool's JSON, told apart by the first character."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from yaoki.adapters.checks.readers.command_output import Seen, of_document, parse
from yaoki.adapters.checks.readers.entries import Parsed, Unreadable
from yaoki.adapters.checks.readers.junit import REPORT_BYTES_MAX, read_junit
from yaoki.adapters.checks.readers.structured import DOCUMENTS

JSON_BYTES_MAX = 16 << 20
_KNOWN = "JUnit XML, SARIF and the JSON of known linters and type checkers are read"


def read_report(seen: Seen) -> Parsed | None:
    """None: nobody asked for a report, or none was written.  `Unreadable`: one that says nothing.

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
        raise Unreadable(f"is neither XML nor JSON; {_KNOWN}")
    return read_junit(file, seen)


def report_of(seen: Seen) -> Parsed | None:
    """The report, or nothing where there is none that can be read."""
    try:
        return read_report(seen)
    except Unreadable:
        return None


def _absent(file: Path) -> bool:
    """Only a plain file of bearable size is read: a link or a pipe could be put there."""
    try:
        facts = file.lstat()
    except FileNotFoundError:
        return True
    if not stat.S_ISREG(facts.st_mode):
        raise Unreadable("is no plain file")
    if facts.st_size > REPORT_BYTES_MAX:
        raise Unreadable(f"has {facts.st_size} bytes; at most {REPORT_BYTES_MAX} are read")
    if not os.access(file, os.R_OK):
        raise Unreadable("may not be read")
    return facts.st_size == 0


def _read_json(file: Path, seen: Seen) -> Parsed:
    if file.stat().st_size > JSON_BYTES_MAX:
        raise Unreadable(
            f"is JSON of {file.stat().st_size} bytes; at most {JSON_BYTES_MAX} are read"
        )
    text = file.read_text(encoding="utf-8-sig", errors="replace").strip()
    document = parse(text)
    if document is None:
        raise Unreadable("is JSON that is broken, nested too deep, or of too many values")
    output = of_document(seen, document)
    found = next((found for read in DOCUMENTS if (found := read(output)) is not None), None)
    if found is None:
        raise Unreadable(f"is JSON of a tool nobody knows; {_KNOWN}")
    return found
