"""Ignored files of an attempt: saved under a ref before the worktree is removed.

No commit of the agent's work contains them, and yet they may be all that it made.  Output of
set-up can be made again and is not saved, nor is what the plan discards.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from yaoki.adapters.git.command import Git, GitLocation
from yaoki.adapters.git.tree_diff import printable_path
from yaoki.adapters.system.files import write_atomically
from yaoki.adapters.workspace.worktrees.leftover_files import LeftoverFiles
from yaoki.adapters.workspace.worktrees.worktree import Worktree, delete_path
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.scope import matches_glob

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

    def __init__(self, git: Git, leftovers: LeftoverFiles, folder: Path, bytes_max: int) -> None:
        self._git, self._leftovers = git, leftovers
        self._folder, self._bytes_max = folder, bytes_max

    def record_setup_files(self, worktree: Worktree) -> None:
        """Record the ignored files with their facts: set-up made them."""
        paths = self._list_files(worktree, worktree.location)
        facts = {path: _facts(worktree.path / path) for path in paths}
        self.forget_setup_files(worktree.task_id)
        if facts:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self._setup_record(worktree.task_id), json.dumps(facts).encode())

    def forget_setup_files(self, task_id: str) -> None:
        delete_path(self._setup_record(task_id))

    def select_unsaved(
        self, worktree: Worktree, start: str, index: Path, discard: Sequence[str]
    ) -> IgnoredFiles:
        """The smallest files first, as many as fit; `index` is filled with the commit `start`.

        Not through the worktree's own index: an agent may have left it unreadable.
        """
        at = GitLocation(self._git.common_dir, worktree.path, index)
        self._git.run("read-tree", start, at=at)
        setup, top = self._read_setup_files(worktree.task_id), worktree.path
        unsaved = [
            path
            for path in self._list_files(worktree, at)
            if setup.get(path) != _facts(top / path)
            and not any(matches_glob(path, g) for g in discard)
        ]
        to_save, remaining = [], self._bytes_max
        for path in sorted(unsaved, key=lambda p: (top / p).lstat().st_size):
            remaining -= (top / path).lstat().st_size
            if remaining >= 0:
                to_save.append(path)
        return IgnoredFiles(tuple(to_save), tuple(sorted(set(unsaved).difference(to_save))))

    def write_tree(self, worktree: Worktree, files: IgnoredFiles, index: Path) -> str:
        """The tree of the index with the ignored files added."""
        at = GitLocation(self._git.common_dir, worktree.path, index)
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

    def _list_files(self, worktree: Worktree, at: GitLocation) -> list[str]:
        ignored: Iterable[str] = self._leftovers.list_ignored(worktree, at)
        return sorted(p for p in ignored if _is_file_or_link(worktree.path / p))

    def _read_setup_files(self, task_id: str) -> dict[str, str]:
        file = self._setup_record(task_id)
        return dict(json.loads(file.read_bytes())) if file.is_file() else {}

    def _setup_record(self, task_id: str) -> Path:
        return self._folder / f"{task_id}.json"


def _is_file_or_link(path: Path) -> bool:
    return path.is_symlink() or path.is_file()


def _facts(path: Path) -> str:
    try:
        facts = path.lstat()
    except FileNotFoundError:
        return ""
    return f"{facts.st_size} {facts.st_mtime_ns} {facts.st_ctime_ns} {facts.st_ino}"


def _describe(top: Path, path: str, size: int, *, hashed: bool) -> str:
    digest = f", sha256 {_hash(top / path)}" if hashed else ""
    return f"not saved: {printable_path(path)} ({size} bytes{digest})"


def _hash(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
