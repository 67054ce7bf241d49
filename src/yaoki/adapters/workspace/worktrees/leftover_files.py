"""What a check leaves behind: ignored files, and marks of what it must not touch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path

from yaoki.adapters.git.command import Git, GitLocation
from yaoki.adapters.git.tree_diff import printable_path
from yaoki.adapters.system.folders import walk_tree
from yaoki.adapters.workspace.worktrees.worktree import Worktree
from yaoki.ports import WORKTREE_LINK, IgnoredFile

# `--directory` names a folder once, empty or not; what is in it we look up ourselves.
OTHERS = ("ls-files", "--others", "--exclude-standard", "--directory", "-z")
OURS = "refs/heads/yaoki/"
# By-products of looking, which no judge is to be blamed for.
CACHES = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"})


# Where tools put what they fetched or built: nobody expects to find that on a branch.
MADE = CACHES | {
    *("node_modules", "bower_components", "venv", "env", "site-packages", "vendor", "Pods"),
    *("build", "dist", "out", "target", "bin", "obj", "coverage", "htmlcov", "tmp", "temp", "logs"),
}
SOURCES = frozenset(
    {
        *(".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".vue", ".svelte", ".html", ".css"),
        *(
            ".go",
            ".rs",
            ".java",
            ".kt",
            ".scala",
            ".swift",
            ".c",
            ".h",
            ".cc",
            ".cpp",
            ".hpp",
            ".cs",
        ),
        *(".rb", ".php", ".pl", ".lua", ".ex", ".exs", ".erl", ".hs", ".ml", ".clj", ".dart"),
        *(".hpp", ".r", ".jl", ".sh", ".sql", ".scss"),
    }
)
FILES_MAX = 20_000
UNCOMMITTED_MAX = 300


class LeftoverFiles:
    """Looks at worktrees between two checks."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def list_ignored(self, found: Worktree, at: GitLocation) -> frozenset[str]:
        names = self._git.read_names(*OTHERS, "--ignored", at=at)
        return frozenset(path for name in names for path in _below(found.path, name.rstrip("/")))

    def ignored_sources(self, found: Worktree, since: float) -> tuple[str, ...]:
        """Sources written since that instant that git ignores: work that never lands."""
        names = self._git.read_names(*OTHERS, "--ignored", at=found.location)
        paths = (path for name in names for path in _sources(found.path, name.rstrip("/")))
        some = islice(paths, FILES_MAX)
        return tuple(sorted(printable_path(p) for p in some if _written(found.path / p) >= since))

    def uncommitted_files(self, found: Worktree, since: float) -> tuple[IgnoredFile, ...]:
        """Ignored files that were written since then, with their rules; caches come last."""
        named = self._git.read_names(*OTHERS, "--ignored", at=found.location)
        paths = (path for name in named for path in _below(found.path, name.rstrip("/")))
        some = islice((p for p in paths if _is_file(found.path / p)), FILES_MAX)
        written = [p for p in some if _written(found.path / p) >= since]
        written.sort(key=lambda p: (bool(CACHES.intersection(p.split("/"))), p))
        return self._with_rules(found, written[:UNCOMMITTED_MAX])

    def _with_rules(self, found: Worktree, paths: Sequence[str]) -> tuple[IgnoredFile, ...]:
        given = b"".join(os.fsencode(path) + b"\0" for path in paths)
        asked = ("check-ignore", "--verbose", "-z", "--stdin")
        out = self._git.run(*asked, at=found.location, stdin=given, ok=(0, 1)).out if paths else b""
        fields = [printable_path(os.fsdecode(field)) for field in out.split(b"\0")]
        rows = zip(*(fields[at::4] for at in range(4)), strict=False)
        return tuple(IgnoredFile(path, f"{file}:{line} {rule}") for file, line, rule, path in rows)

    def protected_state(self, found: Worktree, *, strict: bool) -> dict[str, str]:
        link = found.path / ".git"
        held = link.read_bytes() if link.is_file() and not link.is_symlink() else b""
        marks = {WORKTREE_LINK: sha256(held).hexdigest()} if found.exists else {}
        return {**marks, **dict.fromkeys(self._strict(found), "there")} if strict else marks

    def _strict(self, found: Worktree) -> Iterator[str]:
        """Not where branches stand, for people go on committing; only which there are."""
        form = ("for-each-ref", "--format=%(refname)%00", "refs/heads", "refs/tags")
        for ref in (name.strip() for name in self._git.read_names(*form)):
            if not ref.startswith(OURS):
                yield ref.removeprefix("refs/heads/").replace("refs/tags/", "tag ")
        if found.admin and found.exists:
            for name in self._git.read_names(*OTHERS, at=found.location):
                if not CACHES.intersection(name.rstrip("/").split("/")):
                    yield printable_path(name)


def _sources(top: Path, name: str) -> Iterator[str]:
    """Of an ignored file or folder; folders of tools are not looked into."""
    if not _made(name.split("/")):
        yield from (path for path in _below(top, name) if _is_source(path))


def _is_source(path: str) -> bool:
    *folders, name = path.split("/")
    return Path(name).suffix in SOURCES and not _made(folders)


def _made(names: Sequence[str]) -> bool:
    return any(name in MADE or name.startswith(".") for name in names)


def _is_file(path: Path) -> bool:
    return path.is_symlink() or path.is_file()


def _written(file: Path) -> float:
    try:
        return file.lstat().st_mtime
    except OSError:
        return 0.0


def _below(top: Path, name: str) -> Iterator[str]:
    """A path and, if it is a folder, everything in it; links are not followed."""
    return (entry.path for entry in walk_tree(top, name))
