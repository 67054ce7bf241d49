"""The rooms of one repository: held by a lock each, reused by their set-up key, removed by age."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from fnmatch import translate
from pathlib import Path

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.filters import Filters
from yaoki.adapters.git.repository import GitRepository
from yaoki.adapters.workspace.proof_rooms.private_home import fill_home
from yaoki.adapters.workspace.proof_rooms.room import GitProofRoom
from yaoki.adapters.workspace.proof_rooms.source import RoomSource
from yaoki.adapters.workspace.worktrees.included_files import copy_included, find_included
from yaoki.adapters.workspace.worktrees.worktree import delete_path
from yaoki.core.scope import matches_glob
from yaoki.errors import WorkspaceError
from yaoki.ports import ProofRoom

ROOMS_MAX = 64
# Files by which package managers decide what to install, in whatever folder.
INPUTS = (
    *("package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", ".npmrc"),
    *("pnpm-workspace.yaml", "bun.lockb", "pyproject.toml", "setup.py", "setup.cfg", "*.lock"),
    *("requirements*.txt", "constraints*.txt", "Pipfile", "environment.y*ml", ".python-version"),
    *("Cargo.toml", "go.mod", "go.sum", "Gemfile", "*.gemspec", "composer.json", "mix.exs"),
    *("pom.xml", "build.gradle*", "settings.gradle*", "gradle.properties", "*.csproj", "*.sln"),
    *("packages.config", ".tool-versions", ".nvmrc", ".gitmodules", "rust-toolchain*"),
    *("Makefile", "GNUmakefile", "makefile", "justfile"),
)
_INPUTS = re.compile("|".join(translate(name) for name in INPUTS))
KEYS_MAX = 64
# Rooms of another form were set up on commits that never landed.
FORM = 2


class GitProofRooms:
    """`ports.ProofRooms` below `root`; every process on this machine may use the same ones."""

    def __init__(
        self,
        repository: GitRepository,
        root: Path,
        *,
        real_home: Path,
        include: bool = True,
        filters: Filters | None = None,
    ) -> None:
        self._git = Git(repository.common_dir)
        self._source, self._root = RoomSource(self._git, repository), root
        self._repository, self._real_home, self._include = repository, real_home, include
        self._filters = filters or Filters()
        self._keys: dict[tuple[object, ...], str] = {}

    def key(self, commit: str, setup: Sequence[Sequence[str]], inputs: Sequence[str]) -> str:
        """Without set-up commands and copied files every commit has the same key."""
        copied = self._copied()
        if not setup and not copied:
            return "plain"
        asked = (commit, tuple(map(tuple, setup)), tuple(inputs), copied)
        if asked not in self._keys:
            if len(self._keys) >= KEYS_MAX:
                self._keys.clear()
            self._keys[asked] = self._hashed(*asked)
        return self._keys[asked]

    def _hashed(
        self,
        commit: str,
        setup: tuple[tuple[str, ...], ...],
        inputs: tuple[str, ...],
        copied: tuple[tuple[str, int, int], ...],
    ) -> str:
        rows = self._git.read_names("ls-tree", "-r", "-z", commit)
        named = {word.removeprefix("./") for argv in setup for word in argv}
        read = [row for row in rows if _is_input(row.partition("\t")[2], named, inputs)]
        tools = [_tool(argv[0]) for argv in setup if argv]
        facts = (FORM, setup, read, copied, platform.platform(), tools)
        return hashlib.sha256(json.dumps(facts).encode("utf-8", "surrogateescape")).hexdigest()

    def _copied(self) -> tuple[tuple[str, int, int], ...]:
        """What `.worktreeinclude` brings into every worktree, with a sign of its content."""
        names = find_included(self._git, self._repository) if self._include else []
        facts = ((name, (self._repository.top / name).lstat()) for name in names)
        return tuple((name, fact.st_size, fact.st_mtime_ns) for name, fact in facts)

    @contextmanager
    def acquire(self, key: str, *, fresh: bool = False) -> Iterator[ProofRoom]:
        folder, held = self._held(key)
        try:
            room = self._room(folder, key)
            if fresh:
                room.forget_setup()
            yield room
            room.close()
        finally:
            os.close(held)

    def _room(self, folder: Path, key: str) -> GitProofRoom:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return GitProofRoom(folder, self._source, key, self._furnish, self._bring, self._filters)

    def _furnish(self, home: Path) -> None:
        fill_home(home, self._real_home, self._git.identity)

    def _held(self, key: str) -> tuple[Path, int]:
        """The lock of a room that fits, else of a new one, else of the one unused the longest."""
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        rooms = self._folders()
        fitting = [folder for folder in rooms if self._room(folder, key).key == key]
        free = (self._root / f"{n}" for n in range(1, ROOMS_MAX + 1))
        new = [folder for folder in free if folder not in rooms]
        oldest = sorted(rooms, key=lambda folder: folder.stat().st_mtime)
        for folder in (*fitting, *new, *oldest):
            if (held := _lock(folder)) is not None:
                return folder, held
        raise WorkspaceError(f"all {ROOMS_MAX} proof rooms are in use", hint="yaoki status --all")

    def _folders(self) -> list[Path]:
        found = self._root.iterdir() if self._root.is_dir() else ()
        return sorted((p for p in found if p.name.isdecimal()), key=lambda p: int(p.name))

    def _bring(self, files: Path) -> None:
        """Copy what `.worktreeinclude` names, as into every worktree."""
        if self._include:
            copy_included(self._git, self._repository, files)

    def remove_unused(self, since: datetime) -> int:
        """Remove rooms that nobody has used since then; returns how many."""
        removed = 0
        for folder in self._folders():
            if folder.stat().st_mtime >= since.timestamp() or (held := _lock(folder)) is None:
                continue
            try:
                delete_path(folder)
                removed += 1
            finally:
                os.close(held)
        return removed


def _lock(folder: Path) -> int | None:
    held = os.open(folder.with_name(f"{folder.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    with suppress(BlockingIOError):
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return held
    os.close(held)
    return None


def _is_input(path: str, named: set[str], globs: Sequence[str]) -> bool:
    known = path in named or _INPUTS.fullmatch(path.rpartition("/")[2])
    return bool(known) or any(matches_glob(path, glob) for glob in globs)


def _tool(program: str) -> tuple[str, int, int]:
    """Which program a set-up command starts: another version is another file."""
    found = shutil.which(program)
    if found is None:
        return (program, 0, 0)
    facts = Path(found).resolve().stat()
    return (str(Path(found).resolve()), facts.st_size, facts.st_mtime_ns)
