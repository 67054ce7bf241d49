"""Worktrees made before a task needs one, where making one takes long: a task then gets its own by
a rename and the few files in which the run branch has moved on.

Only fresh ones: where an agent has been, hard links, modes and marks in the index may be left
that no look would find, so such a worktree is never given to another task.
"""

from __future__ import annotations

import fcntl
import os
import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from uuid import uuid4

from yaoki.adapters.system.files import is_locked
from yaoki.adapters.workspace.worktrees.allocation import Worktrees
from yaoki.adapters.workspace.worktrees.worktree import Worktree
from yaoki.errors import WorkspaceError

SPARE = re.compile(r"spare-([0-9a-f]{8})-\d+")
END_S_MAX = 3.0


class PreparedWorktreePool:
    """Those of this process, known by a lock that it holds: a killed one's are found and go."""

    def __init__(self, worktrees: Worktrees, root: Path, from_files: int) -> None:
        """Of fewer files nobody waits for a worktree, and one that nobody uses costs more."""
        self._worktrees, self._root, self._from_files = worktrees, root, from_files
        self._owner, self._numbers = uuid4().hex[:8], count(1)
        self._turn, self._making = threading.Lock(), threading.Lock()
        self._held: int | None = None
        self._ready: dict[str, bytes] = {}
        self.is_worthwhile = False

    def obtain(self, task_id: str, commit: str) -> Worktree:
        """A worktree for the task: a spare one if there is one, else a new one."""
        if spare := self._handed(task_id, commit):
            return spare
        made = self._worktrees.add(task_id, commit)
        self.is_worthwhile = 0 < self._from_files <= _files(made)
        return made

    def _handed(self, task_id: str, commit: str) -> Worktree | None:
        """Whatever is wrong with a spare one, it is thrown away: a new one tells what it is."""
        with self._turn:
            name, seal = self._ready.popitem() if self._ready else ("", b"")
        if not name:
            return None
        try:
            return self._worktrees.hand_over(name, task_id, commit, seal)
        except (WorkspaceError, OSError):
            with suppress(WorkspaceError, OSError):  # found again when we end
                self._worktrees.remove(name)
            return None

    def fill(self, commit: str, wanted: int) -> None:
        """Until so many are ready."""
        with self._making:
            while self.is_worthwhile and len(self._ready) < wanted:
                self._own()
                name = f"spare-{self._owner}-{next(self._numbers)}"
                self._worktrees.add_detached(name, commit)
                with self._turn:
                    self._ready[name] = self._worktrees.find(name).admin_digest()

    def remove_own(self) -> None:
        """Before we end: all of ours.  One that is still being made is waited for, a little; if it
        comes after all, whoever is next finds it.
        """
        self.is_worthwhile = False
        ended = self._making.acquire(timeout=END_S_MAX)
        with self._turn:
            self._ready.clear()
        for name in self._of(self._owner) if self._held is not None else ():
            self._worktrees.remove(name)
        if ended:
            self._disown()
            self._making.release()

    def remove_orphans(self) -> None:
        """Remove those whose process is gone, however it went."""
        names = (SPARE.fullmatch(name) for name in self._worktrees.list_ids())
        for owner in {named[1] for named in names if named}:
            if not is_locked(self._lock(owner)):
                for name in self._of(owner):
                    self._worktrees.remove(name)
        for file in self._root.glob(".spare-*.lock") if self._root.is_dir() else ():
            if not is_locked(file):
                file.unlink(missing_ok=True)

    def _own(self) -> None:
        """Whoever sweeps in the instant between making and locking the file removes it."""
        file = self._lock(self._owner)
        while self._held is None:
            held = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(held, fcntl.LOCK_EX)
            if _is(held, file):
                self._held = held
            else:
                os.close(held)

    def _disown(self) -> None:
        if self._held is not None:
            self._lock(self._owner).unlink(missing_ok=True)
            os.close(self._held)
            self._held = None

    def _lock(self, owner: str) -> Path:
        return self._root / f".spare-{owner}.lock"

    def _of(self, owner: str) -> Iterator[str]:
        for name in sorted(self._worktrees.list_ids()):
            if (named := SPARE.fullmatch(name)) and named[1] == owner:
                yield name


def _files(made: Worktree) -> int:
    """An index says in its head how many it lists."""
    if not made.admin or not (made.admin / "index").exists():
        return 0
    with (made.admin / "index").open("rb") as index:
        return int.from_bytes(index.read(12)[8:], "big")


def _is(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False
