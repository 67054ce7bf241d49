"""Ignored files of an attempt: saved under a ref before the worktree is removed.

No commit of the agent's work contains them, and yet they may be all that it made.  The same holds
for files of set-up that the agent changed.  Those that it did not change can be made again and are
not saved, nor is what the plan discards.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from yaoki.adapters.git.command import Git, GitLocation
from yaoki.adapters.git.tree_diff import printable_path
from yaoki.adapters.system.folders import walk_tree
from yaoki.adapters.workspace.worktrees.leftover_files import LeftoverFiles, walk_names
from yaoki.adapters.workspace.worktrees.setup_files import SetupFileStore, read_facts
from yaoki.adapters.workspace.worktrees.worktree import Worktree
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.scope import matches_glob
from yaoki.ports import SetupChanges

LISTED_MAX = 1_000
CHUNK_BYTES = 1 << 20
# A sparse file of terabytes would be read for hours.
HASHED_BYTES_MAX = 4 << 30


@dataclass(frozen=True, slots=True)
class IgnoredFiles:
    """The files to save, and those that exceed the limit."""

    to_save: tuple[str, ...]
    too_large: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.to_save or self.too_large)


class IgnoredFileStore:
    """Finds ignored files and turns them into a tree."""

    def __init__(
        self, git: Git, leftovers: LeftoverFiles, setup_files: SetupFileStore, bytes_max: int
    ) -> None:
        self._git, self._leftovers = git, leftovers
        self._setup_files, self._bytes_max = setup_files, bytes_max

    def record_setup_files(self, worktree: Worktree) -> SetupChanges:
        """Record everything that set-up made and changed."""
        ignored = self._list_ignored(worktree, worktree.location)
        return self._setup_files.record(worktree, ignored)

    def fill_index(self, worktree: Worktree, start: str, index: Path) -> GitLocation:
        """The worktree with another index that contains the commit `start`."""
        index.unlink(missing_ok=True)
        at = GitLocation(self._git.common_dir, worktree.path, index)
        self._git.run("read-tree", start, at=at)
        return at

    def select_unsaved(
        self,
        worktree: Worktree,
        at: GitLocation,
        discard: Sequence[str],
        ignored: Sequence[str] | None = None,
    ) -> IgnoredFiles:
        """The smallest files first, as many as fit; `at` names the index to compare with.

        `ignored` contains what git ignores, if that is known already.
        """
        setup, top = self._setup_files.load_facts(worktree.task_id), worktree.path
        unsaved = [
            path
            for path in self._list_files(worktree, at, ignored)
            if setup.get(path) != read_facts(top / path)
            and not any(matches_glob(path, g) for g in discard)
        ]
        to_save, remaining = [], self._bytes_max
        for path in sorted(unsaved, key=lambda p: (top / p).lstat().st_size):
            remaining -= (top / path).lstat().st_size
            if remaining >= 0:
                to_save.append(path)
        return IgnoredFiles(tuple(to_save), tuple(sorted(set(unsaved).difference(to_save))))

    def write_tree(self, files: IgnoredFiles, at: GitLocation) -> str:
        """The tree of the index with the ignored files added."""
        names = b"".join(os.fsencode(path) + b"\0" for path in files.to_save)
        options = ("-f", "--pathspec-from-file=-", "--pathspec-file-nul")
        self._git.run("--literal-pathspecs", "add", *options, at=at, stdin=names)
        return self._git.read_text("write-tree", at=at)

    def describe_too_large(self, worktree: Worktree, files: IgnoredFiles) -> str:
        """Lines for a commit message: each file that is not saved, with size and hash."""
        rows, remaining = [], HASHED_BYTES_MAX
        for path in files.too_large[:LISTED_MAX]:
            size = (worktree.path / path).lstat().st_size
            remaining -= size
            rows.append(_describe(worktree.path, path, size, hashed=remaining >= 0))
        more = len(files.too_large) - LISTED_MAX
        return "\n".join((*rows, *([f"and {more} more"] if more > 0 else [])))

    def _list_files(
        self, worktree: Worktree, at: GitLocation, ignored: Sequence[str] | None
    ) -> list[str]:
        made = self._setup_files.load(worktree.task_id)
        paths = (
            entry.path
            for name in (*made.folders, *made.files)
            for entry in walk_tree(worktree.path, name)
        )
        files = {path for path in paths if _is_file_or_link(worktree.path / path)}
        return sorted(files.union(self._list_ignored(worktree, at, ignored)))

    def _list_ignored(
        self, worktree: Worktree, at: GitLocation, names: Sequence[str] | None = None
    ) -> list[str]:
        ignored = (
            self._leftovers.list_ignored(worktree, at)
            if names is None
            else walk_names(worktree.path, names)
        )
        return sorted(p for p in ignored if _is_file_or_link(worktree.path / p))


def _is_file_or_link(path: Path) -> bool:
    return path.is_symlink() or path.is_file()


def _describe(top: Path, path: str, size: int, *, hashed: bool) -> str:
    digest = f", sha256 {_hash(top / path)}" if hashed else ""
    return f"not saved: {printable_path(path)} ({size} bytes{digest})"


def _hash(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
