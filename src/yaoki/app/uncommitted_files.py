"""Files of the user's checkout that are in no commit: a run begins at a commit and lacks them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.git.checkout import list_uncommitted_files
from yaoki.core.text import format_count

if TYPE_CHECKING:
    from yaoki.app.build import App

SHOWN = 5


def find_uncommitted_files(app: App, except_paths: Iterable[Path] = ()) -> list[str]:
    """Staged, changed and untracked files, without the settings and the named files, which the run
    reads anyway.
    """
    used = {
        path.resolve()
        for path in (*except_paths, app.context.loaded_settings.file)
        if path is not None
    }
    names = list_uncommitted_files(app.repository)
    return [name for name in names if (app.repository.top / name).resolve() not in used]


def describe_uncommitted(names: list[str]) -> str:
    """One line for people; empty when everything is committed."""
    if not names:
        return ""
    shown = ", ".join(names[:SHOWN])
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    files = format_count(len(names), "uncommitted file is", "uncommitted files are")
    return f"note: {files} not part of this run ({shown}{more})"
