"""Files of the user's checkout that are in no commit: a run begins at a commit and lacks them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.git.command import Git, GitLocation
from yaoki.core.counting import format_count

if TYPE_CHECKING:
    from yaoki.app.build import App

SHOWN = 5


def find_uncommitted_files(app: App, except_paths: Iterable[Path] = ()) -> list[str]:
    """Staged, changed and untracked files, without the settings and the named files, which the run
    reads anyway.
    """
    repository, git = app.repository, Git(app.repository.common_dir)
    at = GitLocation(repository.git_dir, repository.top)
    staged = git.read_names("diff-index", "--cached", "--name-only", "-z", "HEAD", "--", at=at)
    others = git.read_names("ls-files", "-m", "-d", "-o", "--exclude-standard", "-z", at=at)
    used = {
        path.resolve()
        for path in (*except_paths, app.context.loaded_settings.file)
        if path is not None
    }
    names = dict.fromkeys((*staged, *others))
    return [name for name in names if (repository.top / name).resolve() not in used]


def describe_uncommitted(names: list[str]) -> str:
    """One line for people; empty when everything is committed."""
    if not names:
        return ""
    shown = ", ".join(names[:SHOWN])
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    files = format_count(len(names), "uncommitted file is", "uncommitted files are")
    return f"note: {files} not part of this run ({shown}{more})"
