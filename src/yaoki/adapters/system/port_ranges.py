"""Ranges of ports on this machine: one file per range that somebody uses, under one lock.

Stores know only their own worktrees; this folder keeps apart those that share but a machine.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# A worktree may be gone for a moment while it is made anew; gone for longer, it uses nothing.
STALE_S = 3600.0
FILE_BYTES_MAX = 8192


class PortRangeFiles:
    """Files named `<base>-<count>` that hold their owner and its worktree, a line each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Nobody else on this machine chooses meanwhile."""
        self._folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def list_ranges_of_others(self, owner: str) -> list[tuple[int, int]]:
        """What everybody else uses, as (base, count); what nobody uses any more is let go."""
        found = []
        for file in self._files():
            held, worktree = _content(file)
            if held == owner:
                continue
            if _stale(file, worktree):
                file.unlink(missing_ok=True)
                continue
            base, count = file.name.split("-")
            found.append((int(base), int(count)))
        return found

    def claim_range(self, owner: str, worktree: str, base: int, count: int) -> None:
        """Use this range and no other."""
        self.release_ranges(owner, except_name=f"{base}-{count}")
        (self._folder / f"{base}-{count}").write_text(f"{owner}\n{worktree}\n", encoding="utf-8")

    def release_ranges(self, owner: str, except_name: str = "") -> None:
        for file in self._files():
            if file.name != except_name and _content(file)[0] == owner:
                file.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        there = self._folder.iterdir() if self._folder.is_dir() else ()
        return [file for file in there if file.name.replace("-", "", 1).isdecimal()]


def _content(file: Path) -> tuple[str, str]:
    """The owner and the worktree; nothing when somebody let go of it just now."""
    with suppress(FileNotFoundError), file.open("rb") as opened:
        text = opened.read(FILE_BYTES_MAX).decode("utf-8", "replace")
        owner, _, rest = text.partition("\n")
        return owner, rest.rstrip("\n")
    return "", ""


def _stale(file: Path, worktree: str) -> bool:
    try:
        age = time.time() - file.stat().st_mtime
    except FileNotFoundError:
        return True
    return age > STALE_S and not (worktree and Path(worktree).is_dir())
