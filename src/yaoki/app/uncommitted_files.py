"""Files of the user's checkout that are in no commit: a run begins at a commit and lacks them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.git.checkout import (
    list_uncommitted_files,
    list_untracked_files,
    list_untracked_folders,
)
from yaoki.adapters.workspace.worktrees.included_files import FILE as INCLUDE_FILE
from yaoki.core.text import format_count, list_some

if TYPE_CHECKING:
    from yaoki.app.build import App

SHOWN = 5


def describe_uncommitted(app: App, except_paths: Iterable[Path] = ()) -> str:
    """One line for people about staged, changed and untracked files; empty if there are none.

    The settings, the list of copied files and the named files are left out, because the run reads
    them anyway.
    """
    copied = app.repository.top / INCLUDE_FILE
    used = {
        path.resolve()
        for path in (*except_paths, app.context.loaded_settings.file, copied)
        if path is not None
    }
    names = [
        name
        for name in list_uncommitted_files(app.repository)
        if (app.repository.top / name).resolve() not in used
    ]
    if not names:
        return ""
    files = format_count(len(names), "uncommitted file is", "uncommitted files are")
    return f"note: {files} not part of this run: {list_some(_group_names(app, names), SHOWN)}"


def _group_names(app: App, names: list[str]) -> list[str]:
    """Untracked files are marked; an untracked folder is named once: it may be an environment with
    thousands of files.
    """
    untracked = list_untracked_files(app.repository)
    folders = set(list_untracked_folders(app.repository)) if untracked else set()
    tops = {name: _find_top(name, folders) if name in untracked else name for name in names}
    sizes = Counter(tops.values())
    marks = {
        name: f"{top} (untracked, {sizes[top]:,} files)"
        if sizes[top] > 1
        else f"{name} (untracked)"
        for name, top in tops.items()
        if name in untracked
    }
    return list(dict.fromkeys(marks.get(name, name) for name in names))


def _find_top(name: str, folders: set[str]) -> str:
    """The untracked folder that contains the file; the file itself if there is none."""
    parts = name.split("/")
    parents = ("/".join(parts[:n]) + "/" for n in range(1, len(parts)))
    return next((parent for parent in parents if parent in folders), name)
