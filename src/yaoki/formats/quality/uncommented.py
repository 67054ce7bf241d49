"""A source without its comments, and without commas before a closing bracket."""

from __future__ import annotations

import re

from yaoki.formats.quality.lexer import ScannedSource

_NOT_NEWLINE = re.compile(r"[^\n]")
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")


def strip_comments(reading: ScannedSource) -> str:
    """As long as the text; for JSON whose readers allow comments."""
    parts, at = [], 0
    for comment in reading.comments:
        parts += [reading.text[at : comment.start], _NOT_NEWLINE.sub(" ", comment.raw)]
        at = comment.start + len(comment.raw)
    whole = "".join([*parts, reading.text[at:]])
    # A comma in a string does not count.
    return _TRAILING_COMMA.sub(lambda hit: " " if reading.code[hit.start()] == "," else ",", whole)
