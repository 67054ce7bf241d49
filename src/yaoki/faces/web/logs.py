"""Pieces of a log, cut at line ends so that no secret is split."""

from __future__ import annotations

import os
import re
from pathlib import Path

from yaoki.adapters.system.files import open_plain_file
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.redact import MARK
from yaoki.core.text import strip_terminal_codes

# The end of a private key that begins before this piece.
KEY_TAIL = lazy_compile(
    r"\A(?:(?!-----BEGIN ).)*-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,6}-----", re.S
)


def read_piece(file: Path, start: int, most: int) -> tuple[str, int, int, int]:
    """Text, its start and end, and the size of the file; a negative `start` means the tail."""
    with open_plain_file(file) as stream:
        if stream is None:  # the file was replaced by a link or a pipe, or deleted
            return "", 0, 0, 0
        size = stream.seek(0, os.SEEK_END)
        begin = max(0, size - most) if start < 0 else min(start, size)
        stream.seek(begin)
        raw = stream.read(min(most, size - begin))
    if start < 0 and begin:
        cut = raw.find(b"\n") + 1
        raw, begin = raw[cut:], begin + cut
    until = begin + len(raw)
    if until < size and b"\n" in raw:
        raw = raw[: raw.rfind(b"\n") + 1]
        until = begin + len(raw)
    text = strip_terminal_codes(raw.decode("utf-8", "replace"))
    return (KEY_TAIL.sub(MARK, text, count=1) if begin else text), begin, until, size
