"""One worktree, as it is on the disk, and how a folder is removed whatever is in it."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from yaoki.adapters.git.command import GitLocation
from yaoki.adapters.git.refs import task_branch_ref
from yaoki.adapters.system.folders import iter_paths_below, remove_tree, walk_tree
from yaoki.core.lazy_dataclass import dataclass
from yaoki.errors import WorkspaceError

# What git writes into `locked` while it makes a worktree.
UNFINISHED_MARK = b"initializing"
MERGED_MAX = 16
COMMIT_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class Worktree:
    """A task's folder, and git's own folder about it as far as that is left."""

    task_id: str
    path: Path
    admin: Path | None

    @property
    def exists(self) -> bool:
        """A link would lead our commands into somebody else's files."""
        return self.path.is_dir() and not self.path.is_symlink()

    @property
    def is_unfinished(self) -> bool:
        """git itself marks a worktree it has not finished making: no agent has been in it."""
        locked = self.admin / "locked" if self.admin else None
        return bool(locked and locked.is_file() and locked.read_bytes().strip() == UNFINISHED_MARK)

    def admin_digest(self) -> bytes:
        """Changes with whatever git holds about it: marks in the index, settings of its own."""
        entries = sorted(iter_paths_below(self.admin)) if self.admin else []
        return sha256(b"".join(b"%b\0%b\0" % (os.fsencode(e), _held(e)) for e in entries)).digest()

    def mark_finished(self) -> None:
        assert self.admin
        (self.admin / "locked").unlink(missing_ok=True)

    @property
    def is_usable(self) -> bool:
        """Is there something in it, and does git know of it?"""
        return self.exists and self.admin is not None and not self.is_unfinished

    @property
    def merge_heads(self) -> tuple[str, ...]:
        """The commits of a merge that was begun in it and not committed."""
        file = self.admin / "MERGE_HEAD" if self.admin else None
        lines = file.read_bytes().splitlines() if file and file.is_file() else []
        ids = (line.strip() for line in lines[:MERGED_MAX])
        return tuple(each.decode("ascii") for each in ids if COMMIT_ID.fullmatch(each))

    @property
    def head(self) -> str:
        """The revision that names its HEAD from outside."""
        return f"worktrees/{self.admin.name}/HEAD" if self.admin else ""

    @property
    def is_on_branch(self) -> bool:
        """Does its HEAD name the task's branch?  Then git lets nobody else check it out."""
        head = self.admin / "HEAD" if self.admin else None
        said = f"ref: {task_branch_ref(self.task_id)}".encode()
        return bool(head and head.is_file() and head.read_bytes().strip() == said)

    @property
    def location(self) -> GitLocation:
        assert self.admin
        return GitLocation(self.admin, self.path)

    @property
    def index_digest(self) -> bytes:
        """Changes with git's index of it."""
        return _held(self.admin / "index") if self.admin else b""


def _held(entry: Path) -> bytes:
    plain = entry.is_file() and not entry.is_symlink()
    return sha256(entry.read_bytes()).digest() if plain else b""


def delete_path(path: Path) -> None:
    """Remove a file or a folder, whatever its permissions; one that is gone is fine."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    remove_tree(path)
    if path.exists():
        _open_up(path)
        remove_tree(path)
    if path.exists():
        raise WorkspaceError(f"cannot remove {path}", hint=f"rm -rf {path}")


def _open_up(path: Path) -> None:
    """Package caches make their folders read-only; their owner may still remove them."""
    for entry in walk_tree(path.parent, path.name):
        if stat.S_ISDIR(entry.mode):
            with suppress(OSError):
                (path.parent / entry.path).chmod(stat.S_IRWXU)
