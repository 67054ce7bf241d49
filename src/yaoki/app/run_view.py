"""Views for faces: the current state of a run, a task explained, the files of an attempt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from yaoki.adapters.system.machine import is_holder_dead, machine_id
from yaoki.app.run_branch import (
    detect_external_merge,
    find_landed_on_branch,
    find_last_merge,
    find_merge_obstacle,
    find_unmerged_reverts,
)
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import PauseCause
from yaoki.errors import Unknown
from yaoki.views.run_state import build_run_view, summarize_run
from yaoki.views.workers import why_not_taken

if TYPE_CHECKING:
    from yaoki.adapters.store.tables.totals import BudgetUse
    from yaoki.app.build import App
    from yaoki.core.model import Question, Run, TaskId
    from yaoki.ports import JournalEntry, TaskRow, WorkerSeen
    from yaoki.views.history.values import Judgment
    from yaoki.views.history.warnings import RunWarnings
    from yaoki.views.tasks import RunView, UnmergedRevert
    from yaoki.views.why import Explanation

QUESTIONS_MAX = 1000
ATTEMPTS_SHOWN = 20
PAGE = 1000
ENTRIES_MAX = 50_000


def view_run(app: App, run: Run, *, check_branch: bool = False) -> RunView:
    """The current state of a run; `check_branch` also asks git whether the branch holds what
    landed.
    """
    rows = app.store.rows(run.id)
    reverts = find_unmerged_reverts(app, run, rows)
    known = detect_external_merge(app, run, rows)
    return _view_rows(app, known, rows, check_branch=check_branch, reverts=reverts)


def _view_rows(
    app: App,
    run: Run,
    rows: Sequence[TaskRow],
    *,
    check_branch: bool = False,
    merges: bool = True,
    reverts: Sequence[UnmergedRevert] = (),
) -> RunView:
    on_branch = (
        find_landed_on_branch(app, run, rows)
        if check_branch or run.pause_cause is PauseCause.BRANCH
        else {}
    )
    questions = load_questions(app, rows)
    return assemble_run_view(
        app,
        run,
        rows,
        app.store.needs(run.id),
        questions,
        on_branch,
        merges=merges,
        reverts=reverts,
    )


def _view_tasks(app: App, run: Run) -> RunView:
    """For its tasks only: a merge changes nothing about them, so git is not asked for one."""
    if run.pause_cause is PauseCause.BRANCH:
        return view_run(app, run)
    return _view_rows(app, run, app.store.rows(run.id), merges=False)


def assemble_run_view(
    app: App,
    run: Run,
    rows: Sequence[TaskRow],
    needs: Mapping[TaskId, Sequence[TaskId]],
    questions: Mapping[TaskId, Question],
    on_branch: Mapping[TaskId, bool],
    *,
    merges: bool = True,
    reverts: Sequence[UnmergedRevert] = (),
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
        closed_accounts=app.store.accounts(),
        not_taken_because=lambda row: why_not_taken(
            row, live, now, lambda holder: _claim_grace_s(app, holder), here=machine_id
        ),
        spent=app.store.total_spend(run.id),
        on_branch=on_branch,
        merge_obstacle=lambda: find_merge_obstacle(app, run) if merges else None,
        reverts=reverts,
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
    candidates = {str(one.row.id): one.row for one in view.tasks if one.row.race_task == task_id}
    return explain(mine, load_task_journal(app, task_id), app.clock.now(), names, candidates)


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


# ------------------------------------------------------------------ limits


def load_budget_usage(app: App, run: Run) -> list[BudgetUse]:
    """Every budget of the run and of the day, with its use."""
    from yaoki.adapters.store.tables import totals

    day = app.settings.budget.day
    with app.store.database.read() as link:
        return [weight for _, weight in totals.read_budget_uses(link, run, day, app.clock.now())]


def load_last_judgments(app: App, run: Run) -> dict[str, Judgment]:
    """The last passed judgment of each task that has one."""
    from yaoki.views.history import build_run_history

    tasks = build_run_history(_read_entries(app, run, ("QUALITY_JUDGMENT",))).tasks
    return {task_id: task.judgments[-1] for task_id, task in tasks.items() if task.judgments}


def find_indistinct_work(app: App, view: RunView) -> tuple[str, ...]:
    """The landed tasks that no check tells from their base."""
    from yaoki.views.indistinct import find_indistinct_tasks

    return find_indistinct_tasks(*_read_landed_judgments(app, view))


def with_landing_facts(app: App, view: RunView) -> RunView:
    """The view of a run with its newest merge, and with the landed work that is in doubt."""
    from yaoki.views.flaky_checks import find_flaky_checks
    from yaoki.views.indistinct import find_indistinct_tasks

    judgments, landed = _read_landed_judgments(app, view)
    return replace(
        view,
        last_merge=find_last_merge(app, view),
        indistinct_task_ids=find_indistinct_tasks(judgments, landed),
        flaky_checks=find_flaky_checks(judgments, landed),
    )


def describe_flaky_work(app: App, run: Run) -> str:
    """The landed tasks of a run with their flaky checks; empty if there is none."""
    from yaoki.views.flaky_checks import describe_flaky_landings, find_flaky_checks

    view = _view_tasks(app, run)
    names = {str(task.row.id): task.row.name for task in view.tasks}
    return describe_flaky_landings(names, find_flaky_checks(*_read_landed_judgments(app, view)))


def _read_landed_judgments(
    app: App, view: RunView
) -> tuple[Sequence[JournalEntry], Mapping[str, str]]:
    """The judgments of the run, and by task the commits that have landed."""
    from yaoki.views.indistinct import JUDGMENT

    landed = {str(task.row.id): task.row.landed_commit for task in view.landed_tasks}
    return _read_entries(app, view.run, (JUDGMENT,)) if landed else [], landed


def load_warnings(app: App, run: Run) -> RunWarnings:
    """Warnings of the run that led to no question."""
    from yaoki.views.history.warnings import LANDING_EVENTS, WARNING_EVENTS, collect_warnings

    return collect_warnings(_read_entries(app, run, (*WARNING_EVENTS, *LANDING_EVENTS)))


def list_refused_undos(app: App, run: Run) -> list[str]:
    """The landed tasks that a person wanted to be reverted while others ran, and why they stay."""
    refused = {entry.task_id: entry.data for entry in _read_entries(app, run, ("UNDO_DROPPED",))}
    tasks = (app.store.task(task_id) for task_id, data in refused.items() if data.get("commit"))
    return [
        f"the undo of {task.spec.name} was refused: {refused[task.id]['why']}"
        for task in tasks
        if task.landed_commit == refused[task.id]["commit"]
    ]


def _read_entries(app: App, run: Run, events: Sequence[str]) -> list[JournalEntry]:
    from yaoki.adapters.store.tables import journal_pages

    return journal_pages.read_forward(
        app.store.database, run_id=run.id, events=events, limit=ENTRIES_MAX
    )
