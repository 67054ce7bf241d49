"""Ignored files that an attempt left: saved under a ref before their worktree goes.

No commit of the agent's work holds them, and yet they may be all that it made.  What set-up made
is made again, and what the plan discards nobody wants back.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from yaoki.adapters.git.command import Git, GitLocation
from yaoki.adapters.git.tree_diff import printable_path
from yaoki.adapters.system.files import write_atomically
from yaoki.adapters.workspace.worktrees.leftover_files import LeftoverFiles
from yaoki.adapters.workspace.worktrees.worktree import Worktree, delete_path
from yaoki.core.scope import matches_glob

LISTED_MAX = 1_000
PIECE = 1 << 20
# A file of terabytes that takes no room on the disk would be read for hours.
HASHED_BYTES_MAX = 4 << 30


@dataclass(frozen=True, slots=True)
class IgnoredFiles:
    """What is to be saved, and what is too large for that."""

    to_save: tuple[str, ...]
    too_large: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.to_save or self.too_large)


class IgnoredFileStore:
    """Finds them, and turns them into a tree."""

    def __init__(self, git: Git, leavings: LeftoverFiles, folder: Path, bytes_max: int) -> None:
        self._git, self._leavings = git, leavings
        self._folder, self._bytes_max = folder, bytes_max

    def record_setup_files(self, found: Worktree) -> None:
        """Note what is ignored now, with the sign of its content: set-up made it."""
        made = {path: _sign(found.path / path) for path in self._files(found, found.location)}
        self.forget_setup_files(found.task_id)
        if made:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self._note(found.task_id), json.dumps(made).encode())

    def forget_setup_files(self, task_id: str) -> None:
        delete_path(self._note(task_id))

    def select_unsaved(
        self, found: Worktree, start: str, index: Path, discard: Sequence[str]
    ) -> IgnoredFiles:
        """The smallest first, as many as fit; `index` is filled with the commit `start`.

        Through an index of ours: what an agent left of git's own folder may not be readable.
        """
        at = GitLocation(self._git.common_dir, found.path, index)
        self._git.run("read-tree", start, at=at)
        made, top = self._prepared(found.task_id), found.path
        wanted = [
            path
            for path in self._files(found, at)
            if made.get(path) != _sign(top / path)
            and not any(matches_glob(path, g) for g in discard)
        ]
        saved, room = [], self._bytes_max
        for path in sorted(wanted, key=lambda p: (top / p).lstat().st_size):
            room -= (top / path).lstat().st_size
            if room >= 0:
                saved.append(path)
        return IgnoredFiles(tuple(saved), tuple(sorted(set(wanted).difference(saved))))

    def write_tree(self, found: Worktree, files: IgnoredFiles, index: Path) -> str:
        """What the index holds, with the ignored files beside it."""
        at = GitLocation(self._git.common_dir, found.path, index)
        given = b"".join(os.fsencode(path) + b"\0" for path in files.to_save)
        listed = ("--pathspec-from-file=-", "--pathspec-file-nul")
        literal = self._git.run("--literal-pathspecs", "add", "-f", *listed, at=at, stdin=given)
        assert literal.code == 0
        return self._git.read_text("write-tree", at=at)

    def describe_too_large(self, found: Worktree, files: IgnoredFiles) -> str:
        """What could not be saved, with size and hash, as lines for a commit message."""
        rows, room = [], HASHED_BYTES_MAX
        for path in files.too_large[:LISTED_MAX]:
            size = (found.path / path).lstat().st_size
            room -= size
            rows.append(_listed(found.path, path, size, hashed=room >= 0))
        more = len(files.too_large) - LISTED_MAX
        return "\n".join((*rows, *([f"and {more} more"] if more > 0 else [])))

    def _files(self, found: Worktree, at: GitLocation) -> list[str]:
        ignored: Iterable[str] = self._leavings.list_ignored(found, at)
        return sorted(p for p in ignored if _plain(found.path / p))

    def _prepared(self, task_id: str) -> dict[str, str]:
        note = self._note(task_id)
        return dict(json.loads(note.read_bytes())) if note.is_file() else {}

    def _note(self, task_id: str) -> Path:
        return self._folder / f"{task_id}.json"


def _plain(path: Path) -> bool:
    return path.is_symlink() or path.is_file()


def _sign(path: Path) -> str:
    try:
        facts = path.lstat()
    except FileNotFoundError:
        return ""
    return f"{facts.st_size} {facts.st_mtime_ns} {facts.st_ctime_ns} {facts.st_ino}"


def _listed(top: Path, path: str, size: int, *, hashed: bool) -> str:
    mark = f", sha256 {_hash(top / path)}" if hashed else ""
    return f"not saved: {printable_path(path)} ({size} bytes{mark})"


def _hash(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while piece := stream.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()
