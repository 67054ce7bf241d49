"""The files that set-up made in a worktree: they are no work of the agent, ignored by git or not.

A path belongs to set-up if it appeared while set-up ran.  Folders that tools own, such as
`node_modules`, belong to set-up with everything that is put into them later.  In any other folder
only the files that set-up wrote belong to it: a new file beside them is the agent's work.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.excluded_paths import NOTHING_EXCLUDED, ExcludedPaths
from yaoki.adapters.git.submodule_objects import read_submodule_head
from yaoki.adapters.git.submodules import FILE as GITMODULES
from yaoki.adapters.git.submodules import GITLINK
from yaoki.adapters.git.tree_diff import printable_path
from yaoki.adapters.system.files import write_atomically
from yaoki.adapters.system.folders import walk_tree
from yaoki.adapters.workspace.worktrees.generated_folders import (
    CACHES,
    DEPENDENCIES,
    is_generated,
    is_source,
)
from yaoki.adapters.workspace.worktrees.worktree import Worktree, WorktreeStatus, delete_path
from yaoki.ports import SetupChanges

# Explicit, because the user's settings may hide untracked files.
STATUS = ("status", "--no-renames", "--ignore-submodules=dirty", "-z", "--porcelain")
# The second is a file that set-up added to the index: no commit has it either.
UNTRACKED = ("??", "A")
IGNORED = "!!"
# A larger folder is a download: none of its files is looked at.
LOOSE_FILES_MAX = 1_000
# A larger file is compared by its size and time alone.
HASHED_BYTES_MAX = 4 << 20
SEARCHED_MAX = 100_000


class SetupFileStore:
    """Records the files of set-up for each worktree, outside of it."""

    def __init__(self, git: Git, folder: Path) -> None:
        self._git, self._folder = git, folder

    # -------------------------------------------------------------- around a set-up

    def begin(self, worktree: Worktree) -> None:
        """Record the changes that precede set-up in a worktree that was used before.

        A record of an earlier call stays: that set-up was killed.
        """
        file = self._file(worktree.task_id, "before")
        if file.exists():
            return
        known = self.load(worktree.task_id)
        changed, roots = self._read_status(worktree)
        links = dict(known.links)
        changed = [path for path in changed if not _is_at(worktree.path, path, links)]
        found = (entry.path for root in roots for entry in walk_tree(worktree.path, root))
        before = [*changed, *(path for path in found if path not in known)]
        self._write(file, before)

    def record(self, worktree: Worktree, ignored: Collection[str] = ()) -> SetupChanges:
        """Record everything that set-up made, and the tracked files that it changed.

        These are restored: the proof has them as they were committed.  Of a submodule only the
        link in the index is: no git runs in it, because an agent may own its settings.
        """
        file = self._file(worktree.task_id, "before")
        before = frozenset(json.loads(file.read_bytes())) if file.exists() else frozenset()
        changed, roots = self._read_status(worktree)
        self._restore(worktree, touched := [path for path in changed if path not in before])
        links = self._read_links(worktree, touched)
        folders, files = _classify(worktree.path, roots, before)
        made = {*ignored, *files, *_files_below(worktree.path, folders)}
        facts = {path: read_facts(worktree.path / path) for path in sorted(made)}
        self.forget(worktree.task_id)
        if facts:
            self._write(self._file(worktree.task_id), facts)
        if folders or files or links:
            digests = {path: _digest(worktree.path / path) for path in files}
            document = {"folders": folders, "files": digests, "links": links}
            self._write(self._file(worktree.task_id, "output"), document)
        restored = (printable_path(path) for path in touched if path not in links)
        return SetupChanges(tuple(restored), tuple(map(printable_path, links)))

    def forget(self, task_id: str) -> None:
        for kind in ("", "output", "before"):
            delete_path(self._file(task_id, kind))

    def _read_status(self, worktree: Worktree) -> tuple[list[str], list[str]]:
        """The changed tracked files, and the untracked files and folders."""
        rows = self._git.read_names(*STATUS, "--untracked-files=normal", at=worktree.location)
        changed = [row[3:] for row in rows if not row.startswith(UNTRACKED)]
        return changed, [row[3:].rstrip("/") for row in rows if row.startswith(UNTRACKED)]

    def _read_links(self, worktree: Worktree, paths: list[str]) -> dict[str, str]:
        """The submodules among the paths, with the commits that are checked out in them."""
        if not (worktree.path / GITMODULES).is_file():
            return {}
        args = ("--literal-pathspecs", "ls-tree", "-z", "HEAD", "--", *paths)
        rows = self._git.read_names(*args, at=worktree.location) if paths else []
        links = (row.partition("\t")[2] for row in rows if row.startswith(GITLINK))
        heads = {path: read_submodule_head(worktree.path / path) for path in links}
        return {path: commit for path, commit in heads.items() if commit}

    def _restore(self, worktree: Worktree, paths: list[str]) -> None:
        if paths:
            names = b"".join(os.fsencode(path) + b"\0" for path in paths)
            options = ("-q", "--pathspec-from-file=-", "--pathspec-file-nul", "HEAD")
            args = ("--literal-pathspecs", "checkout", *options)
            self._git.run(*args, at=worktree.location, stdin=names)

    # -------------------------------------------------------------- afterwards

    def load(self, task_id: str) -> ExcludedPaths:
        """The paths that git does not ignore."""
        document = self._read(task_id, "output")
        if not document:
            return NOTHING_EXCLUDED
        # Records of earlier versions have no links.
        links = tuple(document.get("links", {}).items())
        return ExcludedPaths(frozenset(document["folders"]), frozenset(document["files"]), links)

    def load_untracked(self, task_id: str, commit: str) -> ExcludedPaths:
        """Without paths that this commit has: other work may have added them meanwhile."""
        made = self.load(task_id)
        if not made:
            return made
        tracked = self._git.read_names("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
        parents = {path[:at] for path in tracked for at in _slashes(path)}
        return ExcludedPaths(made.folders - parents, made.files.difference(tracked), made.links)

    def load_facts(self, task_id: str) -> Mapping[str, str]:
        return self._read(task_id)

    def is_clean(self, worktree: Worktree) -> bool:
        """True when the worktree is its HEAD and what set-up made."""
        return self.inspect(worktree).is_clean

    def inspect(self, worktree: Worktree, *, ignored: bool = False) -> WorktreeStatus:
        """With `ignored` also what git ignores, if set-up made nothing that is left out here."""
        made = self.load_untracked(worktree.task_id, worktree.head)
        mode = "--untracked-files=all" if made else "--untracked-files=normal"
        lists_ignored = ignored and not made
        options = ("--ignored=traditional",) if lists_ignored else ()
        rows = self._git.read_names(*STATUS, mode, *options, *made.pathspecs, at=worktree.location)
        links = dict(made.links)
        is_clean = all(
            row[3:] in made if row.startswith(UNTRACKED) else _is_at(worktree.path, row[3:], links)
            for row in rows
            if not row.startswith(IGNORED)
        )
        names = tuple(row[3:] for row in rows if row.startswith(IGNORED))
        return WorktreeStatus(is_clean, names if lists_ignored else None)

    def list_edited(self, worktree: Worktree) -> tuple[str, ...]:
        """Files of set-up that have another content, and sources put into its build folders."""
        document = self._read(worktree.task_id, "output")
        if not document or not worktree.is_usable:
            return ()
        made, top = self.load_untracked(worktree.task_id, worktree.head), worktree.path
        digests = {path: _digest(top / path) for path in made.files}
        edited = {path for path, now in digests.items() if now not in {"", document["files"][path]}}
        facts = self._read(worktree.task_id)
        below = islice(_files_below(top, made.folders), SEARCHED_MAX)
        edited |= {path for path in below if _is_edit(path, facts.get(path, ""), top / path)}
        return tuple(printable_path(path) for path in sorted(edited))

    def _read(self, task_id: str, kind: str = "") -> dict[str, Any]:
        file = self._file(task_id, kind)
        return dict(json.loads(file.read_bytes())) if file.is_file() else {}

    def _write(self, file: Path, document: object) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps(document).encode())

    def _file(self, task_id: str, kind: str = "") -> Path:
        return self._folder / f"{task_id}{'.' if kind else ''}{kind}.json"


def _is_at(top: Path, path: str, links: Mapping[str, str]) -> bool:
    """Is the submodule where set-up left it?"""
    return path in links and read_submodule_head(top / path) == links[path]


def read_facts(path: Path) -> str:
    """Changes with every write; empty for a missing file."""
    try:
        facts = path.lstat()
    except OSError:
        return ""
    return f"{facts.st_size} {facts.st_mtime_ns} {facts.st_ctime_ns} {facts.st_ino}"


def _classify(
    top: Path, roots: Collection[str], before: Collection[str]
) -> tuple[list[str], list[str]]:
    """Folders that belong to set-up with everything in them, and single files."""
    kept = {path[:at] for path in before for at in _slashes(path)}
    folders, files, pending = [], [], list(roots)
    while pending:
        path = pending.pop()
        is_folder = (top / path).is_dir() and not (top / path).is_symlink()
        if not is_folder:
            files += [path] if path not in before else []
        elif path not in kept and path not in before and _is_owned(top, path):
            folders.append(path)
        else:
            pending += [f"{path}/{entry.name}" for entry in os.scandir(top / path)]
    return sorted(folders), sorted(files)


def _is_owned(top: Path, path: str) -> bool:
    """Folders of tools, nested repositories, and downloads."""
    if is_generated(path.split("/")) or (top / path / ".git").exists():
        return True
    return len(list(islice(walk_tree(top, path), LOOSE_FILES_MAX + 1))) > LOOSE_FILES_MAX


def _is_edit(path: str, recorded: str, file: Path) -> bool:
    """Caches change whenever a program runs, and a new dependency is no source of the agent's."""
    *folders, name = path.split("/")
    if not is_source(name) or CACHES.intersection(folders):
        return False
    if not recorded:
        return not DEPENDENCIES.intersection(folders)
    # Without ctime and inode: package managers link files that other worktrees have as well.
    return recorded.split()[:2] != read_facts(file).split()[:2]


def _files_below(top: Path, folders: Collection[str]) -> Iterator[str]:
    for folder in folders:
        for entry in walk_tree(top, folder):
            if (top / entry.path).is_symlink() or (top / entry.path).is_file():
                yield entry.path


def _slashes(path: str) -> Iterator[int]:
    return (at for at, letter in enumerate(path) if letter == "/")


def _digest(file: Path) -> str:
    """A digest of the content and the mode; empty for a missing file."""
    try:
        facts = file.lstat()
        if file.is_symlink():
            return f"link {file.readlink()}"
        if facts.st_size > HASHED_BYTES_MAX:
            return f"{facts.st_size} {facts.st_mtime_ns}"
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return ""
    return f"{facts.st_mode & 0o111:o} {digest}"
