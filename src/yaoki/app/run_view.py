"""Views for faces: the current state of a run, a task explained, the files of an attempt."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaoki.adapters.system.files import is_plain_file, open_plain_file
from yaoki.adapters.system.machine import is_holder_dead, machine_id
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import PauseCause
from yaoki.engine.landed_rows import rows_on_run_branch
from yaoki.errors import GitFailed, NotNow, Unknown, WorkspaceError
from yaoki.views.tasks import build_run_view, summarize_run
from yaoki.views.workers import why_not_taken

if TYPE_CHECKING:
    from yaoki.adapters.store.tables.totals import BudgetUse
    from yaoki.app.build import App
    from yaoki.core.model import Question, Run, Task, TaskId
    from yaoki.ports import JournalEntry, TaskRow, WorkerSeen
    from yaoki.views.history.warnings import RunWarnings
    from yaoki.views.tasks import RunView
    from yaoki.views.why import Explanation

QUESTIONS_MAX = 1000
ATTEMPTS_SHOWN = 20
PAGE = 1000
ENTRIES_MAX = 50_000
BYTES_SHOWN = 1 << 20
LOG_FILES: Mapping[str, str] = {"prompt": "prompt.md", "out": "out.log", "err": "err.log"}


def view_run(app: App, run: Run, *, check_branch: bool = False) -> RunView:
    """The current state of a run; `check_branch` also asks git whether the branch holds what
    landed.
    """
    rows = app.store.rows(run.id)
    return _view_rows(app, detect_external_merge(app, run, rows), rows, check_branch=check_branch)


def _view_rows(
    app: App, run: Run, rows: Sequence[TaskRow], *, check_branch: bool = False, merges: bool = True
) -> RunView:
    on_branch = (
        find_landed_on_branch(app, run, rows)
        if check_branch or run.pause_cause is PauseCause.BRANCH
        else {}
    )
    questions = load_questions(app, rows)
    return assemble_run_view(
        app, run, rows, app.store.needs(run.id), questions, on_branch, merges=merges
    )


def _view_tasks(app: App, run: Run) -> RunView:
    """For its tasks only: a merge changes nothing about them, so git is not asked for one."""
    if run.pause_cause is PauseCause.BRANCH:
        return view_run(app, run)
    return _view_rows(app, run, app.store.rows(run.id), merges=False)


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
        head = git.find_head_with_all(run.base_branch, landed, run.base)
    except GitFailed:
        return run
    return replace(run, merged_commit=head) if head else run


def assemble_run_view(
    app: App,
    run: Run,
    rows: Sequence[TaskRow],
    needs: Mapping[TaskId, Sequence[TaskId]],
    questions: Mapping[TaskId, Question],
    on_branch: Mapping[TaskId, bool],
    *,
    merges: bool = True,
) -> RunView:
    """The view of a run with these rows; `there` says which landed tasks the branch holds.

    With `merges` its next command may be one of git, which is asked for it.
    """
    live, now = app.services.list_live_workers(), app.store.clock.now()
    return build_run_view(
        run,
        rows,
        needs,
        is_idle=app.store.is_idle(run.id),
        questions=questions,
        is_carried=run.id == app.carried_run_id
        or has_live_holder(rows, now)
        or _is_served_by(run, live),
        limits={account.name: account.until for account in app.store.accounts()},
        not_taken_because=lambda row: why_not_taken(
            row, live, now, lambda holder: _claim_grace_s(app, holder)
        ),
        spent=app.store.total_spend(run.id),
        on_branch=on_branch,
        merge_instead=lambda: suggest_merge_command(app, run) if merges else "",
        last_iteration=_last_iteration(app, run) if run.continuous else None,
    )


def _last_iteration(app: App, run: Run) -> Mapping[str, Any]:
    from yaoki.adapters.store.tables import journal_pages

    newest = journal_pages.read_newest(
        app.store.database, run_id=run.id, events=("ITERATION_FINISHED",), limit=1
    )
    return newest[0].data if newest else {}


def is_served(app: App, run: Run) -> bool:
    """Is a worker running it?  Reads only active tasks, however many tasks there are."""
    from yaoki.adapters.store.tables import run_changes

    rows = run_changes.reload_rows(app.store.database, run.id, ())
    return has_live_holder(rows, app.store.clock.now()) or _is_served_by(
        run, app.services.list_live_workers()
    )


def _is_served_by(run: Run, live: Sequence[WorkerSeen]) -> bool:
    return any(run.id in (one.worker.runs or (run.id,)) for one in live)


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
    """The git command that merges the work here; empty where `yaoki merge` does it, which never
    moves a checked-out branch.
    """
    try:
        git = app.context.git_facts
        place = git.find_checkout(run.base_branch) if git.has_branch(run.branch) else None
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


def view_run_head(app: App, run: Run) -> RunView:
    """The run without its tasks, counted by the store."""
    store = app.store
    tally = Counter(store.count_by_state(run.id))
    unsettled = bool(store.tasks_awaiting_rerun(run.id) or store.tasks_to_undo(run.id))
    spent = store.total_spend(run.id)
    return summarize_run(
        run, tally, is_idle=store.is_idle(run.id), unsettled=unsettled, spent=spent
    )


def load_questions(app: App, rows: Sequence[TaskRow]) -> dict[TaskId, Question]:
    """The questions of escalated tasks, up to a limit."""
    asking = [row.id for row in rows if row.question][:QUESTIONS_MAX]
    questions = ((task_id, app.store.task(task_id).question) for task_id in asking)
    return {task_id: question for task_id, question in questions if question is not None}


def has_live_holder(rows: Sequence[TaskRow], now: datetime) -> bool:
    """May a live worker hold one of these tasks?  For other machines only the lease is known."""
    claimed = [row for row in rows if row.holder and not is_holder_dead(row.holder)]
    if not claimed:
        return False
    here = f"{machine_id()}:"
    return any(row.holder.startswith(here) or (row.lease_until or now) > now for row in claimed)


def _claim_grace_s(app: App, holder: str) -> float:
    """The same rule by which the store releases claims: a worker known to be alive may be slow."""
    lives = holder.startswith(f"{machine_id()}:") and not is_holder_dead(holder)
    return app.settings.limits.max_in_progress_s if lives else 0.0


def explain_task(app: App, task_id: TaskId) -> Explanation:
    """The state of a task and the decisions that led to it."""
    run = app.store.run(app.store.task(task_id).run_id)
    return load_explanation(app, _view_tasks(app, run), task_id)


def load_explanation(app: App, view: RunView, task_id: str) -> Explanation:
    """The state of a task of this run and the decisions that led to it."""
    from yaoki.views.why import explain

    mine = next((task for task in view.tasks if task.row.id == task_id), None)
    if mine is None:
        raise Unknown(f"there is no task {task_id}", hint="yaoki status")
    names: dict[str, str] = {task.row.id: task.row.name for task in view.tasks}
    return explain(mine, load_task_journal(app, task_id), app.clock.now(), names)


def load_task_journal(app: App, task_id: str) -> list[JournalEntry]:
    """The journal of a task, oldest first, up to a limit."""
    entries: list[JournalEntry] = []
    while len(entries) < ENTRIES_MAX:
        after = entries[-1].seq if entries else 0
        page = app.store.journal(task_id=task_id, after=after, limit=PAGE)
        entries += page
        if len(page) < PAGE:
            break
    return entries


# ------------------------------------------------------------------ what an attempt left


def find_log_folder(app: App, task: Task, attempt: int, check: str = "") -> Path:
    """The folder of an attempt's agent, or of the newest run of one of its checks."""
    home = app.runs_folder / task.run_id / task.id / str(attempt)
    if not check:
        return home
    ran = find_check_folders(home, task)
    folder = ran.get(check)
    if folder is None:
        names = sorted(ran)
        raise Unknown(
            f"no check {check!r} ran in attempt {attempt} of {task.id}",
            hint=f"these ran: {', '.join(names)}" if names else f"yaoki why {task.id}",
        )
    return folder


def find_check_folders(home: Path, task: Task) -> dict[str, Path]:
    """The newest folder of each of the task's checks that ran in an attempt.

    A repeated check, on the same commit or after a retry of the stage, gets another folder with a
    suffix.  Runs on the base are not about the attempt.
    """
    names = sorted((check.name for check in task.spec.checks), key=len)
    folders: dict[str, Path] = {}
    for place in sorted((home / "checks").glob("[0-9]*-*"), key=_age_key):
        label = place.name.partition("-")[2]
        for name in (name for name in reversed(names) if f"{label}-".startswith(f"{name}-")):
            if "base" not in label.removeprefix(name).split("-"):
                folders[name] = place
            break
    return folders


def _age_key(place: Path) -> tuple[int, int, str]:
    """Oldest first; of the same instant the higher number is newer."""
    return place.stat().st_mtime_ns, len(place.name), place.name


def find_log_file(app: App, task: Task, attempt: int, name: str, check: str = "") -> Path:
    """One of `LOG_FILES`; refused by name when it was never written."""
    file = find_log_folder(app, task, attempt, check) / LOG_FILES[name]
    if not is_plain_file(file):
        raise Unknown(
            f"attempt {attempt} of {task.id} wrote no {LOG_FILES[name]}",
            hint=f"yaoki recover {task.id}, or yaoki why {task.id}",
        )
    return file


def read_log_tail(file: Path, start: int, most: int = BYTES_SHOWN) -> tuple[str, int]:
    """The text after `start`, at most its last `most` bytes, and the size of the file."""
    with open_plain_file(file) as stream:
        if stream is None:  # a link or a pipe is in its place, or it is gone
            return "", start
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(start, size - most))
        return stream.read(size - stream.tell()).decode("utf-8", errors="replace"), size


@dataclass(frozen=True, slots=True)
class DiffEnds:
    """Two commits to compare."""

    old: str
    new: str
    is_landed: bool


def find_diff_ends(task: Task) -> DiffEnds:
    """The change that a task landed, or else the one its last attempt left."""
    work = task.work
    if task.landed_commit:
        return DiffEnds(work.onto, task.landed_commit, True)
    if not work.head:
        raise NotNow(f"{task.id} has left nothing yet", hint=f"yaoki why {task.id}")
    return DiffEnds(work.base, work.head, False)


# ------------------------------------------------------------------ limits


def load_budget_usage(app: App, run: Run) -> list[BudgetUse]:
    """Every budget of the run and of the day, with its use."""
    from yaoki.adapters.store.tables import totals

    day = app.settings.budget.day
    with app.store.database.read() as link:
        return [weight for _, weight in totals.read_budget_uses(link, run, day, app.clock.now())]


def find_unchanged_tasks(app: App, run: Run) -> frozenset[str]:
    """Tasks whose last verification found nothing to change."""
    from yaoki.views.history import build_run_history

    tasks = build_run_history(_read_entries(app, run, ("QUALITY_JUDGMENT",))).tasks
    return frozenset(
        task_id
        for task_id, task in tasks.items()
        if task.judgments and task.judgments[-1].unchanged
    )


def load_warnings(app: App, run: Run) -> RunWarnings:
    """Warnings of the run that led to no question."""
    from yaoki.views.history.warnings import WARNING_EVENTS, collect_warnings

    return collect_warnings(_read_entries(app, run, WARNING_EVENTS))


def _read_entries(app: App, run: Run, events: Sequence[str]) -> list[JournalEntry]:
    from yaoki.adapters.store.tables import journal_pages

    return journal_pages.read_forward(
        app.store.database, run_id=run.id, events=events, limit=ENTRIES_MAX
    )
