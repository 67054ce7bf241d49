"""The output of set-up in a room: recorded, and restored after a check changed it.

A signature reveals a changed file without reading it: every write changes the ctime, which no
ordinary program can set back.  The pristine copy is a real copy and no link, because a check may
write to a file in place.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from yaoki.adapters.system.bytecode import find_source, is_unchecked_file
from yaoki.adapters.system.files import write_atomically
from yaoki.adapters.system.folders import parent_folders, walk_folders
from yaoki.adapters.workspace.proof_rooms.output_copy import (
    OutputCopy,
    OutputNotCopied,
    OwnPaths,
    find_own_paths,
)
from yaoki.adapters.workspace.worktrees.worktree import delete_path

MANIFEST, PRISTINE, OWN_PATHS = "manifest.json", "pristine", "own-paths.json"
Signature = tuple[int, int, int, int, int]


class SetupOutput:
    """Everything in `files` besides the commit, with a pristine copy below `folder`."""

    def __init__(self, files: Path, folder: Path) -> None:
        self._files, self._folder = files, folder
        self._manifest: dict[str, Signature] = {}
        self._stored = True

    @property
    def paths(self) -> Collection[str]:
        return self._manifest.keys()

    def load(self) -> None:
        """Read what an earlier process recorded."""
        file = self._folder / MANIFEST
        stored: Mapping[str, list[int]] = json.loads(file.read_bytes()) if file.is_file() else {}
        self._manifest = {path: _parse_signature(value) for path, value in stored.items()}

    def record(self, tracked: Collection[str]) -> None:
        """Take a pristine copy of everything that is not tracked."""
        delete_path(self._folder / PRISTINE)
        self._delete_unchecked_bytecode(tracked)
        paths = [path for path in _walk(self._files) if path not in tracked]
        self._manifest = {}
        for path in paths:
            exists = _signature(self._files / path) is not None
            if exists and not self._is_parent_of_tracked(path, tracked):
                self._copy(self._files / path, self._folder / PRISTINE / path)
                self._add_to_manifest(path)
        self._record_own_paths()
        self.write_manifest()

    def _delete_unchecked_bytecode(self, tracked: Collection[str]) -> None:
        """Python would run it in place of the tracked source, whose next commit it hides."""
        for path in list(_walk(self._files)):
            is_hiding = path not in tracked and find_source(path) in tracked
            if is_hiding and is_unchecked_file(self._files / path):
                delete_path(self._files / path)

    def _record_own_paths(self) -> None:
        own = find_own_paths(self._folder / PRISTINE, self._manifest, self._files)
        document = {"texts": own.texts, "binaries": own.binaries}
        write_atomically(self._folder / OWN_PATHS, json.dumps(document).encode())

    def copy_to(self, target: Path, folders: Collection[str]) -> OutputCopy:
        """Copy the recorded output; `folders` are those that set-up must have filled."""
        self.load()
        names = {name for path in self._manifest for name in path.split("/")}
        if missing := sorted(set(folders) - names):
            raise OutputNotCopied(f"set-up made no {missing[0]}")
        if any(path.startswith(".git/") for path in self._manifest):
            raise OutputNotCopied("set-up made repositories of submodules")
        stored = json.loads((self._folder / OWN_PATHS).read_bytes())
        own = OwnPaths(tuple(stored["texts"]), tuple(stored["binaries"]))
        copy = OutputCopy(self._folder / PRISTINE, self._files, target)
        copy.copy(self._manifest, own)
        return copy

    def restore(self, tracked: Collection[str]) -> None:
        """Remove files that are neither tracked nor recorded, and restore those that differ."""
        folders = parent_folders(tracked)
        for path in sorted(_walk(self._files), key=len, reverse=True):
            if path not in tracked and path not in self._manifest and path not in folders:
                delete_path(self._files / path)
        for path in sorted(self._manifest, key=len):
            if path not in tracked and _signature(self._files / path) != self._manifest[path]:
                self._restore(path)

    def write_manifest(self) -> None:
        """Write the manifest, so that another process can use the room."""
        if self._manifest or (self._folder / MANIFEST).exists():
            write_atomically(self._folder / MANIFEST, json.dumps(self._manifest).encode())
        self._stored = True

    def close(self) -> None:
        """Write the signatures of restored files, which are new."""
        if not self._stored:
            self.write_manifest()

    def _is_parent_of_tracked(self, path: str, tracked: Collection[str]) -> bool:
        """A folder that contains tracked files is no output of set-up."""
        prefix = f"{path}/"
        return (self._files / path).is_dir() and any(name.startswith(prefix) for name in tracked)

    def _restore(self, path: str) -> None:
        target = self._files / path
        pristine = self._folder / PRISTINE / path
        if not (pristine.is_dir() and not pristine.is_symlink() and target.is_dir()):
            delete_path(target)
        self._copy(pristine, target)
        self._add_to_manifest(path)
        self._stored = False

    def _add_to_manifest(self, path: str) -> None:
        signature = _signature(self._files / path)
        assert signature is not None, f"{path} vanished while it was recorded"
        self._manifest[path] = signature

    @staticmethod
    def _copy(source: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink() or not source.is_dir():
            shutil.copy2(source, target, follow_symlinks=False)
        else:
            target.mkdir(exist_ok=True)
            shutil.copymode(source, target)


def _walk(top: Path) -> Iterator[str]:
    """Every file and folder below; of `.git` only the repositories of submodules."""
    for folder, folders, files in walk_folders(top):
        inside = os.path.relpath(folder, top)
        if inside == ".":
            folders[:] = [name for name in folders if name != ".git"]
            files = [name for name in files if name != ".git"]
        prefix = "" if inside == "." else f"{inside}/"
        yield from (f"{prefix}{name}" for name in (*folders, *files))
    for folder, folders, files in walk_folders(top / ".git" / "modules"):
        inside = os.path.relpath(folder, top)
        yield from (f"{inside}/{name}" for name in (*folders, *files))


def _signature(path: Path) -> Signature | None:
    """A folder only has its mode: its times change with its content."""
    try:
        facts = path.lstat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(facts.st_mode):
        return (facts.st_mode, 0, 0, 0, 0)
    times = (facts.st_mtime_ns, facts.st_ctime_ns)
    return (facts.st_mode, facts.st_size, *times, facts.st_ino)


def _parse_signature(value: list[int]) -> Signature:
    mode, size, written, changed, inode = value
    return (mode, size, written, changed, inode)
