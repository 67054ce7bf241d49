"""The rooms of one repository: each has a lock, is reused by its set-up key, removed by age."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from fnmatch import translate
from itertools import chain
from pathlib import Path

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.filters import Filters
from yaoki.adapters.git.repository import GitRepository
from yaoki.adapters.system.files import write_atomically
from yaoki.adapters.workspace.proof_rooms.built_output import BuiltOutput
from yaoki.adapters.workspace.proof_rooms.checkout import RoomCheckout
from yaoki.adapters.workspace.proof_rooms.room import GitProofRoom, fill_private_home
from yaoki.adapters.workspace.proof_rooms.source import RoomSource
from yaoki.adapters.workspace.worktrees.included_files import copy_included, find_included
from yaoki.adapters.workspace.worktrees.worktree import delete_path
from yaoki.core.commands.installers import list_installed_folders
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.scope import matches_glob
from yaoki.errors import WorkspaceError
from yaoki.ports import ProofRoom, SetupCopy

ROOMS_MAX = 64
# Files that decide what package managers install, in any folder.
INPUTS = (
    *("package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", ".npmrc"),
    *("pnpm-workspace.yaml", "bun.lockb", "pyproject.toml", "setup.py", "setup.cfg", "*.lock"),
    *("requirements*.txt", "constraints*.txt", "Pipfile", "environment.y*ml", ".python-version"),
    *("Cargo.toml", "go.mod", "go.sum", "Gemfile", "*.gemspec", "composer.json", "mix.exs"),
    *("pom.xml", "build.gradle*", "settings.gradle*", "gradle.properties", "*.csproj", "*.sln"),
    *("packages.config", ".tool-versions", ".nvmrc", ".gitmodules", "rust-toolchain*"),
    *("Makefile", "GNUmakefile", "makefile", "justfile", "*.whl"),
)
_INPUT_NAME = lazy_compile("|".join(translate(name) for name in INPUTS))
KEYS_MAX = 64
# Part of the key.  Rooms of version 1 were set up on commits that never landed; those of version 2
# do not know which files contain the path of the room, and those of versions 3 and 4 may have
# output that was built from sources of another commit.  For those up to version 6, a release that a
# project has of itself counted as built.
VERSION = 7
KEY_CHARS = 64
SUBMODULE_MODE = "160000 "
BUILDS = "builds-"


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The files that set-up with one key reads: tracked `files`, and those `copied` to the room.

    `has_all`: the plan lists what else it reads.  `blobs` names the content of each file as well.
    `only_installs`: set-up is one run each of different package managers.
    """

    blobs: frozenset[str]
    files: frozenset[str]
    copied: frozenset[str]
    has_all: bool
    only_installs: bool


class GitProofRooms:
    """`ports.ProofRooms` below `root`; all processes on this machine share the rooms."""

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
        self._trees: dict[str, str] = {}
        self._inputs: dict[str, _Inputs] = {}
        # They keep what they know of the settings and the index, which costs a git process each.
        self._checkouts: dict[Path, RoomCheckout] = {}

    def key(self, commit: str, setup: Sequence[Sequence[str]], inputs: Sequence[str]) -> str:
        """All commits have the same key if there are no set-up commands and no copied files.

        Once set-up is known to build from the sources, each tree has a key of its own.
        """
        copied = self._list_copied()
        if not setup and not copied:
            return "plain"
        arguments = (commit, tuple(map(tuple, setup)), tuple(inputs), copied)
        if arguments not in self._keys:
            if len(self._keys) >= KEYS_MAX:
                self._keys.clear()
            self._keys[arguments] = self._hash(*arguments)
        key = self._keys[arguments]
        return self._key_of_tree(key, commit) if self._builds(key).exists() else key

    def describe_difference(
        self, commit: str, onto: str, setup: Sequence[Sequence[str]], inputs: Sequence[str]
    ) -> str:
        copied = self._list_copied()
        words = tuple(map(tuple, setup))
        one, other = (self._hash(which, words, tuple(inputs), copied) for which in (commit, onto))
        if one == other:
            file = self._builds(one)
            return file.read_text("utf-8", "surrogateescape") if file.exists() else ""
        if not setup:
            return ""
        changed = self._inputs[one].blobs ^ self._inputs[other].blobs
        names = sorted({row.partition("\t")[2] for row in changed})
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return f"set-up reads {names[0]}{more}, which changed" if names else ""

    def _key_of_tree(self, key: str, commit: str) -> str:
        if commit not in self._trees:
            if len(self._trees) >= KEYS_MAX:
                self._trees.clear()
            self._trees[commit] = self._git.read_text("rev-parse", f"{commit}^{{tree}}")
        return hashlib.sha256(f"{key} {self._trees[commit]}".encode()).hexdigest()

    def _builds(self, key: str) -> Path:
        """Exists if set-up with these inputs builds from the sources of its commit; says why."""
        return self._root / f"{BUILDS}{key[:16]}"

    def _key_of_output(
        self,
        key: str,
        commit: str,
        files: Path,
        tracked: Collection[str],
        output: Collection[str],
    ) -> str:
        """Learn from set-up in a shared room: its commit has landed, so no agent forged it."""
        base, more = key[:KEY_CHARS], key[KEY_CHARS:]
        if base not in self._inputs or commit in more:
            return key
        known = self._inputs[base]
        built = BuiltOutput(files, tracked, known.files, known.has_all, known.only_installs)
        found = built.find_among(sorted(frozenset(output) - known.copied))
        if not found:
            return key
        words = f"set-up output contains {found}"
        write_atomically(self._builds(base), words.encode("utf-8", "surrogateescape"))
        return self._key_of_tree(base, commit) + more

    def _hash(
        self,
        commit: str,
        setup: tuple[tuple[str, ...], ...],
        inputs: tuple[str, ...],
        copied: tuple[tuple[str, int, int], ...],
    ) -> str:
        rows = self._git.read_names("ls-tree", "-r", "-z", commit)
        named = {word.removeprefix("./") for argv in setup for word in argv}
        mentioned = {word.removeprefix("./") for argv in setup for word in _words(argv)}
        # A submodule may point at a commit that only the agent's worktree has; for that one
        # set-up could not run.
        files = [
            row
            for row in rows
            if _is_input(
                row.partition("\t")[2],
                named if row.startswith(SUBMODULE_MODE) else mentioned,
                inputs,
            )
        ]
        tools = [_identify_tool(argv[0]) for argv in setup if argv]
        facts = (VERSION, setup, files, copied, platform.platform(), tools)
        key = hashlib.sha256(json.dumps(facts).encode("utf-8", "surrogateescape")).hexdigest()
        if setup:
            paths = frozenset(row.partition("\t")[2] for row in files)
            own = frozenset(name for name, *_ in copied)
            self._inputs[key] = _Inputs(
                frozenset(files), paths, own, bool(inputs), _only_installs(setup)
            )
        return key

    def _list_copied(self) -> tuple[tuple[str, int, int], ...]:
        """The files of `.worktreeinclude`, with size and time."""
        names = find_included(self._git, self._repository) if self._include else []
        facts = ((name, (self._repository.top / name).lstat()) for name in names)
        return tuple((name, fact.st_size, fact.st_mtime_ns) for name, fact in facts)

    @contextmanager
    def acquire(self, key: str, *, fresh: bool = False) -> Iterator[ProofRoom]:
        folder, lock = self._lock_room(key)
        try:
            room = self._room(folder, key)
            if fresh:
                room.forget_setup()
            yield room
            room.close()
        finally:
            os.close(lock)

    def copy_setup_output(self, key: str, target: Path, folders: Collection[str]) -> SetupCopy:
        result = SetupCopy.ABSENT
        for room in (self._room(folder, key) for folder in self._folders()):
            copied = room.copy_output(target, folders) if room.is_ready else SetupCopy.ABSENT
            if copied is SetupCopy.COPIED:
                return copied
            result = copied if copied is SetupCopy.UNUSABLE else result
        return result

    @contextmanager
    def lock_setup(self, key: str) -> Iterator[bool]:
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = _try_lock(self._root / f"setup-{key[:16]}")
        try:
            yield lock is not None
        finally:
            if lock is not None:
                os.close(lock)

    def _room(self, folder: Path, key: str) -> GitProofRoom:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        checkout = self._checkouts.setdefault(folder, self._checkout(folder))
        return GitProofRoom(
            folder, checkout, key, self._fill_home, self._copy_included, self._key_of_output
        )

    def _checkout(self, folder: Path) -> RoomCheckout:
        files = folder / "tree" / self._source.name
        return RoomCheckout(self._source, files, folder / "git", self._filters)

    def _fill_home(self, home: Path) -> None:
        fill_private_home(home, self._real_home, self._git.identity)

    def _lock_room(self, key: str) -> tuple[Path, int]:
        """Lock a room with this key, else a new room, else the least recently used one."""
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        rooms = self._folders()
        matching = [folder for folder in rooms if self._room(folder, key).is_ready]
        candidates = (self._root / f"{n}" for n in range(1, ROOMS_MAX + 1))
        new = (folder for folder in candidates if folder not in rooms)
        oldest = sorted(rooms, key=lambda folder: folder.stat().st_mtime)
        for folder in chain(matching, new, oldest):
            if (lock := _try_lock(folder)) is not None:
                return folder, lock
        raise WorkspaceError(f"all {ROOMS_MAX} proof rooms are in use", hint="yaoki status --all")

    def _folders(self) -> list[Path]:
        entries = self._root.iterdir() if self._root.is_dir() else ()
        return sorted((p for p in entries if p.name.isdecimal()), key=lambda p: int(p.name))

    def _copy_included(self, files: Path) -> None:
        """Copy the files of `.worktreeinclude`, as into every worktree."""
        if self._include:
            copy_included(self._git, self._repository, files)

    def remove_unused(self, since: datetime) -> int:
        """Remove rooms that were not used since then; returns their number."""
        removed = 0
        for folder in self._folders():
            if folder.stat().st_mtime >= since.timestamp() or (lock := _try_lock(folder)) is None:
                continue
            try:
                delete_path(folder)
                removed += 1
            finally:
                os.close(lock)
        self._remove_setup_locks(since)
        return removed

    def _remove_setup_locks(self, since: datetime) -> None:
        for file in chain(self._root.glob("setup-*.lock"), self._root.glob(f"{BUILDS}*")):
            if file.stat().st_mtime < since.timestamp():
                file.unlink(missing_ok=True)


def _try_lock(folder: Path) -> int | None:
    descriptor = os.open(folder.with_name(f"{folder.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor
    os.close(descriptor)
    return None


def _is_input(path: str, mentioned: set[str], globs: Sequence[str]) -> bool:
    known = path in mentioned or _INPUT_NAME.fullmatch(path.rpartition("/")[2])
    return bool(known) or any(matches_glob(path, glob) for glob in globs)


def _only_installs(setup: Sequence[Sequence[str]]) -> bool:
    """Another command may copy sources into a package before a package manager runs again."""
    programs = {argv[0] for argv in setup if argv}
    return len(programs) == len(setup) and bool(list_installed_folders(setup))


def _words(argv: Sequence[str]) -> Iterator[str]:
    """Also those of a script in one argument: sh -c "cp a.py lib"."""
    for argument in argv:
        yield from (argument, *re.split(r"[\s;&|<>()'\"`]+", argument))


def _identify_tool(program: str) -> tuple[str, int, int]:
    """The file of a set-up program: another version is another file."""
    file = shutil.which(program)
    if file is None:
        return (program, 0, 0)
    facts = Path(file).resolve().stat()
    return (str(Path(file).resolve()), facts.st_size, facts.st_mtime_ns)
