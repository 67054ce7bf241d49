"""The run branch as git has it: merges by hand, landed commits, the command that merges it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from yaoki.core.lazy_dataclass import replace
from yaoki.engine.landed_rows import rows_on_run_branch
from yaoki.errors import GitFailed, NotNow, WorkspaceError
from yaoki.views.tasks import LastMerge, MergeObstacle, UnmergedRevert

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run, TaskId
    from yaoki.ports import TaskRow
    from yaoki.views import RunView


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


def find_last_merge(app: App, view: RunView) -> LastMerge | None:
    """By `yaoki merge` or by hand; a run that is not finished may have been merged in part."""
    run, recorded = view.run, _read_last_merge(app, view.run)
    commit = run.merged_commit or str(recorded.get("commit", ""))
    if not commit:
        return None
    landed = {task.row.id for task in view.landable_tasks_landed}
    others = [task.row.id for task in view.landable_tasks if task.row.id not in landed]
    commits = {task.row.id: task.row.landed_commit for task in view.landable_tasks_landed}
    git, later, is_new, reverted = app.context.git_facts, False, False, set[str]()
    try:
        later = git.has_commits_beyond([*commits.values()], commit)
        reverted = set(git.find_tasks_undone_since(run, commit) if others or later else ())
        first_landings = [landed for one, landed in commits.items() if one not in reverted]
        is_new = later and git.has_commits_beyond(first_landings, commit)
    except GitFailed:
        is_new = later
    branch = str(recorded.get("branch", run.base_branch))
    return LastMerge(
        branch,
        commit,
        missing_task_ids=tuple(one for one in others if one not in reverted),
        undone_task_ids=tuple(one for one in others if one in reverted),
        relanded_task_ids=tuple(one for one in commits if one in reverted),
        has_new_landings=is_new,
    )


def find_merge_target(app: App, run: Run) -> str:
    """The branch that the journal names; without an entry a person merged it into the base."""
    return str(_read_last_merge(app, run).get("branch", run.base_branch))


def _read_last_merge(app: App, run: Run) -> Mapping[str, Any]:
    from yaoki.adapters.store.tables import journal_pages

    newest = journal_pages.read_newest(
        app.store.database, run_id=run.id, events=("RUN_MERGED",), limit=1
    )
    return newest[0].data if newest else {}


def find_unmerged_reverts(
    app: App, run: Run, rows: Sequence[TaskRow]
) -> tuple[UnmergedRevert, ...]:
    """The merged work that was undone since: its revert is only on the run branch.

    `run` is the stored one.  An undone task has an attempt and nothing landed, unless it landed
    again; that landing then has to be merged as well.
    """
    undone = {row.id for row in rows if row.attempt and not row.landed_commit}
    if not undone:
        return ()
    branches = {run.base_branch, find_merge_target(app, run) if run.merged_commit else ""} - {""}
    git, found = app.context.git_facts, []
    try:
        for branch in sorted(branches, key=lambda name: name != run.base_branch):
            tasks = [task for task in git.find_tasks_to_revert(run, branch) if task in undone]
            if tasks:
                found.append(UnmergedRevert(branch, tuple(tasks), _revert_command(run, branch)))
    except GitFailed:
        return ()
    return tuple(found)


def _revert_command(run: Run, branch: str) -> str:
    """Not of git: no check has shown that the run holds together without the undone work."""
    command = f"yaoki merge {run.id} --partial"
    if branch == run.base_branch:
        return command
    import shlex

    return f"{command} --into {shlex.quote(branch)}"


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


def find_merge_obstacle(app: App, run: Run) -> MergeObstacle | None:
    """The reason why `yaoki merge` would be refused: it must not touch the base's checkout."""
    try:
        git = app.context.git_facts
        if not run.base_branch or not git.has_branch(run.branch):
            return None
        found = git.find_obstructed_checkout(run.base_branch)
        if found is None:
            return None
        folder, obstacle = found
        base, head = f"refs/heads/{run.base_branch}", f"refs/heads/{run.branch}"
        moved = git.has_commits_beyond([base], head)
    except GitFailed:
        return None
    import shlex

    is_here = folder == app.repository.top
    where = "here" if is_here else f"at {folder}"
    words = (
        f"{run.base_branch} is checked out {where}, and {obstacle.words}: {obstacle.remedy} first"
    )
    # With a remote, the branch of this clone may lack landings.
    if moved or app.settings.workspace.remote or not _is_branch_intact(app, run):
        return MergeObstacle(words)
    there = "" if is_here else f"-C {shlex.quote(str(folder))} "
    return MergeObstacle(words, f"git {there}merge --ff-only {run.branch}")


def _is_branch_intact(app: App, run: Run) -> bool:
    """git merges whatever is on the branch; after the end of a run no command has checked it."""
    from yaoki.engine.branch_guard import BranchGuard

    try:
        BranchGuard(app.store, app.workspace).refuse_drift(run)
    except (NotNow, WorkspaceError):
        return False
    return True
