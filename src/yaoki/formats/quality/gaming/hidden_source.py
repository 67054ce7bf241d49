"""Source that a reader takes for a comment or a text, and that its language runs as code.

JavaScript ends a line at marks that no editor shows as an end, and has comments of HTML.  Python
decodes a file by the encoding that it names, and some encodings make new lines out of plain text.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.lexer import ScannedSource

HIDES = "hides code from its readers; write it in plain lines"
_COOKIE = lazy_compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
# JavaScript ends a line, and with it a comment, at each of these.
_LINE_END = lazy_compile("[\r\u2028\u2029](?=.*[^\\s*])", 0)
_HTML_COMMENT = lazy_compile(r"<!--|^[ \t]*-->")
_QUOTES = frozenset("\"'`")
# Bytes that other encodings than those of characters change.  A backslash before a letter that
# escapes nothing would be a warning.
_PROBE = bytes(one for one in range(128) if one != ord("\\")) + rb" \u000a \x0a \n +AAo- =0A xn--a"


def find_in_javascript(scanned: ScannedSource) -> Iterator[tuple[int, str]]:
    for comment in scanned.comments:
        if comment.raw.startswith("//") and _LINE_END.search(comment.raw):
            yield scanned.line_at(comment.start), HIDES
    lines = scanned.text.split("\n")
    for number, code in enumerate(scanned.code.split("\n"), start=1):
        hit = _HTML_COMMENT.search(code) if "--" in code else None
        if hit and _QUOTES.intersection(lines[number - 1][hit.end() :]):
            yield number, HIDES


def find_in_python(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n")[:2], start=1):
        cookie = _COOKIE.match(line)
        if cookie and not _is_plain(cookie[1]):
            yield number, HIDES


def _is_plain(name: str) -> bool:
    """Does the encoding leave plain text as it is?"""
    try:
        return codecs.decode(_PROBE, name) == _PROBE.decode("ascii")
    except (LookupError, ValueError, TypeError, AssertionError):
        return False
