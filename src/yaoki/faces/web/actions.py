"""Actions of a person on the page, the same as on the command line."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from yaoki.app import commands
from yaoki.core.model import Choice
from yaoki.faces.web.access_tokens import FRESH
from yaoki.faces.web.errors import RequestRejected
from yaoki.faces.web.parameters import PageRequest
from yaoki.faces.web.request_context import RequestContext

# A page does not wait like a terminal: events report when a task has ended.
CANCEL_WITHIN = timedelta(seconds=1)
Document = dict[str, Any]


def post_answer(desk: RequestContext, asked: PageRequest) -> Document:
    if asked.body["choice"] == Choice.WAIVE and not asked.is_fresh:
        minutes = round(FRESH.total_seconds() / 60)
        words = f"a waiver needs a link no older than {minutes} minutes"
        raise RequestRejected(403, "OLD_LINK", words, hint="open the link that yaoki ui prints")
    return _answered(desk, asked, Choice(asked.body["choice"]), asked.body["check"])


def post_retry(desk: RequestContext, asked: PageRequest) -> Document:
    return _answered(desk, asked, Choice.RETRY, "")


def _answered(desk: RequestContext, asked: PageRequest, choice: Choice, check: str) -> Document:
    task_id = desk.task(asked.task).id
    task = commands.answer_task(
        desk.app, task_id, choice, asked.body["words"], check, how=asked.channel
    )
    return commands.answer_document(desk.app, task, choice)


def post_undo(desk: RequestContext, asked: PageRequest) -> Document:
    task_id = desk.task(asked.task).id
    return commands.undo_document(
        commands.undo_task(desk.app, task_id, cascade=asked.body["cascade"], how=asked.channel)
    )


def post_cancel_task(desk: RequestContext, asked: PageRequest) -> Document:
    task = desk.task(asked.task)
    run = desk.app.store.run(task.run_id)
    left = commands.cancel_work(desk.app, run, task.id, timeout=CANCEL_WITHIN, how=asked.channel)
    return commands.cancel_document(desk.app, run, task.id, left)


def post_cancel_run(desk: RequestContext, asked: PageRequest) -> Document:
    run = desk.run(asked.run)
    left = commands.cancel_work(desk.app, run, timeout=CANCEL_WITHIN, how=asked.channel)
    return commands.cancel_document(desk.app, run, "", left)


def post_go(desk: RequestContext, asked: PageRequest) -> Document:
    run = desk.run(asked.run)
    commands.continue_run(desk.app, run, asked.body["words"], how=asked.channel)
    return commands.run_answer_document(desk.app, run)
