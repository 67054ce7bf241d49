"""Worktrees made ahead of need in large repositories: a task then gets one by a rename and a
checkout of the few files that have changed on the run branch since.

Only unused worktrees are handed out: an agent may leave hard links, modes and index flags that no
inspection finds, so a used worktree is never given to another task.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from uuid import uuid4

from yaoki.adapters.system.files import is_locked
from yaoki.adapters.workspace.worktrees.allocation import Worktrees
from yaoki.adapters.workspace.worktrees.worktree import Worktree
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.errors import WorkspaceError

NAME = lazy_compile(r"spare-([0-9a-f]{8})-\d+")
CLOSE_TIMEOUT_S = 3.0


class PreparedWorktreePool:
    """The prepared worktrees of this process.

    The process holds a lock file, so those of a killed process are recognised and removed.
    """

    def __init__(self, worktrees: Worktrees, root: Path, from_files: int) -> None:
        """Prepare ahead from `from_files` files on: with fewer it costs more than it saves."""
        self._worktrees, self._root, self._from_files = worktrees, root, from_files
        self._owner, self._numbers = uuid4().hex[:8], count(1)
        self._lock, self._fill_lock = threading.Lock(), threading.Lock()
        self._lock_descriptor: int | None = None
        self._ready: dict[str, bytes] = {}
        self.is_worthwhile = False

    def obtain(self, task_id: str, commit: str) -> Worktree:
        """A worktree for the task: a prepared one if there is one, else a new one."""
        if prepared := self._hand_over(task_id, commit):
            return prepared
        worktree = self._worktrees.add(task_id, commit)
        self.is_worthwhile = 0 < self._from_files <= _count_files(worktree)
        return worktree

    def _hand_over(self, task_id: str, commit: str) -> Worktree | None:
        """A prepared worktree with any problem is removed; making a new one shows the problem."""
        with self._lock:
            name, digest = self._ready.popitem() if self._ready else ("", b"")
        if not name:
            return None
        try:
            return self._worktrees.hand_over(name, task_id, commit, digest)
        except (WorkspaceError, OSError):
            with suppress(WorkspaceError, OSError):  # removed when the process ends
                self._worktrees.remove(name)
            return None

    def fill(self, commit: str, size: int) -> None:
        """Make worktrees until `size` are ready."""
        with self._fill_lock:
            while self.is_worthwhile and len(self._ready) < size:
                self._acquire_lock_file()
                name = f"spare-{self._owner}-{next(self._numbers)}"
                self._worktrees.add_detached(name, commit)
                with self._lock:
                    self._ready[name] = self._worktrees.find(name).admin_digest()

    def remove_own(self) -> None:
        """Remove all worktrees of this process before it ends.

        A worktree that is still being made is waited for briefly; if it is finished later, the
        next process removes it.
        """
        self.is_worthwhile = False
        filling_ended = self._fill_lock.acquire(timeout=CLOSE_TIMEOUT_S)
        with self._lock:
            self._ready.clear()
        for name in self._names_of(self._owner) if self._lock_descriptor is not None else ():
            self._worktrees.remove(name)
        if filling_ended:
            self._release_lock_file()
            self._fill_lock.release()

    def remove_orphans(self) -> None:
        """Remove worktrees whose process is gone."""
        matches = (NAME.fullmatch(name) for name in self._worktrees.list_ids())
        for owner in {match[1] for match in matches if match}:
            if not is_locked(self._lock_file(owner)):
                for name in self._names_of(owner):
                    self._worktrees.remove(name)
        for file in self._root.glob(".spare-*.lock") if self._root.is_dir() else ():
            if not is_locked(file):
                file.unlink(missing_ok=True)

    def _acquire_lock_file(self) -> None:
        """Retry when another process removes the file between its creation and the lock."""
        file = self._lock_file(self._owner)
        while self._lock_descriptor is None:
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_same_file(descriptor, file):
                self._lock_descriptor = descriptor
            else:
                os.close(descriptor)

    def _release_lock_file(self) -> None:
        if self._lock_descriptor is not None:
            self._lock_file(self._owner).unlink(missing_ok=True)
            os.close(self._lock_descriptor)
            self._lock_descriptor = None

    def _lock_file(self, owner: str) -> Path:
        return self._root / f".spare-{owner}.lock"

    def _names_of(self, owner: str) -> Iterator[str]:
        for name in sorted(self._worktrees.list_ids()):
            if (match := NAME.fullmatch(name)) and match[1] == owner:
                yield name


def _count_files(worktree: Worktree) -> int:
    """The header of an index contains the number of its entries."""
    if not worktree.admin or not (worktree.admin / "index").exists():
        return 0
    with (worktree.admin / "index").open("rb") as index:
        return int.from_bytes(index.read(12)[8:], "big")


def _is_same_file(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False
