"""The run branch as git has it: merges by hand, landed commits, the command that merges it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from yaoki.core.lazy_dataclass import replace
from yaoki.engine.landed_rows import rows_on_run_branch
from yaoki.errors import GitFailed, NotNow, WorkspaceError

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run, TaskId
    from yaoki.ports import TaskRow


def detect_external_merge(app: App, run: Run, rows: Sequence[TaskRow]) -> Run:
    """A run is also merged when a person merged it with git: the base then holds all that landed.

    Work that landed after a merge, in place of reverted work, is not merged yet.
    """
    if run.finished_at is None:
        return run
    landed, git = (
        [row.landed_commit for row in rows_on_run_branch(rows)],
        app.context.git_facts,
    )
    try:
        if run.merged_commit:
            return (
                replace(run, merged_commit="")
                if git.has_commits_beyond(landed, run.merged_commit)
                else run
            )
        if not run.base_branch:
            return run
        head = git.find_head_with_all(run.base_branch, landed, run.base)
    except GitFailed:
        return run
    return replace(run, merged_commit=head) if head else run


def find_landed_on_branch(app: App, run: Run, rows: Sequence[TaskRow]) -> dict[TaskId, bool]:
    """Empty where git cannot answer; the branch of a merged run is the user's to change."""
    landed = rows_on_run_branch(rows)
    if run.merged_commit or not landed:
        return {}
    try:
        # With a remote, only the workspace knows what other machines landed.
        remote = app.settings.workspace.remote
        git = app.workspace.branches if remote else app.context.git_facts
        lost = set(git.missing_commits(run, [row.landed_commit for row in landed]))
    except WorkspaceError:
        return {}
    return {row.id: row.landed_commit not in lost for row in landed}


def suggest_merge_command(app: App, run: Run) -> str:
    """The git command for a checkout with uncommitted changes, where `yaoki merge` refuses."""
    try:
        git = app.context.git_facts
        if not run.base_branch:
            return ""
        there_is_work = git.has_branch(run.branch)
        place = git.find_obstructed_checkout(run.base_branch) if there_is_work else None
    except GitFailed:
        return ""
    if place is None or (run.cancel_requested and not _is_branch_intact(app, run)):
        return ""
    import shlex

    there = "" if place == app.repository.top else f"-C {shlex.quote(str(place))} "
    return f"git {there}merge {run.branch}"


def _is_branch_intact(app: App, run: Run) -> bool:
    """For a cancelled run no command checks its branch, and git merges whatever is there."""
    from yaoki.engine.branch_guard import BranchGuard

    try:
        BranchGuard(app.store, app.workspace).refuse_drift(run)
    except (NotNow, WorkspaceError):
        return False
    return True
