"""Frames on standard input and output: one JSON document a line, bounded."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import IO, Any

FRAME_BYTES_MAX = 1 << 20


def read_frames(stream: IO[bytes]) -> Iterator[bytes | None]:
    """Each line; None for one over the limit, whose rest is skipped.

    A last line without its end was cut off, and nobody knows what it would have been.
    """
    while line := stream.readline(FRAME_BYTES_MAX):
        if not line.endswith(b"\n"):
            if _skipped(stream):
                yield None
        elif line.strip():
            yield line


def _skipped(stream: IO[bytes]) -> bool:
    """Read on to the end of the line; False when there is none."""
    while rest := stream.readline(FRAME_BYTES_MAX):
        if rest.endswith(b"\n"):
            return True
    return False


def send_frame(descriptor: int, document: Mapping[str, Any]) -> None:
    """All of it; `BrokenPipeError` when nobody reads any more."""
    data = json.dumps(document).encode("ascii") + b"\n"
    while data:
        data = data[os.write(descriptor, data) :]
