"""Bounds on a change, held against the files themselves before git reads any of them.

An agent may leave a file of terabytes that takes no room, a million files, or folders so deep that
no path names them.  The usual look costs one listing and the size of each file.  Only when that
exceeds a bound is every ignore rule asked.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from yaoki.adapters.git.command import Git, GitLocation
from yaoki.adapters.system.folders import FolderEntry, walk_tree
from yaoki.core.text import short_path

LISTING = ("ls-files", "-z", "-t", "-c", "-o", "--exclude-standard", "--directory")
OTHER = "?"
# Of tracked files only larger ones are compared with the base: the rest is small change.
LARGE_BYTES = 1 << 16
NAMED_MAX = 5
ASKED_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class SizeBounds:
    """The settings `limits.*` of these names."""

    file_bytes: int = 512 << 20
    change_bytes: int = 1 << 30
    change_files: int = 100_000
    path_depth: int = 200


DEFAULT_BOUNDS = SizeBounds()


@dataclass(frozen=True, slots=True)
class Survey:
    """What may be added: everything, or only `listed` when there is any `excess`.

    `excess` are sentences, each with what, how much, and the setting.  `unchanged` are files above
    the bound that the base has in the same size: only reading them tells whether they changed.
    """

    excess: tuple[str, ...] = ()
    within_bounds: tuple[str, ...] = ()
    unchanged: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Found:
    files: dict[str, int] = field(default_factory=dict)
    deep: list[str] = field(default_factory=list)
    # Told apart: nobody counts further than the bound.
    more: bool = False


class SizeSurveyor:
    """Measures worktrees against the bounds."""

    def __init__(self, git: Git, bounds: SizeBounds) -> None:
        self._git, self.bounds = git, bounds

    def survey(self, at: GitLocation, base: str = "") -> Survey:
        """The files at this site, whose index is filled with what counts as tracked."""
        assert at.work_tree
        rows = self._git.read_names(*LISTING, at=at)
        tracked = [row[2:] for row in rows if not row.startswith(OTHER)]
        others = [row[2:].rstrip("/") for row in rows if row.startswith(OTHER)]
        sizes = {name: size for name in tracked if (size := _size(at.work_tree, name)) is not None}
        large = {name: size for name, size in sizes.items() if size > LARGE_BYTES}
        found = self._below(at.work_tree, others)
        if not self._exceeds(found, large):
            return Survey()
        same = self._same(base, large)
        changed = {name: size for name, size in large.items() if name not in same}
        if found.deep or found.more or found.files:
            found = self._exact(at, others)
        over = frozenset(name for name in same if sizes[name] > self.bounds.file_bytes)
        excess, left_out = self._excess(found, changed)
        if not excess:
            return Survey(unchanged=over)
        kept = (*tracked, *found.files)
        listed = (name for name in kept if name not in left_out and _addable(at.work_tree, name))
        return Survey(excess, tuple(listed), over)

    def describe_too_large(self, path: str, top: Path) -> str:
        """The sentence for a file that is above the bound."""
        return self._large(path, _size(top, path) or 0)

    def _exceeds(self, found: _Found, large: dict[str, int]) -> bool:
        """May a bound be exceeded?  Ignored and unchanged files are counted as well."""
        sizes = (*found.files.values(), *large.values())
        return (
            bool(found.deep)
            or found.more
            or len(found.files) > self.bounds.change_files
            or sum(sizes) > self.bounds.change_bytes
            or max(sizes, default=0) > self.bounds.file_bytes
        )

    def _below(self, top: Path, names: Iterable[str]) -> _Found:
        found = _Found()
        for name in names:
            for entry in walk_tree(top, name, self.bounds.path_depth, skip=(".git",)):
                _note(found, entry)
                if len(found.files) > self.bounds.change_files or found.deep:
                    found.more = True
                    return found
        return found

    def _exact(self, at: GitLocation, names: Sequence[str]) -> _Found:
        """Level by level, without what git ignores, and no further than the bounds."""
        assert at.work_tree
        found, level = _Found(), list(names)
        while level and not found.more:
            entries = [
                entry
                for part in _parts(level)
                for entry in self._not_ignored(at, [_entry(at.work_tree, name) for name in part])
            ]
            level = []
            for entry in entries:
                deep = entry.path.count("/") >= self.bounds.path_depth
                _note(found, FolderEntry(entry.path, entry.mode, entry.size, is_too_deep=deep))
                if stat.S_ISDIR(entry.mode) and not deep:
                    level.extend(_inside(at.work_tree, entry.path))
                found.more = len(found.files) > self.bounds.change_files
                if found.more or len(level) > 4 * self.bounds.change_files + ASKED_AT_ONCE:
                    found.more = True
                    break
        return found

    def _not_ignored(self, at: GitLocation, entries: Sequence[FolderEntry]) -> list[FolderEntry]:
        given = b"".join(os.fsencode(entry.path) + b"\0" for entry in entries)
        asked = ("check-ignore", "-z", "--stdin")
        out = self._git.run(*asked, at=at, stdin=given, ok=(0, 1)).out
        ignored = {os.fsdecode(name) for name in out.split(b"\0") if name}
        return [entry for entry in entries if entry.path not in ignored]

    def _same(self, base: str, large: dict[str, int]) -> frozenset[str]:
        """Files that the base has in the same size: these the agent need not have touched."""
        # A name with a newline is two questions to git.
        names = [name for name in large if "\n" not in name] if base else []
        held = self._git.look_up(*(f"{base}:{name}" for name in names)) if names else []
        pairs = zip(names, held, strict=True)
        return frozenset(name for name, one in pairs if one and one.size == large[name])

    def _excess(self, found: _Found, changed: dict[str, int]) -> tuple[tuple[str, ...], set[str]]:
        bounds = self.bounds
        files = {**changed, **found.files}
        words = [
            f"{short_path(path)}/ is deeper than limits.path_depth = {bounds.path_depth}"
            for path in found.deep[:NAMED_MAX]
        ]
        large = {name for name, size in files.items() if size > bounds.file_bytes}
        words += [self._large(name, files[name]) for name in sorted(large)[:NAMED_MAX]]
        rest = sorted((size, name) for name, size in files.items() if name not in large)
        total, room, many = sum(size for size, _ in rest), bounds.change_bytes, set[str]()
        for n, (size, name) in enumerate(rest):
            room -= size
            if room < 0 or n >= bounds.change_files:
                many.add(name)
        if total > bounds.change_bytes:
            most = sorted(many, key=lambda name: -files[name])[:3]
            named = ", ".join(f"{short_path(name)} ({files[name]} bytes)" for name in most)
            words.append(
                f"the change has {total} bytes, more than limits.change_bytes = "
                f"{bounds.change_bytes}; the largest: {named}"
            )
        if found.more or len(rest) > bounds.change_files:
            folders = sorted({short_path(name.partition("/")[0]) for name in found.files})
            words.append(
                f"the change has more files than limits.change_files = {bounds.change_files}; "
                f"see {', '.join(folders[:3])}"
            )
        return tuple(words), large | many

    def _large(self, path: str, size: int) -> str:
        most = self.bounds.file_bytes
        return f"{short_path(path)} has {size} bytes, more than limits.file_bytes = {most}"


def _note(found: _Found, entry: FolderEntry) -> None:
    if entry.is_too_deep:
        found.deep.append(entry.path)
    elif stat.S_ISREG(entry.mode) or stat.S_ISLNK(entry.mode):
        found.files[entry.path] = entry.size


def _parts(names: Sequence[str]) -> Iterator[Sequence[str]]:
    return (names[n : n + ASKED_AT_ONCE] for n in range(0, len(names), ASKED_AT_ONCE))


def _inside(top: Path, name: str) -> list[str]:
    try:
        with os.scandir(top / name) as held:
            return [f"{name}/{entry.name}" for entry in held if entry.name != ".git"]
    except OSError:
        # Gone, or closed to us: git says so when it comes there.
        return []


def _entry(top: Path, name: str) -> FolderEntry:
    try:
        facts = os.lstat(top / name)
    except OSError:
        return FolderEntry(name, 0, 0)
    return FolderEntry(name, facts.st_mode, facts.st_size)


def _size(top: Path, name: str) -> int | None:
    """Of a plain file; None for anything else."""
    try:
        facts = os.lstat(os.path.join(top, name))  # noqa: PTH118  a hundred thousand of them
    except OSError:
        return None
    return facts.st_size if stat.S_ISREG(facts.st_mode) else None


def _addable(top: Path, name: str) -> bool:
    """A file, a link, or one that is gone; git stops at anything else."""
    try:
        mode = os.lstat(top / name).st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)
