"""Port ranges in use on this machine: one file per range, under one lock.

A store knows only its own worktrees; this folder separates stores on the same machine.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# A worktree may be missing briefly while it is recreated; after this time its range is free.
STALE_S = 3600.0
FILE_BYTES_MAX = 8192


class PortRangeFiles:
    """Files named `<base>-<count>` with two lines: the owner and its worktree."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Excludes every other process of this machine."""
        self._folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def list_ranges_of_others(self, owner: str) -> list[tuple[int, int]]:
        """The ranges of other owners as (base, count); removes stale files."""
        ranges = []
        for file in self._files():
            file_owner, worktree = _read_file(file)
            if file_owner == owner:
                continue
            if _is_stale(file, worktree):
                file.unlink(missing_ok=True)
                continue
            base, count = file.name.split("-")
            ranges.append((int(base), int(count)))
        return ranges

    def claim_range(self, owner: str, worktree: str, base: int, count: int) -> None:
        """Claims this range and releases every other range of the owner."""
        self.release_ranges(owner, except_name=f"{base}-{count}")
        (self._folder / f"{base}-{count}").write_text(f"{owner}\n{worktree}\n", encoding="utf-8")

    def release_ranges(self, owner: str, except_name: str = "") -> None:
        for file in self._files():
            if file.name != except_name and _read_file(file)[0] == owner:
                file.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        entries = self._folder.iterdir() if self._folder.is_dir() else ()
        return [file for file in entries if file.name.replace("-", "", 1).isdecimal()]


def _read_file(file: Path) -> tuple[str, str]:
    """The owner and the worktree; empty if the file was removed meanwhile."""
    with suppress(FileNotFoundError), file.open("rb") as stream:
        text = stream.read(FILE_BYTES_MAX).decode("utf-8", "replace")
        owner, _, rest = text.partition("\n")
        return owner, rest.rstrip("\n")
    return "", ""


def _is_stale(file: Path, worktree: str) -> bool:
    try:
        age = time.time() - file.stat().st_mtime
    except FileNotFoundError:
        return True
    return age > STALE_S and not (worktree and Path(worktree).is_dir())
