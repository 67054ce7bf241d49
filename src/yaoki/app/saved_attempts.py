"""Saved work with how far its attempt came, as the journal tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from yaoki.adapters.git.commits import MERGED_IN
from yaoki.adapters.store.tables import journal_pages
from yaoki.core.model import Choice, RunId, State
from yaoki.errors import YaokiError
from yaoki.views.history import TaskHistory, build_run_history
from yaoki.views.saved_attempts import (
    SavedAttempt,
    WorkEnd,
    choose_furthest,
    judge_attempt,
    left_nothing,
)

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run, Task
    from yaoki.ports import SavedWork

ENTRIES_MAX = 50_000
# The base of an attempt, its landing, its checks, and how it ended.
EVENTS = (
    *("TASK_CLAIMED", "ATTEMPT_STARTED", "AGENT_FINISHED", "CHECK_FINISHED", "QUALITY_JUDGMENT"),
    *("RETRY_DECISION", "ESCALATE_DECISION", "RERUN_HELD", "TASK_LANDED"),
)


def find_saved_attempts(app: App, works: Sequence[SavedWork]) -> Mapping[str, SavedAttempt]:
    """By ref; without a store nothing is known of any."""
    mine = {work.task_id.rpartition("-")[0] for work in works}
    try:
        runs = [run for run in app.store.runs() if run.id in mine] if app.has_store else []
        return {ref: saved for run in runs for ref, saved in _attempts_of_run(app, run, works)}
    except YaokiError:
        # Saved work is listed whatever happened to the store.
        return {}


def find_empty_attempts(app: App, works: Sequence[SavedWork]) -> frozenset[str]:
    """The refs of the attempts that left no changes."""
    found = find_saved_attempts(app, works)
    return frozenset(ref for ref, saved in found.items() if saved.end is WorkEnd.EMPTY)


def describe_earlier_work(app: App, task: Task) -> str:
    """How to bring the earlier attempt that came furthest into a worktree without changes.

    A person who takes over would begin anew there; empty if there is no such attempt.
    """
    can_take_over = task.question is not None and Choice.DONE in task.question.choices
    if not can_take_over or task.work.attempt_file_count:
        return ""
    try:
        works = [w for w in app.workspace.recovery.list_saved_work() if w.task_id == task.id]
    except YaokiError:
        # The question is asked whatever happened to the repository.
        return ""
    attempts = find_saved_attempts(app, works)
    works = [work for work in works if not left_nothing(work, attempts)]
    if not works:
        return ""
    best = choose_furthest(sorted(works, key=lambda work: (work.at, work.attempt)), attempts)
    command = suggest_cherry_pick(app, best) or f"git merge {best.ref}"
    return f"nothing is changed there; to begin with the work of attempt {best.attempt}: {command}"


def suggest_cherry_pick(app: App, work: SavedWork) -> str:
    """The command that brings work back that landed and was undone; empty for other work.

    The run branch contains the work and its reversal, so a merge would find nothing new.
    """
    try:
        run = app.store.run(RunId(work.task_id.rpartition("-")[0]))
        row = next(row for row in app.store.rows(run.id) if row.id == work.task_id)
        on_branch = app.workspace.branches.branch_contains(run, work.commit)
    except (YaokiError, StopIteration):
        return ""
    if not on_branch or row.landed_commit:
        return ""
    # The work of an attempt into which the run branch was merged has that as its second parent.
    mainline = "-m 2 " if _was_updated(work) else ""
    return f"git cherry-pick {mainline}{work.ref}"


def find_landed_tasks(app: App, works: Sequence[SavedWork]) -> frozenset[str]:
    """The tasks of the works whose work has landed; empty without a store."""
    mine = {work.task_id.rpartition("-")[0] for work in works}
    try:
        runs = [run for run in app.store.runs() if run.id in mine] if app.has_store else []
        rows = [row for run in runs for row in app.store.rows(run.id)]
    except YaokiError:
        return frozenset()
    return frozenset(row.id for row in rows if row.state is State.DONE and row.landed_commit)


def _attempts_of_run(
    app: App, run: Run, works: Sequence[SavedWork]
) -> Iterable[tuple[str, SavedAttempt]]:
    entries = journal_pages.read_forward(
        app.store.database, run_id=run.id, events=EVENTS, limit=ENTRIES_MAX
    )
    tasks = build_run_history(entries).tasks
    landed = _landed_commits(tasks, {row.id: row.name for row in app.store.rows(run.id)})
    for work in works:
        if not work.task_id.startswith(f"{run.id}-"):
            continue
        task = tasks.get(work.task_id, TaskHistory())
        attempt = task.numbered_attempts.get(work.attempt)
        at_base = work.commit == (attempt.base if attempt else run.base)
        # The content of a group before it was rolled back is that of its subtasks.
        others = landed.get(work.commit) if work.attempt else None
        if at_base or (others is not None and not _is_author(work, others)):
            started_at = attempt.started_at if attempt else None
            yield work.ref, SavedAttempt(WorkEnd.EMPTY, started_at or work.at)
        elif attempt is not None and (work.commit == attempt.head or _was_updated(work)):
            yield work.ref, judge_attempt(attempt)


def _landed_commits(
    tasks: Mapping[str, TaskHistory], names: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """The tasks that landed each commit, by id and name, also if it was reverted since."""
    by_commit: dict[str, dict[str, str]] = {}
    for task_id, commit in _landings(tasks):
        by_commit.setdefault(commit, {})[task_id] = names.get(task_id, "")
    return by_commit


def _landings(tasks: Mapping[str, TaskHistory]) -> Iterator[tuple[str, str]]:
    return ((id_, landing.commit) for id_, task in tasks.items() for landing in task.landings)


def _was_updated(work: SavedWork) -> bool:
    """Is it the work of the attempt with the run branch merged in, which is no other work?"""
    return work.subject.endswith(MERGED_IN)


def _is_author(work: SavedWork, landed: Mapping[str, str]) -> bool:
    """Is the commit the task's own?

    Of several tasks that landed it, most had nothing to change; its subject names its author.
    """
    name = landed.get(work.task_id)
    return name is not None and (len(landed) == 1 or work.subject.startswith(f"{name}: "))
