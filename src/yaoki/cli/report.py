"""The report at the end of a run: what landed, who needs a person, what was cancelled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from yaoki.cli.render import columns, line, names_of, next_command, paint, say
from yaoki.core.model import Choice, State
from yaoki.core.status import Status
from yaoki.views import RunView, TaskView

if TYPE_CHECKING:
    from yaoki.app import App

SHOWN = 30


def show(app: App, view: RunView, *, stopped: bool = False) -> None:
    """Nothing is called a success here that has not landed."""
    run = view.run
    told = "stopped; nothing is lost" if stopped else view.status.value
    tone = {Status.DONE: "green", Status.ESCALATED: "red"}.get(view.status, "yellow")
    say(paint(f"run {run.id}: {told}", tone) + f"  {line(run.goal, 120)}")
    if run.paused:
        say(paint(f"  paused: {line(run.paused)}", "yellow"))
    _landed(view)
    for task in view.asking[:SHOWN]:
        ask(app, task)
    _named("cancelled", [t for t in view.tasks if t.row.state is State.CANCELLED])
    _blocked(view)
    for note in view.notes[:SHOWN]:
        name = line(note.row.name, 60)
        left = f"{name} was left out of its group" if note.row.parent else ""
        say(f"  note: {left or f'optional {name} did not land'}")
    next_command(f"yaoki resume {run.id}" if stopped else view.next)


def _landed(view: RunView) -> None:
    # What subtasks landed is on the run branch once their group is.
    waiting = {t.row.id for t in view.tasks if t.row.kind == "group" and not t.row.landed}
    done = [
        task
        for task in view.tasks
        if task.row.state is State.DONE and task.row.parent not in waiting
    ]
    say(f"  {len(done)} of {len(view.tasks)} landed on {view.run.branch}")
    rows = [
        (line(t.row.name, 60), t.row.landed[:10], f"attempt {t.row.attempt}") for t in done[:SHOWN]
    ]
    for text in columns(rows):
        say(f"    {text}")
    _more(done)


def _more(tasks: Sequence[TaskView]) -> None:
    if len(tasks) > SHOWN:
        say(f"    … {len(tasks) - SHOWN} more: yaoki status --json")


def ask(app: App, task: TaskView) -> None:
    """The question, and each answer as the command that gives it."""
    row = task.row
    say(paint(f"  needs you: {line(row.name, 60)}  {task.reason}", "red"))
    say(f"    {line(row.question)}")
    held = app.store.task(row.id)
    failing = held.failure.check if held.failure else ""
    for choice in task.choices:
        say(f"    {_command(row.id, choice, held.work.worktree, failing)}")


def _command(task_id: str, choice: str, worktree: str, check: str) -> str:
    base = f"yaoki answer {task_id} {choice}"
    match Choice(choice):
        case Choice.RETRY:
            return f'{base} "words for the agent"'
        case Choice.DONE:
            return f"{base}      after working in {line(worktree)}" if worktree else base
        case Choice.WAIVE:
            return f"{base} --check {line(check)}" if check else f"{base} --check NAME"
        case Choice.ABORT:
            return base


def _named(what: str, tasks: Sequence[TaskView]) -> None:
    if tasks:
        names = ", ".join(line(task.row.name, 60) for task in tasks[:SHOWN])
        more = f" and {len(tasks) - SHOWN} more" if len(tasks) > SHOWN else ""
        say(f"  {what}: {names}{more}")


def _blocked(view: RunView) -> None:
    """One line per cause, however many it blocks."""
    names, found = names_of(view), dict[str, list[TaskView]]()
    for task in view.tasks:
        if task.blocked:
            found.setdefault(task.cause, []).append(task)
    for cause, tasks in found.items():
        _named(f"blocked by {line(names[cause], 60)} (DEPENDENCY_FAILED)", tasks)
