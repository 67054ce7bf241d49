"""Size limits of a change, checked on the files before git reads any of them.

An agent may leave a sparse file of terabytes, a million files, or folders too deep for any path.
The usual check costs one listing and the size of each file; a small folder is looked at without
git.  Ignore rules are only evaluated when
a limit is exceeded.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path

from yaoki.adapters.git.command import Git, GitLocation
from yaoki.adapters.git.excluded_paths import NOTHING_EXCLUDED, ExcludedPaths
from yaoki.adapters.system.folders import FolderEntry, list_small_folder, walk_tree
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import format_bytes, short_path

LISTING = ("ls-files", "-z", "-t", "-c", "-o", "--exclude-standard", "--directory")
UNTRACKED_TAG = "?"
# Only tracked files larger than this are compared with the base.
LARGE_BYTES = 1 << 16
# Looking at so many files takes less time than one process of git.
SMALL_ENTRIES_MAX = 200
NAMED_MAX = 5
NAMES_AT_ONCE = 10_000


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
    """The changes that may be added: everything, or only `within_bounds` when there is any
    `excess`.

    `excess` are sentences with the file, its size and the setting.  `unchanged` are files above
    the limit that the base has in the same size: only their content tells whether they changed.
    """

    excess: tuple[str, ...] = ()
    within_bounds: tuple[str, ...] = ()
    unchanged: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Measured:
    files: dict[str, int] = field(default_factory=dict)
    deep: list[str] = field(default_factory=list)
    # Counting stops at the limit; there are more files.
    more: bool = False


class SizeSurveyor:
    """Measures worktrees against the bounds."""

    def __init__(self, git: Git, bounds: SizeBounds) -> None:
        self._git, self.bounds = git, bounds

    def survey(
        self, at: GitLocation, base: str = "", excluded: ExcludedPaths = NOTHING_EXCLUDED
    ) -> Survey:
        """Measure the files at this location; its index contains the tracked ones."""
        assert at.work_tree
        if self._is_small(at.work_tree):
            return Survey()
        rows = self._git.read_names(*LISTING, at=at)
        tracked = [row[2:] for row in rows if not row.startswith(UNTRACKED_TAG)]
        others = [row[2:].rstrip("/") for row in rows if row.startswith(UNTRACKED_TAG)]
        sizes = {name: size for name in tracked if (size := _size(at.work_tree, name)) is not None}
        large = {name: size for name, size in sizes.items() if size > LARGE_BYTES}
        others = [name for name in others if name not in excluded]
        measured = self._measure_all(at.work_tree, others, excluded)
        if not self._may_exceed(measured, large):
            return Survey()
        same = self._same_size_as_base(base, large)
        changed = {name: size for name, size in large.items() if name not in same}
        if measured.deep or measured.more or measured.files:
            measured = self._measure_unignored(at, others, excluded)
        unchanged = frozenset(name for name in same if sizes[name] > self.bounds.file_bytes)
        excess, left_out = self._find_excess(measured, changed)
        if not excess:
            return Survey(unchanged=unchanged)
        names = (name for name in (*tracked, *measured.files) if name not in left_out)
        addable = tuple(name for name in names if _is_addable(at.work_tree, name))
        return Survey(excess, addable, unchanged)

    def describe_too_large(self, path: str, top: Path) -> str:
        return self._describe_large(path, _size(top, path) or 0)

    def _is_small(self, top: Path) -> bool:
        """True when all files together exceed no limit, so that no change can; without git."""
        entries = list_small_folder(top, SMALL_ENTRIES_MAX, self.bounds.path_depth)
        if entries is None:
            return False
        measured = _Measured()
        for entry in entries:
            _add_entry(measured, entry)
        large = any(size > LARGE_BYTES for size in measured.files.values())
        return not large and not self._may_exceed(measured, {})

    def _may_exceed(self, measured: _Measured, large: dict[str, int]) -> bool:
        """True when a limit may be exceeded; ignored and unchanged files are counted as well."""
        sizes = (*measured.files.values(), *large.values())
        return (
            bool(measured.deep)
            or measured.more
            or len(measured.files) > self.bounds.change_files
            or sum(sizes) > self.bounds.change_bytes
            or max(sizes, default=0) > self.bounds.file_bytes
        )

    def _measure_all(self, top: Path, names: Iterable[str], excluded: ExcludedPaths) -> _Measured:
        measured = _Measured()
        for name in names:
            for entry in walk_tree(top, name, self.bounds.path_depth, skip=(".git",)):
                if entry.path not in excluded:
                    _add_entry(measured, entry)
                if len(measured.files) > self.bounds.change_files or measured.deep:
                    measured.more = True
                    return measured
        return measured

    def _measure_unignored(
        self, at: GitLocation, names: Sequence[str], excluded: ExcludedPaths
    ) -> _Measured:
        """Level by level, without ignored files, and no further than the limits."""
        assert at.work_tree
        measured, level = _Measured(), list(names)
        while level and not measured.more:
            entries = [
                entry
                for part in _chunks(level)
                for entry in self._not_ignored(
                    at, [_read_entry(at.work_tree, name) for name in part]
                )
            ]
            level = []
            for entry in entries:
                deep = entry.path.count("/") >= self.bounds.path_depth
                _add_entry(
                    measured, FolderEntry(entry.path, entry.mode, entry.size, is_too_deep=deep)
                )
                if stat.S_ISDIR(entry.mode) and not deep:
                    inner = _list_folder(at.work_tree, entry.path)
                    level.extend(path for path in inner if path not in excluded)
                measured.more = len(measured.files) > self.bounds.change_files
                if measured.more or len(level) > 4 * self.bounds.change_files + NAMES_AT_ONCE:
                    measured.more = True
                    break
        return measured

    def _not_ignored(self, at: GitLocation, entries: Sequence[FolderEntry]) -> list[FolderEntry]:
        names = b"".join(os.fsencode(entry.path) + b"\0" for entry in entries)
        args = ("check-ignore", "-z", "--stdin")
        out = self._git.run(*args, at=at, stdin=names, ok=(0, 1)).out
        ignored = {os.fsdecode(name) for name in out.split(b"\0") if name}
        return [entry for entry in entries if entry.path not in ignored]

    def _same_size_as_base(self, base: str, large: dict[str, int]) -> frozenset[str]:
        """Files that the base has in the same size: the agent may not have touched them."""
        # A name with a newline would be two queries to git.
        names = [name for name in large if "\n" not in name] if base else []
        blobs = self._git.look_up(*(f"{base}:{name}" for name in names)) if names else []
        pairs = zip(names, blobs, strict=True)
        return frozenset(name for name, blob in pairs if blob and blob.size == large[name])

    def _find_excess(
        self, measured: _Measured, changed: dict[str, int]
    ) -> tuple[tuple[str, ...], set[str]]:
        bounds = self.bounds
        files = {**changed, **measured.files}
        sentences = [
            f"{short_path(path)}/ is deeper than limits.path_depth = {bounds.path_depth}"
            for path in measured.deep[:NAMED_MAX]
        ]
        large = {name for name, size in files.items() if size > bounds.file_bytes}
        sentences += [self._describe_large(name, files[name]) for name in sorted(large)[:NAMED_MAX]]
        rest = sorted((size, name) for name, size in files.items() if name not in large)
        total, remaining = sum(size for size, _ in rest), bounds.change_bytes
        surplus = set[str]()
        for n, (size, name) in enumerate(rest):
            remaining -= size
            if remaining < 0 or n >= bounds.change_files:
                surplus.add(name)
        if total > bounds.change_bytes:
            largest = sorted(surplus, key=lambda name: -files[name])[:3]
            listing = ", ".join(
                f"{short_path(name)} ({format_bytes(files[name])})" for name in largest
            )
            words, limit = _distinct_sizes(total, bounds.change_bytes)
            sentences.append(
                f"the change has {words}; limits.change_bytes allows {limit}; "
                f"the largest: {listing}"
            )
        if measured.more or len(rest) > bounds.change_files:
            folders = sorted({short_path(name.partition("/")[0]) for name in measured.files})
            sentences.append(
                f"the change has more files than limits.change_files = {bounds.change_files}; "
                f"see {', '.join(folders[:3])}"
            )
        return tuple(sentences), large | surplus

    def _describe_large(self, path: str, size: int) -> str:
        words, limit = _distinct_sizes(size, self.bounds.file_bytes)
        return f"{short_path(path)} has {words}; limits.file_bytes allows {limit}"


def _distinct_sizes(size: int, limit: int) -> tuple[str, str]:
    """Both in the unit that people read, or exactly where that would look the same."""
    words = format_bytes(size), format_bytes(limit)
    return words if words[0] != words[1] else (f"{size:,} bytes", f"{limit:,} bytes")


def _add_entry(measured: _Measured, entry: FolderEntry) -> None:
    if entry.is_too_deep:
        measured.deep.append(entry.path)
    elif stat.S_ISREG(entry.mode) or stat.S_ISLNK(entry.mode):
        measured.files[entry.path] = entry.size


def _chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    return (names[n : n + NAMES_AT_ONCE] for n in range(0, len(names), NAMES_AT_ONCE))


def _list_folder(top: Path, name: str) -> list[str]:
    try:
        with os.scandir(top / name) as entries:
            return [f"{name}/{entry.name}" for entry in entries if entry.name != ".git"]
    except OSError:
        # Missing or inaccessible: git reports it later.
        return []


def _read_entry(top: Path, name: str) -> FolderEntry:
    try:
        facts = os.lstat(top / name)
    except OSError:
        return FolderEntry(name, 0, 0)
    return FolderEntry(name, facts.st_mode, facts.st_size)


def _size(top: Path, name: str) -> int | None:
    """The size of a regular file; None for anything else."""
    try:
        facts = os.lstat(os.path.join(top, name))  # noqa: PTH118  a hundred thousand of them
    except OSError:
        return None
    return facts.st_size if stat.S_ISREG(facts.st_mode) else None


def _is_addable(top: Path, name: str) -> bool:
    """True for a file, a link, or a missing path; git fails on anything else."""
    try:
        mode = os.lstat(top / name).st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)
