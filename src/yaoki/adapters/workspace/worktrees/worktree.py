"""A worktree on the disk, and the removal of folders with any content."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from yaoki.adapters.git.command import GitLocation
from yaoki.adapters.git.ref_names import task_branch_ref
from yaoki.adapters.system.folders import iter_paths_below, remove_tree, walk_tree
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.errors import WorkspaceError

# The content of git's file `locked` while a worktree is being made.
UNFINISHED_MARK = b"initializing"
MERGE_HEADS_MAX = 16
COMMIT_ID = lazy_compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class WorktreeStatus:
    """The answer of `git status`; `ignored` is None when it was not asked for."""

    is_clean: bool
    ignored: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Worktree:
    """A task's folder and git's folder about it (`admin`), None if that is missing."""

    task_id: str
    path: Path
    admin: Path | None

    @property
    def exists(self) -> bool:
        """False for a link: it would lead commands into other files."""
        return is_real_folder(self.path)

    @property
    def is_unfinished(self) -> bool:
        """True while git's mark says that the worktree is being made: no agent has used it."""
        locked = self.admin / "locked" if self.admin else None
        return bool(locked and locked.is_file() and locked.read_bytes().strip() == UNFINISHED_MARK)

    def admin_digest(self) -> bytes:
        """Changes with everything in git's folder: index flags, settings, refs."""
        entries = sorted(iter_paths_below(self.admin)) if self.admin else []
        return sha256(b"".join(b"%b\0%b\0" % (os.fsencode(e), _hash(e)) for e in entries)).digest()

    def mark_finished(self) -> None:
        assert self.admin
        (self.admin / "locked").unlink(missing_ok=True)

    @property
    def is_usable(self) -> bool:
        """True when the folder exists, git knows it, and it is finished."""
        return self.exists and self.admin is not None and not self.is_unfinished

    @property
    def merge_heads(self) -> tuple[str, ...]:
        """The commits of a merge that was started and not committed."""
        file = self.admin / "MERGE_HEAD" if self.admin else None
        lines = file.read_bytes().splitlines() if file and file.is_file() else []
        ids = (line.strip() for line in lines[:MERGE_HEADS_MAX])
        return tuple(each.decode("ascii") for each in ids if COMMIT_ID.fullmatch(each))

    @property
    def head(self) -> str:
        """The revision that names its HEAD in the main repository."""
        return f"worktrees/{self.admin.name}/HEAD" if self.admin else ""

    @property
    def is_on_branch(self) -> bool:
        """True when HEAD is the task's branch: git then refuses to check it out elsewhere."""
        head = self.admin / "HEAD" if self.admin else None
        expected = f"ref: {task_branch_ref(self.task_id)}".encode()
        return bool(head and head.is_file() and head.read_bytes().strip() == expected)

    @property
    def location(self) -> GitLocation:
        assert self.admin
        return GitLocation(self.admin, self.path)


def _hash(entry: Path) -> bytes:
    is_regular = entry.is_file() and not entry.is_symlink()
    return sha256(entry.read_bytes()).digest() if is_regular else b""


def is_real_folder(path: Path) -> bool:
    """False for a link to a folder."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def delete_path(path: Path) -> None:
    """Remove a file or a folder with any permissions; a missing one is no error."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISDIR(mode):
        path.unlink(missing_ok=True)
        return
    remove_tree(path)
    if path.exists():
        _make_writable(path)
        remove_tree(path)
    if path.exists():
        raise WorkspaceError(f"cannot remove {path}", hint=f"rm -rf {path}")


def _make_writable(path: Path) -> None:
    """Package caches make folders read-only; their owner may change that."""
    for entry in walk_tree(path.parent, path.name):
        if stat.S_ISDIR(entry.mode):
            with suppress(OSError):
                (path.parent / entry.path).chmod(stat.S_IRWXU)
