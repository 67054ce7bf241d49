"""Frames on standard input and output: one JSON document per line, with a size limit."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import IO, Any

FRAME_BYTES_MAX = 1 << 20


def read_frames(stream: IO[bytes]) -> Iterator[bytes | None]:
    """Each line; None for one over the limit, whose rest is skipped.

    A last line without a newline was cut off and is ignored.
    """
    while line := stream.readline(FRAME_BYTES_MAX):
        if not line.endswith(b"\n"):
            if _skip_line(stream):
                yield None
        elif line.strip():
            yield line


def _skip_line(stream: IO[bytes]) -> bool:
    """Skip to the end of the line; False when the input ends first."""
    while rest := stream.readline(FRAME_BYTES_MAX):
        if rest.endswith(b"\n"):
            return True
    return False


def send_frame(descriptor: int, document: Mapping[str, Any]) -> None:
    """Write the whole frame; `BrokenPipeError` when the client is gone."""
    data = json.dumps(document).encode("ascii") + b"\n"
    while data:
        data = data[os.write(descriptor, data) :]
