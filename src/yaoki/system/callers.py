"""The processes above this one: what they were given when they started."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

CALLERS_MAX = 64


def environments_above() -> Iterator[dict[str, str]]:
    """The environment of each process that led to this one, the nearest first.

    Only Linux tells it, and only of our own processes; elsewhere there is none.
    """
    pid = os.getppid()
    for _ in range(CALLERS_MAX):
        try:
            held = Path(f"/proc/{pid}/environ").read_bytes()
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        pairs = (os.fsdecode(pair).partition("=") for pair in held.split(b"\0") if pair)
        yield {name: value for name, _, value in pairs}
        # The name of the program stands in parentheses, and may hold anything.
        pid = int(stat.rpartition(")")[2].split()[1])
