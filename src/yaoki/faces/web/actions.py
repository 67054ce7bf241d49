"""Actions of a person on the page, the same as on the command line."""

from __future__ import annotations

from datetime import timedelta

from yaoki.app import commands
from yaoki.core.model import Choice
from yaoki.faces.web.access_tokens import FRESH
from yaoki.faces.web.errors import RequestRejected
from yaoki.faces.web.parameters import PageRequest
from yaoki.faces.web.request_context import RequestContext
from yaoki.views.documents import Document

# A page does not wait like a terminal: events report when a task has ended.
CANCEL_WITHIN = timedelta(seconds=1)


def post_answer(context: RequestContext, request: PageRequest) -> Document:
    if request.body["choice"] == Choice.WAIVE and not request.is_fresh:
        minutes = round(FRESH.total_seconds() / 60)
        words = f"a waiver needs a link no older than {minutes} minutes"
        raise RequestRejected(403, "OLD_LINK", words, hint="open the link that yaoki ui prints")
    return _answer(context, request, Choice(request.body["choice"]), request.body["check"])


def post_retry(context: RequestContext, request: PageRequest) -> Document:
    return _answer(context, request, Choice.RETRY, "")


def _answer(context: RequestContext, request: PageRequest, choice: Choice, check: str) -> Document:
    task_id = context.task(request.task).id
    task = commands.answer_task(
        context.app, task_id, choice, request.body["words"], check, how=request.channel
    )
    return commands.answer_document(context.app, task, choice)


def post_undo(context: RequestContext, request: PageRequest) -> Document:
    task_id = context.task(request.task).id
    app, cascade = context.app, request.body["cascade"]
    undone = commands.undo_task(app, task_id, cascade=cascade, how=request.channel)
    return commands.undo_document(app, undone)


def post_cancel_task(context: RequestContext, request: PageRequest) -> Document:
    task = context.task(request.task)
    run = context.app.reads.run(task.run_id)
    left = commands.cancel_work(
        context.app, run, task.id, timeout=CANCEL_WITHIN, how=request.channel
    )
    return commands.cancel_document(context.app, run, task.id, left)


def post_cancel_run(context: RequestContext, request: PageRequest) -> Document:
    run = context.run(request.run)
    left = commands.cancel_work(context.app, run, timeout=CANCEL_WITHIN, how=request.channel)
    return commands.cancel_document(context.app, run, "", left)


def post_go(context: RequestContext, request: PageRequest) -> Document:
    run = context.run(request.run)
    commands.continue_run(context.app, run, request.body["words"], how=request.channel)
    return commands.run_answer_document(context.app, run)
