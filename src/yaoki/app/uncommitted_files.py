"""Files of the user's checkout that no commit holds: a run begins at a commit, so it lacks them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.git.checkout import list_uncommitted_files
from yaoki.core.text import format_count

if TYPE_CHECKING:
    from yaoki.app import App

SHOWN = 5


def find_uncommitted_files(app: App, except_paths: Iterable[Path] = ()) -> list[str]:
    """Staged, changed and untracked files, without those that take part in the run by themselves:
    the settings, and what is named.
    """
    used = {
        path.resolve() for path in (*except_paths, app.loaded_settings.file) if path is not None
    }
    names = list_uncommitted_files(app.repository)
    return [name for name in names if (app.repository.top / name).resolve() not in used]


def describe_uncommitted(names: list[str]) -> str:
    """One line for people; nothing when all is committed."""
    if not names:
        return ""
    shown = ", ".join(names[:SHOWN])
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    files = format_count(len(names), "uncommitted file is", "uncommitted files are")
    return f"note: {files} not part of this run ({shown}{more})"
