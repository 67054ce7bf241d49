"""Run branches that the store here does not know.

Another checkout of the clone has the store of their runs, or `.yaoki` was deleted.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.git.ref_names import SAVED_WORK
from yaoki.app.other_checkouts import (
    OtherCheckout,
    find_run_elsewhere,
    list_archived_run_ids,
    list_archives,
    list_other_checkouts,
    make_runs_elsewhere_error,
)
from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model.run import landing_branch
from yaoki.core.text import format_count, quote_path
from yaoki.errors import Unknown, WorkspaceError

if TYPE_CHECKING:
    from yaoki.app.build import App

SHOWN = 3


@dataclass(frozen=True, slots=True)
class UnknownBranches:
    """`deleted`: in no store of this clone; `elsewhere`: by the checkout whose store has them."""

    deleted: tuple[str, ...] = ()
    elsewhere: Mapping[Path, tuple[str, ...]] = field(default_factory=dict)


def find_unknown_branches(app: App) -> UnknownBranches:
    """The run branches without a run in this store; none where git cannot answer."""
    try:
        branches = app.workspace.recovery.list_run_branches()
        known = {run.branch for run in app.store.runs()} if app.has_store else set[str]()
        left = set(branches) - known - _list_archived_branches(app.yaoki_folder)
        elsewhere = _find_elsewhere(app, left) if left else {}
    except WorkspaceError:
        return UnknownBranches()
    found = left.difference(*elsewhere.values())
    return UnknownBranches(tuple(sorted(found)), elsewhere)


def _find_elsewhere(app: App, branches: Collection[str]) -> dict[Path, tuple[str, ...]]:
    """Those of the branches that the store of another checkout knows."""
    known = {
        other.folder: _known_in(other, branches) for other in list_other_checkouts(app.context)
    }
    return {folder: tuple(sorted(names)) for folder, names in known.items() if names}


def _known_in(other: OtherCheckout, branches: Collection[str]) -> set[str]:
    """A store that cannot be read may know any branch, so none is offered for deletion."""
    if other.run_ids is None:
        return set(branches)
    return {landing_branch(run) for run in other.run_ids} & set(branches)


def _list_archived_branches(home: Path) -> set[str]:
    return {landing_branch(run) for run in list_archived_run_ids(home)}


def suggest_unpacking(app: App) -> str:
    """The command that makes branches of the attempts in the newest archive; empty without one."""
    from yaoki.adapters.store.run_archive import BUNDLE  # after most commands nothing is archived

    archives = list_archives(app.yaoki_folder)
    if not archives:
        return ""
    newest = quote_path(str(max(archives, key=lambda file: file.stat().st_mtime)))
    fetch = f"git fetch {BUNDLE} '{SAVED_WORK}/*:refs/heads/back/*'"
    return f"tar -xzf {newest} {BUNDLE} && {fetch}"


def make_no_run_error(app: App, named: str) -> Unknown:
    """The error for a repository without a store; `named` is the run or task to find."""
    elsewhere = find_run_elsewhere(app.context, named) or make_runs_elsewhere_error(app.context)
    if elsewhere is not None:
        return elsewhere
    found = find_unknown_branches(app)
    branches = found.deleted
    if found.elsewhere:
        words = describe_elsewhere(found.elsewhere)
        return Unknown(
            f"there is no run in this checkout; {words}", hint=suggest_checkouts(found.elsewhere)
        )
    if not branches:
        return Unknown("there is no run here yet", hint="yaoki run PLAN")
    return Unknown(
        f"there is no run in the store, but {describe_branches(branches)} here: .yaoki was "
        "deleted; the landed work is on the branch, but the plan and the journal are lost",
        hint=suggest_recovery(branches[-1]),
    )


def describe_branches(branches: tuple[str, ...]) -> str:
    more = f" and {len(branches) - SHOWN} more" if len(branches) > SHOWN else ""
    verb = "are" if len(branches) > 1 else "is"
    count = format_count(len(branches), "branch", "branches")
    return f"{count} ({', '.join(branches[:SHOWN])}{more}) {verb}"


def describe_elsewhere(elsewhere: Mapping[Path, tuple[str, ...]]) -> str:
    """Which checkouts have the stores of the branches."""
    stores = (
        f"{describe_branches(branches)} in the store of {folder}, another checkout of this clone"
        for folder, branches in elsewhere.items()
    )
    return "; ".join(stores)


def suggest_checkouts(folders: Iterable[Path]) -> str:
    """The commands that show the runs of other checkouts."""
    return "; ".join(f"cd {quote_path(str(folder))} && yaoki status" for folder in folders)


def suggest_recovery(branch: str) -> str:
    """The commands that show the work, merge it, or continue."""
    name = shlex.quote(branch)
    return (
        f"to look at it: git log {name}; to merge it without verification: git merge {name}; "
        f"to continue from it: yaoki run PLAN --base {name}; "
        "to list unlanded work: git for-each-ref refs/yaoki/work; "
        f"to delete it: git branch -D {name}"
    )
