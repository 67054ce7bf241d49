"""A long text within a bound: its head and its tail, and how much is cut in between."""

from __future__ import annotations


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
    mark = _cut(len(raw) - len(start.encode()) - len(end.encode()))
    return start + mark + end if room else mark.encode()[:most].decode(errors="ignore")


def _cut(count: int) -> str:
    return f"\n[… {count} bytes cut …]\n"
