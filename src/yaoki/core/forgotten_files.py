"""New files that nobody seems to have wanted: environment files, dumps, backups, logs, caches."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from yaoki.core.scope import matches_glob, matches_name

FORGOTTEN_NAMES = (
    *(".env", ".env.*"),
    *("core", "core.dump", "core.[0-9]*", "vgcore.[0-9]*"),
    *("*.bak", "*.orig", "*.rej", "*~", "*.swp"),
    *("*.log", "tmp_*", "*.tmp"),
    *("*.pyc", ".coverage", ".coverage.[!r]*", ".DS_Store"),
)
# Folders that tools fill, and that most projects ignore.
FORGOTTEN_FOLDERS = frozenset(
    {
        *("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"),
        *("node_modules", ".nyc_output", ".tox", ".nox"),
    }
)
# Environment files without values, which a project tracks on purpose.
EXAMPLES = (".env.example", ".env.sample", ".env.template")


def find_forgotten_files(
    paths: Iterable[str], base: Collection[str], goal: str, scope: Iterable[str]
) -> list[str]:
    """The new files that look left behind, in order.

    A file is wanted if the goal or the scope of the task names it, or if the base tracks files of
    its kind, as a project with logs among its test data does.
    """
    globs = tuple(scope)
    suspects = {path: kind for path in paths if path not in base and (kind := _find_kind(path))}
    tracked = {kind for path in base if (kind := _find_kind(path))} if suspects else set()
    return [
        path
        for path, kind in suspects.items()
        if kind not in tracked
        and not _is_named(goal, path, kind)
        and not any(_names_file(glob, path) for glob in globs)
    ]


def _find_kind(path: str) -> str:
    """The pattern that the name of the file matches, or its folder; empty for an ordinary file."""
    *folders, name = path.split("/")
    if name in EXAMPLES:
        return ""
    if found := FORGOTTEN_FOLDERS.intersection(folders):
        return min(found)
    return next((kind for kind in FORGOTTEN_NAMES if matches_name(name, kind)), "")


def _is_named(goal: str, path: str, kind: str) -> bool:
    """As a word: `os.environ` does not name `.env`."""
    words = (re.escape(word) for word in (path.rpartition("/")[2], kind))
    return any(re.search(rf"(?<![\w.]){word}(?!\w)", goal) for word in words)


def _names_file(glob: str, path: str) -> bool:
    """Does the glob name this file or its kind?  `**` and a folder mean only the work."""
    last = glob.rpartition("/")[2]
    has_name = bool(last.strip("*")) and matches_name(path.rpartition("/")[2], last)
    return has_name and matches_glob(path, glob)
