"""Runs whose branch is here but in no store: their `.yaoki` was deleted."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.git.ref_names import SAVED_WORK
from yaoki.core.text import format_count, quote_path
from yaoki.errors import Unknown, WorkspaceError

if TYPE_CHECKING:
    from yaoki.app.build import App

SHOWN = 3


def find_orphan_branches(app: App) -> tuple[str, ...]:
    """The branches; none where git cannot answer."""
    try:
        branches = app.workspace.recovery.list_run_branches()
    except WorkspaceError:
        return ()
    known = {run.branch for run in app.store.runs()} if app.has_store else set[str]()
    archived = {f"yaoki/{name}" for name in _archived_run_ids(app)}
    return tuple(name for name in branches if name not in known | archived)


def _archived_run_ids(app: App) -> set[str]:
    return {file.name.partition(".")[0] for file in _list_archives(app)}


def _list_archives(app: App) -> list[Path]:
    folder = app.yaoki_folder / "archive"
    return list(folder.glob("*.tar.gz"))


def suggest_unpacking(app: App) -> str:
    """The command that makes branches of the attempts in the newest archive; empty without one."""
    from yaoki.adapters.store.run_archive import BUNDLE  # after most commands nothing is archived

    archives = _list_archives(app)
    if not archives:
        return ""
    newest = quote_path(str(max(archives, key=lambda file: file.stat().st_mtime)))
    fetch = f"git fetch {BUNDLE} '{SAVED_WORK}/*:refs/heads/back/*'"
    return f"tar -xzf {newest} {BUNDLE} && {fetch}"


def make_no_run_error(app: App) -> Unknown:
    """The error for a repository without a store."""
    branches = find_orphan_branches(app)
    if not branches:
        return Unknown("there is no run here yet", hint="yaoki run PLAN")
    return Unknown(
        f"there is no run in the store, but {describe_branches(branches)} here: .yaoki was "
        f"deleted; what landed is "
        "on the branch, the plan and the journal are gone",
        hint=suggest_recovery(branches[-1]),
    )


def describe_branches(branches: tuple[str, ...]) -> str:
    more = f" and {len(branches) - SHOWN} more" if len(branches) > SHOWN else ""
    verb = "are" if len(branches) > 1 else "is"
    count = format_count(len(branches), "branch", "branches")
    return f"{count} ({', '.join(branches[:SHOWN])}{more}) {verb}"


def suggest_recovery(branch: str) -> str:
    """The commands that show the work, merge it, or continue."""
    name = shlex.quote(branch)
    return (
        f"look: git log {name}; take it unverified: git merge {name}; "
        f"continue from it: yaoki run PLAN --base {name}; "
        "unlanded work: git for-each-ref refs/yaoki/work; "
        f"done with it: git branch -D {name}"
    )
