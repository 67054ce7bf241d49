"""A report file: JUnit XML, SARIF or a known tool's JSON, told apart by the first character."""

from __future__ import annotations

from pathlib import Path

from yaoki.checks.readers.entries import Parsed
from yaoki.checks.readers.junit import REPORT_BYTES_MAX, read_junit
from yaoki.checks.readers.seen import Seen, of_document, parse
from yaoki.checks.readers.structured import DOCUMENTS

JSON_BYTES_MAX = 16 << 20


def read_report(seen: Seen) -> Parsed | None:
    """None: there is no report, or none that can be read.  Then nothing is proven by it."""
    file = seen.report
    if file is None or not _fit(file):
        return None
    with file.open("rb") as stream:
        first = stream.read(512).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if first in (b"{", b"["):
        return _read_json(file, seen)
    return read_junit(file, seen)


def _fit(file: Path) -> bool:
    """A plain file of bearable size; the agent could have put a link or a pipe there."""
    return not file.is_symlink() and file.is_file() and file.stat().st_size <= REPORT_BYTES_MAX


def _read_json(file: Path, seen: Seen) -> Parsed | None:
    if file.stat().st_size > JSON_BYTES_MAX:
        return None
    text = file.read_text(encoding="utf-8-sig", errors="replace").strip()
    output = of_document(seen, parse(text))
    return next((found for read in DOCUMENTS if (found := read(output)) is not None), None)
