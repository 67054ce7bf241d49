"""Files that checks and agents leave in a worktree, and hashes of what checks must not change."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path

from yaoki.adapters.git.command import Git, GitLocation
from yaoki.adapters.git.size_bounds import SMALL_ENTRIES_MAX
from yaoki.adapters.git.tree_diff import printable_path
from yaoki.adapters.system.folders import DEPTH_MAX, list_small_folder, walk_tree
from yaoki.adapters.workspace.worktrees.generated_folders import (
    CACHES,
    is_generated,
    is_source,
)
from yaoki.adapters.workspace.worktrees.worktree import Worktree
from yaoki.ports import WORKTREE_LINK, IgnoredFile

# `--directory` lists a folder once, empty or not; its content is listed separately.
OTHERS = ("ls-files", "--others", "--exclude-standard", "--directory", "-z")
OWN_BRANCHES = "refs/heads/yaoki/"
FILES_MAX = 20_000
UNCOMMITTED_MAX = 300


class LeftoverFiles:
    """Inspects worktrees between two checks."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def list_ignored(self, worktree: Worktree, at: GitLocation) -> frozenset[str]:
        names = self._git.read_names(*OTHERS, "--ignored", at=at)
        return walk_names(worktree.path, names)

    def ignored_sources(
        self, worktree: Worktree, since: float, committed: Collection[str]
    ) -> tuple[str, ...]:
        """Ignored source files written since then: work that never lands.

        git is not asked where every source of a small folder that was written is in the commit.
        """
        if not _has_further_sources(worktree.path, since, committed):
            return ()
        names = self._git.read_names(*OTHERS, "--ignored", at=worktree.location)
        paths = (path for name in names for path in _walk_sources(worktree.path, name.rstrip("/")))
        bounded, top = islice(paths, FILES_MAX), worktree.path
        return tuple(sorted(printable_path(p) for p in bounded if _written_at(top / p) >= since))

    def uncommitted_files(self, worktree: Worktree, since: float) -> tuple[IgnoredFile, ...]:
        """Ignored files written since then, with their rules; caches come last."""
        names = self._git.read_names(*OTHERS, "--ignored", at=worktree.location)
        paths = (path for name in names for path in _walk(worktree.path, name.rstrip("/")))
        bounded = islice((p for p in paths if _is_file(worktree.path / p)), FILES_MAX)
        written = [p for p in bounded if _written_at(worktree.path / p) >= since]
        written.sort(key=lambda p: (bool(CACHES.intersection(p.split("/"))), p))
        return self._with_rules(worktree, written[:UNCOMMITTED_MAX])

    def _with_rules(self, worktree: Worktree, paths: Sequence[str]) -> tuple[IgnoredFile, ...]:
        if not paths:
            return ()
        names = b"".join(os.fsencode(path) + b"\0" for path in paths)
        args = ("check-ignore", "--verbose", "-z", "--stdin")
        out = self._git.run(*args, at=worktree.location, stdin=names, ok=(0, 1)).out
        fields = [printable_path(os.fsdecode(field)) for field in out.split(b"\0")]
        rows = zip(*(fields[at::4] for at in range(4)), strict=False)
        return tuple(IgnoredFile(path, f"{file}:{line} {rule}") for file, line, rule, path in rows)

    def protected_state(self, worktree: Worktree, *, strict: bool) -> dict[str, str]:
        link = worktree.path / ".git"
        content = link.read_bytes() if link.is_file() and not link.is_symlink() else b""
        state = {WORKTREE_LINK: sha256(content).hexdigest()} if worktree.exists else {}
        return state | dict.fromkeys(self._list_names(worktree), "there") if strict else state

    def _list_names(self, worktree: Worktree) -> Iterator[str]:
        """Names of branches, tags and untracked files.

        Without the commits of branches, because people continue to commit.
        """
        form = ("for-each-ref", "--format=%(refname)%00", "refs/heads", "refs/tags")
        for ref in (name.strip() for name in self._git.read_names(*form)):
            if not ref.startswith(OWN_BRANCHES):
                yield ref.removeprefix("refs/heads/").replace("refs/tags/", "tag ")
        if worktree.admin and worktree.exists:
            for name in self._git.read_names(*OTHERS, at=worktree.location):
                if not CACHES.intersection(name.rstrip("/").split("/")):
                    yield printable_path(name)


def walk_names(top: Path, names: Iterable[str]) -> frozenset[str]:
    """The files and folders that git named, and everything below them."""
    return frozenset(path for name in names for path in _walk(top, name.rstrip("/")))


def _has_further_sources(top: Path, since: float, committed: Collection[str]) -> bool:
    """Was a source written that the commit lacks?  True also where the folder is not small."""
    entries = list_small_folder(top, SMALL_ENTRIES_MAX, DEPTH_MAX)
    return entries is None or any(
        _is_own_source(entry.path)
        and entry.path not in committed
        and _written_at(top / entry.path) >= since
        for entry in entries
    )


def _walk_sources(top: Path, name: str) -> Iterator[str]:
    """The sources in an ignored file or folder; generated folders are skipped."""
    if not is_generated(name.split("/")):
        yield from (path for path in _walk(top, name) if _is_own_source(path))


def _is_own_source(path: str) -> bool:
    *folders, name = path.split("/")
    return is_source(name) and not is_generated(folders)


def _is_file(path: Path) -> bool:
    return path.is_symlink() or path.is_file()


def _written_at(file: Path) -> float:
    try:
        return file.lstat().st_mtime
    except OSError:
        return 0.0


def _walk(top: Path, name: str) -> Iterator[str]:
    """The path and, if it is a folder, everything in it; links are not followed."""
    return (entry.path for entry in walk_tree(top, name))
