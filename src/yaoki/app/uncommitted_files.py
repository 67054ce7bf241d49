"""Files of the user's checkout that are in no commit: a run begins at a commit and lacks them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.git.checkout import list_uncommitted_files, list_untracked_files
from yaoki.core.text import format_count, list_some

if TYPE_CHECKING:
    from yaoki.app.build import App

SHOWN = 5


def find_uncommitted_files(app: App, except_paths: Iterable[Path] = ()) -> list[str]:
    """Staged, changed and untracked files, without the settings and the named files, which the run
    reads anyway; untracked ones are marked.
    """
    used = {
        path.resolve()
        for path in (*except_paths, app.context.loaded_settings.file)
        if path is not None
    }
    names = [
        name
        for name in list_uncommitted_files(app.repository)
        if (app.repository.top / name).resolve() not in used
    ]
    untracked = list_untracked_files(app.repository) if names else frozenset()
    return [f"{name} (untracked)" if name in untracked else name for name in names]


def describe_uncommitted(names: list[str]) -> str:
    """One line for people; empty when everything is committed."""
    if not names:
        return ""
    files = format_count(len(names), "uncommitted file is", "uncommitted files are")
    return f"note: {files} not part of this run: {list_some(names, SHOWN)}"
