"""A long text within a bound: its head and its tail, and how much is cut in between."""

from __future__ import annotations

import re

# Of this module, and of who reads the ends of a log.
MARK = re.compile(rb"\n\[(?:\xe2\x80\xa6 )?(\d{1,15}) bytes (?:cut \xe2\x80\xa6|left out)\]\n")


def clip_bytes(text: str, most: int) -> str:
    """Head and tail within `most` bytes, and how much was cut in between.

    What is no text, such as a file name in another encoding, is shown escaped.
    """
    raw = text.encode(errors="backslashreplace")
    if len(raw) <= most:
        return raw.decode()
    room = max(0, most - len(_cut(len(raw)).encode()))
    start = raw[: room // 3].decode(errors="ignore")
    end = raw[len(raw) - (room - room // 3) :].decode(errors="ignore") if room else ""
    gone = raw[len(start.encode()) : len(raw) - len(end.encode())]
    mark = _cut(len(gone) + _cut_before(gone))
    return start + mark + end if room else mark.encode()[:most].decode(errors="ignore")


def _cut_before(gone: bytes) -> int:
    """How much earlier cuts had taken out of it: their marks go with what is cut now."""
    return sum(int(found[1]) - len(found[0]) for found in MARK.finditer(gone))


def _cut(count: int) -> str:
    return f"\n[… {count} bytes cut …]\n"
