"""What a person asks through the page: the same acts as those of the command line."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from yaoki.app import commands
from yaoki.core.model import Choice
from yaoki.faces.web.access_keys import FRESH
from yaoki.faces.web.errors import Turned
from yaoki.faces.web.parameters import Asked
from yaoki.faces.web.request_context import Desk

# A page does not wait like a terminal: events tell when a task has ended.
WITHIN = timedelta(seconds=1)
Document = dict[str, Any]


def answer(desk: Desk, asked: Asked) -> Document:
    if asked.body["choice"] == Choice.WAIVE and not asked.fresh:
        minutes = round(FRESH.total_seconds() / 60)
        words = f"a waiver needs a link that is not older than {minutes} minutes"
        raise Turned(403, "OLD_LINK", words, hint="open the link that yaoki ui prints")
    return _answered(desk, asked, Choice(asked.body["choice"]), asked.body["check"])


def retry(desk: Desk, asked: Asked) -> Document:
    return _answered(desk, asked, Choice.RETRY, "")


def _answered(desk: Desk, asked: Asked, choice: Choice, check: str) -> Document:
    task_id = desk.task(asked.task).id
    task = commands.answer(desk.app, task_id, choice, asked.body["words"], check, how=asked.how)
    return commands.answered(desk.app, task, choice)


def undo(desk: Desk, asked: Asked) -> Document:
    task_id = desk.task(asked.task).id
    return commands.undone(
        commands.undo(desk.app, task_id, cascade=asked.body["cascade"], how=asked.how)
    )


def cancel_task(desk: Desk, asked: Asked) -> Document:
    task = desk.task(asked.task)
    run = desk.app.store.run(task.run_id)
    left = commands.cancel(desk.app, run, task.id, within=WITHIN, how=asked.how)
    return commands.cancelled(desk.app, run, task.id, left)


def cancel_run(desk: Desk, asked: Asked) -> Document:
    run = desk.run(asked.run)
    left = commands.cancel(desk.app, run, within=WITHIN, how=asked.how)
    return commands.cancelled(desk.app, run, "", left)


def go(desk: Desk, asked: Asked) -> Document:
    run = desk.run(asked.run)
    commands.go(desk.app, run, asked.body["words"], how=asked.how)
    return commands.run_answered(desk.app, run)
