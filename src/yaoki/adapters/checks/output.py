"""Reads the output of a command in bounded pieces, with secrets masked."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from yaoki.adapters.system.files import is_plain_file, open_plain_file, read_plain_bytes
from yaoki.core.redact import mask
from yaoki.core.text import clip_head_and_tail, strip_terminal_codes

OUT, ERR = "out.log", "err.log"
HEAD, TAIL, TAIL_ERR = 2048, 6144, 2048
READER_BYTES_MAX = 256 * 1024
CHANNEL_BYTES_MAX = 4 << 20
CHANNEL_HEAD = 64 << 10
SEARCH_BYTES = 1 << 20
# Read past the cut so that a secret on the edge is complete and gets masked.
OVERLAP = 1024


def read_excerpt(folder: Path, secrets: Iterable[str]) -> str:
    """Head and tail of the output; a part is reserved for the error channel."""
    secret_values = tuple(secrets)
    errors = _read_ends(folder / ERR, 0, TAIL_ERR, secret_values)
    if not errors.strip():
        return _read_ends(folder / OUT, HEAD, TAIL, secret_values)
    output = _read_ends(folder / OUT, HEAD, TAIL - TAIL_ERR, secret_values)
    return f"{output}\n[stderr]\n{errors}" if output.strip() else errors


def read_tails(folder: Path, secrets: Iterable[str]) -> str:
    """The end of both channels, for readers that search for known lines."""
    secret_values = tuple(secrets)
    pieces = (_read_tail(folder / name, READER_BYTES_MAX) for name in (OUT, ERR))
    return "\n".join(mask(strip_terminal_codes(piece), secret_values) for piece in pieces)


def read_channel(file: Path) -> str:
    """The whole channel up to a bound, else whole lines of both ends; not masked."""
    size = _log_size(file)
    if size <= CHANNEL_BYTES_MAX:
        return _read_tail(file, size)
    head = _read_head(file, CHANNEL_HEAD).rpartition("\n")[0]
    tail = _read_tail(file, CHANNEL_BYTES_MAX - CHANNEL_HEAD).partition("\n")[2]
    return f"{head}\n[{size - CHANNEL_BYTES_MAX} bytes left out]\n{tail}"


def _read_ends(file: Path, head: int, tail: int, secrets: tuple[str, ...]) -> str:
    size = _log_size(file)
    if size <= head + tail + 2 * OVERLAP:
        return clip_head_and_tail(
            mask(strip_terminal_codes(_read_tail(file, size)), secrets), head, tail
        )
    left_out = f"\n[{size - head - tail} bytes left out]\n"
    first = (
        mask(strip_terminal_codes(_read_head(file, head + OVERLAP)), secrets)[:head] if head else ""
    )
    return (
        first
        + left_out
        + mask(strip_terminal_codes(_read_tail(file, tail + OVERLAP)), secrets)[-tail:]
    )


def _log_size(file: Path) -> int:
    """0 for a pipe or a link in place of the log: opening it could block forever."""
    return file.stat().st_size if is_plain_file(file) else 0


def _read_head(file: Path, count: int) -> str:
    return (read_plain_bytes(file, count) or b"").decode("utf-8", errors="replace")


def _read_tail(file: Path, count: int) -> str:
    with open_plain_file(file) as stream:
        if stream is None:
            return ""
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - count))
        return stream.read(count).decode("utf-8", errors="replace")


def contains_text(file: Path, text: str) -> bool:
    """Reads overlapping pieces, so the size of the file does not matter."""
    needle = text.encode("utf-8")
    overlap = b""
    with open_plain_file(file) as stream:
        while stream and (piece := stream.read(SEARCH_BYTES)):
            if needle in overlap + piece:
                return True
            overlap = (overlap + piece)[-len(needle) :]
    return not needle


def is_blank(file: Path) -> bool:
    """True for a file that holds only white space."""
    with open_plain_file(file) as stream:
        if stream is None:
            return True
        return all(not piece.strip() for piece in iter(lambda: stream.read(SEARCH_BYTES), b""))
