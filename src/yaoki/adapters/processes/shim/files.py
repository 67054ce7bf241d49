"""The folder's files: written whole or not at all, never through a link; and its lock."""

from __future__ import annotations

import fcntl
import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def log_line(words: str) -> None:
    """To shim.log, which lies on the same disk: when that is full, silence must do."""
    try:
        print(words, file=sys.stderr, flush=True)
    except OSError:  # nowhere else is contextlib needed: it would slow every start
        return


def record(name: str, facts: dict[str, Any], *, durable: bool = True) -> None:
    """Write a file of the folder whole or not at all; `durable` survives a power cut too."""
    temporary = f"{name}.tmp"
    discard(temporary)
    # Made anew, so that no link the agent laid there is followed.
    with open(temporary, "x", encoding="utf-8") as file:
        json.dump(facts, file)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    os.replace(temporary, name)
    if durable:
        folder = os.open(".", os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def discard(name: str) -> None:
    if os.path.lexists(name):
        os.unlink(name)


def take_lock() -> bool:
    """Hold the folder until this process ends; no child inherits the descriptor."""
    try:
        fcntl.flock(os.open("lock", os.O_RDWR | os.O_CREAT, 0o600), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
