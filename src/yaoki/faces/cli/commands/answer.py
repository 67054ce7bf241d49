"""`yaoki answer` and `yaoki retry`: a person's answer to the question of a task."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yaoki.core.model import Choice, Stage, State, TaskId
from yaoki.core.text import did_you_mean, format_bytes
from yaoki.errors import NotNow
from yaoki.faces.cli.commands import report
from yaoki.faces.cli.context import json_option, load_run_view, open_app, repo_option, run_option
from yaoki.faces.cli.lookup import find_run_or_task
from yaoki.faces.cli.person_only import answer_channel, refuse_agents
from yaoki.faces.cli.trust_question import require_trust
from yaoki.faces.text.progress import report_progress
from yaoki.faces.text.render import (
    QUESTION_CHARS,
    clean_line,
    print_document,
    print_next_command,
    print_wrapped,
)
from yaoki.views import SCHEMA, RunView, TaskView
from yaoki.views.choices import WAIVER_SCOPE

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run, Task


GO = "go"
NAMES_SHOWN = 5


class AnswerWord(click.Choice[str]):
    """Says which answers a task has, and which a run."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in self.choices:
            return str(value)
        near = did_you_mean(str(value), self.choices)
        task, run = "retry, done, waive or abort", "go or abort"
        rest = near or f": a task is answered with {task}, a paused run with {run}"
        raise click.UsageError(f"{value!r} is not an answer{rest}", ctx)


@click.command()
@click.argument("task", metavar="[TASK|RUN]", default="")
@click.argument("choice", required=False, type=AnswerWord([*(c.value for c in Choice), GO]))
@click.argument("words", nargs=-1)
@click.option("--check", metavar="NAME", default="", help="The check to waive.")
@click.option(
    *("--accept", "accepted"),
    metavar="COMMIT",
    multiple=True,
    help="With go: keep this commit under later landings, although no task landed it.",
)
@run_option
@json_option
@repo_option
def answer(
    task: str,
    choice: str | None,
    words: tuple[str, ...],
    check: str,
    accepted: tuple[str, ...],
    run_name: str,
    as_json: bool,
    repo: Path,
) -> int:
    """Answer TASK with retry, done, waive or abort; without a choice, show its question.

    Without a name, list the open questions of all runs; with RUN, those of this run.
    WORDS go to the agent of the next attempt.  `done` verifies your own work in the task's worktree
    like an agent's work.  A waiver holds for the work that you saw: an attempt with other changes
    asks again.  If a check is wrong, change it in the plan or yaoki.toml first, then run
    `yaoki plan recheck`.  A paused RUN continues after go and ends after abort.
    """
    _refuse_misplaced_options(choice, check, accepted)
    with open_app(repo) as app:
        if not task:
            return _list_questions(app, as_json=as_json)
        if choice is not None:
            refuse_agents(app)
        if choice == GO or _is_paused(app, task):
            return _answer_run(app, task, choice, " ".join(words), accepted, as_json=as_json)
        if (run := _find_whole_run(app, task)) is not None:
            _refuse_choice(run, choice)
            return _list_questions(app, run, as_json=as_json)
        task_id = app.lookup.find_task(task, run_name)
        if choice is None:
            return _print_question(app, task_id, as_json=as_json)
        return _answer(app, task_id, Choice(choice), " ".join(words), check, as_json=as_json)


@click.command()
@click.argument("task", metavar="TASK|RUN")
@click.argument("words", nargs=-1)
@run_option
@json_option
@repo_option
def retry(task: str, words: tuple[str, ...], run_name: str, as_json: bool, repo: Path) -> int:
    """Retry TASK; its retry limits are reset, and WORDS go to its agent.

    If TASK is done, its landed work is reverted first.  If TASK waits for a delay or for its
    account, the wait ends, and one task tries the account at once.  With RUN, this applies to all
    tasks of the run that wait.
    """
    with open_app(repo) as app:
        refuse_agents(app)
        named = find_run_or_task(app, task, run_name)
        if not named.task:
            return _retry_run(app, named.run, " ".join(words), as_json=as_json)
        task_id = TaskId(named.task)
        before = app.reads.task(task_id)
        if before.state is State.DONE:
            return _retry_done(app, task_id, " ".join(words), as_json=as_json)
        return _answer(app, task_id, Choice.RETRY, " ".join(words), "", as_json=as_json)


def _retry_run(app: App, run: Run, words: str, *, as_json: bool) -> int:
    from yaoki.app import commands

    ended = commands.end_waits(app, run, words, how=answer_channel())
    document = commands.run_answer_document(app, run)
    if as_json:
        print_document(document)
        return 0
    for task in ended:
        print_wrapped(f"{clean_line(task.spec.name, 60)} ({task.id}): {_ended_wait(app, task)}")
    print_next_command(document["next"])
    return 0


def _retry_done(app: App, task_id: TaskId, words: str, *, as_json: bool) -> int:
    """Landed work is reverted first, and the result is verified like a landing."""
    from yaoki.app import commands

    require_trust(app)
    reverted = "reverted; " if commands.landed_own_commit(app, task_id) else ""
    progress = commands.describe_undo(app, task_id)
    with report_progress(progress, lambda: commands.describe_running_checks(app)):
        task = commands.retry_landed_task(app, task_id, words, how=answer_channel())
    document = commands.answer_document(app, task, Choice.RETRY)
    if as_json:
        print_document(document)
        return 0
    print_wrapped(f"{clean_line(task.spec.name, 60)} ({task.id}): {reverted}it will be retried")
    print_next_command(document["next"])
    return 0


def _refuse_misplaced_options(choice: str | None, check: str, accepted: Sequence[str]) -> None:
    """An option that another answer takes would have no effect here."""
    if accepted and choice != GO:
        raise click.UsageError("--accept belongs to go: yaoki answer RUN go --accept COMMIT")
    if check and choice != Choice.WAIVE:
        raise click.UsageError("--check belongs to waive: yaoki answer TASK waive --check NAME")


def _is_paused(app: App, name: str) -> bool:
    return any(run.pause_reason and name in {run.id, run.branch} for run in app.reads.runs())


def _find_whole_run(app: App, name: str) -> Run | None:
    return next((run for run in app.reads.runs() if name in {run.id, run.branch}), None)


def _refuse_choice(run: Run, choice: str | None) -> None:
    if choice is not None:
        words = f"run {run.id} is not paused: {choice} is an answer to one of its tasks"
        raise NotNow(words, hint=f"its questions: yaoki answer {run.id}")


def _answer_run(
    app: App,
    name: str,
    choice: str | None,
    words: str,
    accepted: Sequence[str],
    *,
    as_json: bool,
) -> int:
    from yaoki.app import commands

    run = app.lookup.find_run(name)
    if choice == Choice.ABORT:
        commands.cancel_work(app, run, how=answer_channel())
    elif choice == GO:
        commands.continue_run(app, run, words, accepted, how=answer_channel())
    elif choice is not None:
        raise NotNow(
            f"{choice} is not a possible answer to run {run.id}", hint="answer one of: go, abort"
        )
    document = commands.run_answer_document(app, run)
    if as_json:
        print_document(document)
        return 0
    if choice is None:
        print_wrapped(f"run {run.id} is paused: {clean_line(run.pause_reason, QUESTION_CHARS)}")
        print_wrapped(f"    yaoki answer {run.id} go")
        print_wrapped(f"    yaoki answer {run.id} abort")
        return 0
    print_wrapped(f"run {run.id}: {document['status']}")
    print_next_command(document["next"])
    return 0


def _list_questions(app: App, run: Run | None = None, *, as_json: bool) -> int:
    """The open questions of a run or of all runs, each with the command that shows it."""
    from yaoki.adapters.store.tables.open_questions import find_open_questions

    found = find_open_questions(app.store.database)
    if run is not None:
        found = [one for one in found if one.run_id == run.id]
    if as_json:
        questions = [{"run": one.run_id, "task": one.task_name or None} for one in found]
        print_document({"schema": SCHEMA, "questions": questions})
        return 0
    for one in found:
        asks = f"{clean_line(one.task_name, 60)} asks" if one.task_name else "it is paused"
        print_wrapped(f"run {one.run_id}: {asks}: yaoki answer {one.subject}")
    if not found:
        print_wrapped(f"{f'run {run.id} does not wait' if run else 'no run waits'} for your answer")
    status = f"yaoki status {run.id}" if run else "yaoki status"
    print_next_command(f"yaoki answer {found[0].subject}" if found else status)
    return 0


def _print_question(app: App, task_id: TaskId, *, as_json: bool) -> int:
    task = app.reads.task(task_id)
    if task.state is not State.ESCALATED:
        from yaoki.engine.commands.extend import suggest_next

        words = f"{task.id} has no open question: it is {task.state.value}"
        run = app.reads.run(task.run_id)
        raise NotNow(words, hint=suggest_next(task, run, app.store))
    view = _view(load_run_view(app, app.reads.run(task.run_id)), task_id)
    if as_json:
        asked = {"question": view.row.question, "choices": list(view.choices)}
        print_document({"schema": SCHEMA, "task": task.id, "reason": view.reason, **asked})
        return 0
    report.print_question(app, view)
    print_next_command(f"yaoki why {task.id}")
    return 0


def _view(run: RunView, task_id: TaskId) -> TaskView:
    return next(task for task in run.tasks if task.row.id == task_id)


def _answer(
    app: App, task_id: TaskId, choice: Choice, words: str, check: str, *, as_json: bool
) -> int:
    from yaoki.app import commands
    from yaoki.app.recheck import describe_outdated_checks

    before = app.reads.task(task_id)
    waited = before.state is State.WAITING
    task = commands.answer_task(app, task_id, choice, words, check, how=answer_channel())
    document = commands.answer_document(app, task, choice)
    if as_json:
        print_document(document)
        return 0
    result = _ended_wait(app, task) if waited else _describe_result(task, choice)
    if waited and before.due_at is None and before.stage is Stage.PREPARE:
        result = f"the agent of attempt {task.attempt + 1} gets these words as well"
    if choice is Choice.ABORT:
        saved = commands.tasks_with_saved_work(app, [task.id])
        result += f"; the work of its attempts is saved: yaoki recover {task.id}" if saved else ""
    elif waits_for := _next_obstacle(app, task):
        result = f"{result}; {waits_for}"
    print_wrapped(f"{clean_line(task.spec.name, 60)} ({task.id}): {result}")
    if choice is Choice.WAIVE and (sharing := _open_tasks_with(app, task)):
        print_wrapped(_shared_words(task, sharing))
    if choice is Choice.ABORT and (names := app.workspace.worktrees.ignored_files_too_large(task)):
        print_wrapped(_unsaved_words(app, task, names))
    if choice is Choice.ABORT:
        report.print_blocked_work(commands.list_blocked_with_work(app, task))
    if choice is not Choice.ABORT and (outdated := describe_outdated_checks(app, task)):
        print_wrapped(f"note: {clean_line(outdated)}")
    print_next_command(document["next"])
    return 0


def _next_obstacle(app: App, task: Task) -> str:
    """The condition under which a worker can continue the task; empty if there is none."""
    run = app.reads.run(task.run_id)
    view = _view(load_run_view(app, run), task.id)
    if view.blocked:
        names = {row.id: row.name for row in app.reads.rows(task.run_id)}
        cause = clean_line(names.get(TaskId(view.blocked_by), view.blocked_by), 60)
        return f"but only after {cause} has landed: yaoki why {view.blocked_by}"
    if run.pause_reason:
        return f"but only after the paused run continues: yaoki answer {run.id} go"
    return ""


def _open_tasks_with(app: App, task: Task) -> list[str]:
    """The names of the other open tasks that have a check that is waived for this one."""
    others = (row for row in app.reads.rows(task.run_id) if row.id != task.id)
    return [
        row.name
        for row in others
        if not row.state.is_final
        and any(check.name in task.waivers for check in app.reads.task(row.id).spec.checks)
    ]


def _shared_words(task: Task, names: Sequence[str]) -> str:
    shown = clean_line(", ".join(names[:NAMES_SHOWN]))
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    waived = clean_line(", ".join(task.waivers))
    return (
        f"warning: {shown}{more} must still pass {waived}. After this work has landed, the tests "
        f"that fail now are waived there as well, but a failure that names no tests asks you "
        f"again. To correct the check instead: yaoki plan recheck {task.run_id}"
    )


def _unsaved_words(app: App, task: Task, names: Sequence[str]) -> str:
    """Ignored files that are deleted with the worktree; they still exist, so a copy saves them."""
    shown = clean_line(", ".join(names[:NAMES_SHOWN]))
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    most = format_bytes(app.settings.limits.saved_bytes)
    return (
        f"not saved: {shown}{more}: ignored by git and larger than limits.saved_bytes ({most}); "
        f"copy what you need from {clean_line(task.work.worktree)} before the run continues"
    )


def _ended_wait(app: App, task: Task) -> str:
    if task.stage is not Stage.PREPARE:
        return f"its wait is over; {task.stage.value} is repeated when a worker is free"
    if task.account in {account.name for account in app.store.accounts()}:
        account = clean_line(task.account, 60)
        return f"its wait is over; one task tries account {account} when a worker is free"
    return f"its wait is over; attempt {task.attempt + 1} starts when a worker is free"


def _describe_result(task: Task, choice: Choice) -> str:
    match choice:
        case Choice.RETRY:
            if task.stage is not Stage.PREPARE:
                return f"waiting; {task.stage.value} is repeated when a worker is free"
            return f"waiting; attempt {task.attempt + 1} starts when a worker is free"
        case Choice.DONE:
            return (
                f"waiting; the content of {clean_line(task.work.worktree)} is verified "
                f"like any work"
            )
        case Choice.WAIVE:
            waived = clean_line(", ".join(task.waivers))
            verb = "is" if len(task.waivers) == 1 else "are"
            rest = f"and the other checks run on this work; {WAIVER_SCOPE}"
            return f"waiting; {waived} {verb} waived, {rest}"
        case Choice.ABORT:
            return "cancelled"
