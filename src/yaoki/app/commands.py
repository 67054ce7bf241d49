"""Requests of a person about a run or a task, for every face.

Each returns the document that the command of its name prints with `--json`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from yaoki.app.run_view import view_run
from yaoki.app.saved_attempts import find_empty_attempts
from yaoki.core.machine.request_events import UndoDropped
from yaoki.core.model import Choice, PauseCause, State, TaskId
from yaoki.errors import NotNow
from yaoki.views import SCHEMA
from yaoki.views.documents import Document

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run, RunId, Task
    from yaoki.ports import TaskRow

POLL = timedelta(milliseconds=100)
CANCEL_WITHIN = timedelta(seconds=10)


def answer_task(
    app: App, task_id: TaskId, choice: Choice, words: str = "", check: str = "", *, how: str
) -> Task:
    """Answer an escalation; an aborted task's leftovers are removed and its work is saved.

    A worktree with files that are too large to save stays until the run continues.
    """
    task = app.control.answer(task_id, choice, words, check, how)
    if choice is Choice.ABORT:
        run = app.store.run(task.run_id)
        if app.workspace.worktrees.ignored_files_too_large(task):
            app.control.save_blocked(run)
        else:
            app.control.sweep(run)
    return task


def list_blocked_with_work(app: App, task: Task) -> list[TaskRow]:
    """The tasks that this one blocks permanently and that have saved work."""
    view = view_run(app, app.store.run(task.run_id))
    blocked = {one.row.id: one.row for one in view.tasks if one.blocked_by == task.id}
    return [blocked[TaskId(task_id)] for task_id in tasks_with_saved_work(app, blocked)]


def tasks_with_saved_work(app: App, tasks: Collection[str]) -> list[str]:
    """The given tasks that have saved work with changes."""
    if not tasks:
        return []
    works = [work for work in app.workspace.recovery.list_saved_work() if work.task_id in tasks]
    empty = find_empty_attempts(app, works)
    return sorted({work.task_id for work in works if work.ref not in empty})


def end_waits(app: App, run: Run, words: str = "", *, how: str) -> list[Task]:
    """End the waits of a run's tasks for their accounts and delays."""
    return app.control.end_waits(run, words, how)


def answer_document(app: App, task: Task, choice: Choice) -> Document:
    view = view_run(app, app.store.run(task.run_id))
    document = {"task": task.id, "answer": choice.value, "state": task.state.value}
    return {"schema": SCHEMA, **document, "worker": view.is_carried, "next": view.next_command}


def continue_run(
    app: App, run: Run, words: str = "", accept: Sequence[str] = (), *, how: str
) -> None:
    """Let a paused run continue; the approval of a plan records the forecast of its run."""
    if run.pause_cause is not PauseCause.APPROVAL:
        app.control.go(run, words, accept, how)
        return
    from yaoki.app.forecast import forecast_approval, record_forecast

    forecast = forecast_approval(app, run)
    app.control.go(run, words, accept, how)
    record_forecast(app, run, forecast)


def run_answer_document(app: App, run: Run) -> Document:
    view = view_run(app, app.store.run(run.id))
    document = {"run": run.id, "paused": view.run.pause_reason or None, "status": view.status.value}
    return {"schema": SCHEMA, **document, "next": view.next_command}


def undo_task(
    app: App, task_id: TaskId, *, cascade: bool = False, how: str, to_retry: bool = False
) -> Task:
    """Revert landed work; the refusal says so when later work depends on it.

    The remaining work is verified again, so a caller that may not run its checks is refused first.
    """
    app.trust.require_trusted()
    undone = app.control.undo(task_id, cascade=cascade, how=how, to_retry=to_retry)
    if undone.state is State.DONE and not undone.undo_requested:
        refusal = _undo_refusal(app, undone)
        remedy = str(refusal.get("remedy") or f"yaoki trace {undone.id}")
        raise NotNow(f"{undone.id} was not reverted: {refusal.get('why', '')}", hint=remedy)
    return undone


def describe_undo(app: App, task_id: TaskId) -> str:
    """The work that takes long, in a few words."""
    task = app.store.task(task_id)
    branch = app.store.run(task.run_id).branch
    return f"verifying {branch} without {task.spec.name}"


def describe_running_checks(app: App) -> str:
    """The checks that this process runs at the moment; empty if it runs none."""
    names = dict.fromkeys(app.services.checks.running_checks)
    return f"check {', '.join(names)}" if names else ""


def _undo_refusal(app: App, task: Task) -> Mapping[str, object]:
    """The reason why an undo was dropped, and what helps, from the journal."""
    from yaoki.adapters.store.tables import journal_pages

    newest = journal_pages.read_newest(
        app.store.database, task_id=task.id, events=(UndoDropped.NAME,), limit=1
    )
    return newest[0].data if newest else {}


def read_last_entry(app: App) -> int:
    """The number of the last entry in the journal."""
    from yaoki.adapters.store.tables import journal_pages

    newest = journal_pages.read_newest(app.store.database, limit=1)
    return newest[0].seq if newest else 0


def list_warnings(app: App, run_id: RunId, after: int) -> list[str]:
    """The warnings of the run since the entry `after`."""
    from yaoki.adapters.store.tables import journal_pages

    entries = journal_pages.read_forward(
        app.store.database, run_id=run_id, events=("WARNING",), after=after
    )
    return [str(entry.data["message"]) for entry in entries]


def retry_landed_task(app: App, task_id: TaskId, words: str, *, how: str) -> Task:
    """Revert a landed task and let it try again."""
    undone = undo_task(app, task_id, how=how, to_retry=True)
    if undone.undo_requested:
        return undone
    return answer_task(app, task_id, Choice.RETRY, words, how=how)


def landed_own_commit(app: App, task_id: TaskId) -> bool:
    """False for a task that counts as landed without a commit."""
    from yaoki.engine.commands.undo import has_own_commit

    return has_own_commit(app.store.task(task_id))


def undo_document(app: App, task: Task) -> Document:
    """An undo that waits is carried out by the run's worker, or by the next one."""
    wanted = task.undo_requested
    run = app.store.run(task.run_id)
    next_ = view_run(app, run).next_command if wanted else f"yaoki answer {task.id}"
    document = {"task": task.id, "state": task.state.value, "undo_wanted": wanted}
    return {"schema": SCHEMA, **document, "next": next_}


def cancel_work(
    app: App, run: Run, task_id: str = "", *, timeout: timedelta = CANCEL_WITHIN, how: str = ""
) -> list[TaskId]:
    """End a run or one task of it; returns the tasks that are still active after `timeout`."""
    from yaoki.app.serve import finish_cancelled  # the engine, which few commands need

    at_work = _request_cancel(
        app, run, task_id, f"cancelled by a person{f' ({how})' if how else ''}"
    )
    if at_work:
        finish_cancelled(app, run)
    left = _wait_until_ended(app, at_work, timeout)
    if not left:
        app.services.completion.complete(run.id)
    app.control.sweep(app.store.run(run.id))
    return left


def cancel_document(app: App, run: Run, task_id: str, left: Sequence[TaskId]) -> Document:
    view = view_run(app, app.store.run(run.id))
    over = [task.row.id for task in view.tasks if task.row.state is State.CANCELLED]
    mine = [one for one in over if task_id in ("", one)]
    saved = tasks_with_saved_work(app, mine)
    document = {"cancelled": mine, "ending": list(left), "kept": saved}
    return {"schema": SCHEMA, "run": run.id, "status": view.status.value, **document}


def _request_cancel(app: App, run: Run, task_id: str, why: str) -> list[TaskId]:
    """Stored before anything acts on it, so repeating it changes nothing."""
    if not task_id:
        return app.control.cancel(run, why)
    if app.store.task(task_id).state is State.CANCELLED:
        return []
    return app.control.cancel_task(TaskId(task_id), why)


def _wait_until_ended(app: App, at_work: Sequence[TaskId], within: timedelta) -> list[TaskId]:
    """Wait a bounded time for the workers of these tasks; returns those still active."""
    until = app.clock.now() + within
    left = list(at_work)
    while left:
        left = [task for task in left if not app.store.task(task).state.is_final]
        if not left or app.clock.now() >= until:
            break
        app.clock.sleep(POLL)
    return left
