"""Responses about everything around runs: questions, workers, limits, prompts, settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from yaoki import __version__
from yaoki.adapters.system.files import free_disk_bytes, free_memory_bytes
from yaoki.app.run_view import load_budget_usage
from yaoki.core.machine.codec import to_data
from yaoki.core.model import Run, RunId
from yaoki.faces.web.journal import entry_with_words
from yaoki.faces.web.parameters import PageRequest
from yaoki.faces.web.request_context import RequestContext
from yaoki.faces.web.runs import clean_task_names, task_documents
from yaoki.faces.web.tasks import waivable_checks
from yaoki.views import SCHEMA, RunView, TaskView, failure_words, workers_document
from yaoki.views.choices import retry_subject
from yaoki.views.documents import Document, account_document
from yaoki.views.history import build_history
from yaoki.views.treatments import (
    ALL_PARTS,
    PROMPT_PARTS,
    TreatmentPart,
    cure_rate_document,
    sum_treatments,
)

SHOWN_MAX = 200


def get_session(context: RequestContext, request: PageRequest) -> Document:
    app = context.app_without_store
    return {
        "schema": SCHEMA,
        "may": request.permission,
        "version": __version__,
        "repository": app.repository.top.name,
        "folder": str(app.repository.top),
        # Without a setting the browser chooses the language.
        "language": ""
        if app.context.loaded_settings.origin["language"] == "default"
        else app.settings.language,
        "now": context.now.isoformat(),
        "cursor": context.cursor,
        "has_store": context.has_store,
        "newest": context.newest_run_id,
    }


# ------------------------------------------------------------------ needs you


def get_needs_you(context: RequestContext, _: PageRequest) -> Document:
    """Only runs with an escalated task are read completely."""
    cursor = context.cursor
    runs = context.app.reads.runs() if context.has_store else []
    views = [context.view(run.id) for run in runs if _has_escalated(context, run)]
    asking = [(view, task) for view in views for task in view.tasks_asking]
    paused = [run for run in runs if run.pause_reason and not run.cancel_requested]
    listed = [_question(context, view, task) for view, task in asking[:SHOWN_MAX]]
    return {
        "schema": SCHEMA,
        "cursor": cursor,
        "total": len(asking) + len(paused),
        "asking": sorted(listed, key=lambda one: one["since"] or ""),
        "paused": [_pause_document(run) for run in paused[:SHOWN_MAX]],
    }


def _has_escalated(context: RequestContext, run: Run) -> bool:
    tally = Counter[str]()
    for (state, _), n in context.app.reads.count_by_state(run.id).items():
        tally[state.value] += n
    return bool(tally["ESCALATED"])


def _question(context: RequestContext, view: RunView, shown: TaskView) -> Document:
    task = context.app.reads.task(shown.row.id)
    history = build_history(context.app.reads.journal(task_id=task.id, limit=5000))
    below = context.cached(
        view.run.id, f"below {task.id}", lambda _, shape: shape.count_dependents(task.id)
    )
    return {
        "run": view.run.id,
        "goal": view.run.goal,
        "task": task_documents(view, [shown], context.now, clean_task_names(context, view))[0],
        "since": history.asked_at.isoformat() if history.asked_at else None,
        "message": history.question or None,
        "failure": failure_words(to_data(task.failure)) if task.failure else None,
        "check": (task.failure.check or None) if task.failure else None,
        "waivable": waivable_checks(task),
        "retry_subject": retry_subject(shown.row).value,
        "worktree": task.work.worktree or None,
        "required": shown.row.required,
        "blocks": below,
    }


def _pause_document(run: Run) -> Document:
    return {
        "run": run.id,
        "goal": run.goal,
        "paused": run.pause_reason,
        "choices": ["go", "abort"],
        "next": f"yaoki answer {run.id} go",
    }


# ------------------------------------------------------------------ workers and limits


def get_workers(context: RequestContext, _: PageRequest) -> Document:
    live = context.app.services.list_live_workers() if context.has_store else []
    return {**workers_document(live), "cursor": context.cursor, "now": context.now.isoformat()}


def get_limits(context: RequestContext, _: PageRequest) -> Document:
    settings = context.app_without_store.settings
    accounts = context.app.reads.accounts() if context.has_store else []
    room = {
        "disk_free_bytes": free_disk_bytes(context.app_without_store.repository.top),
        "memory_free_bytes": free_memory_bytes(),
    }
    return {
        "schema": SCHEMA,
        "cursor": context.cursor,
        "now": context.now.isoformat(),
        "accounts": [account_document(account) for account in accounts],
        "budgets": list(_budgets(context)) if context.has_store else [],
        "limits": asdict(settings.limits),
        "room": room,
    }


def _budgets(context: RequestContext) -> Iterable[Document]:
    app = context.app
    for run_id, _, _ in app.reads.unfinished_runs()[:SHOWN_MAX]:
        run = app.reads.run(RunId(run_id))
        for usage in load_budget_usage(app, run):
            yield {
                "whose": usage.scope,
                "run": run.id,
                "name": usage.name,
                "used": usage.used,
                "limit": usage.limit,
                "share": usage.share,
                "granted": 1 + run.budget_grants,
            }


# ------------------------------------------------------------------ statistics of the journal


def get_prompts(context: RequestContext, _: PageRequest) -> Document:
    if not context.has_store:
        return {"schema": SCHEMA, "cursor": 0, "complete": True, "prompts": [], "treatments": []}
    cursor, counts = context.cursor, context.app.reads.treatment_counts()

    def documents(parts: Sequence[TreatmentPart]) -> list[Document]:
        return [cure_rate_document(rate, parts) for rate in sum_treatments(counts, parts)]

    return {
        "schema": SCHEMA,
        "cursor": cursor,
        "complete": True,
        "prompts": documents(PROMPT_PARTS),
        "treatments": documents(ALL_PARTS),
    }


def get_reliability(context: RequestContext, _: PageRequest) -> Document:
    if context.has_store:
        fold, complete, cursor = context.reliability.read_up_to(context.cursor)
    else:
        from yaoki.views.history.faults import Reliability

        fold, complete, cursor = Reliability(), True, 0
    return {
        "schema": SCHEMA,
        "cursor": cursor,
        "complete": complete,
        "since": fold.since.isoformat() if fold.since else None,
        "counts": fold.numbers,
        "refused": dict(fold.refused),
        "reconciled": dict(fold.reconciled),
        "recent": [entry_with_words(context, entry) for entry in reversed(fold.recent)],
    }


def get_config(context: RequestContext, _: PageRequest) -> Document:
    loaded = context.app_without_store.context.loaded_settings
    values = {
        key: {"value": to_data(value), "origin": loaded.origin[key]}
        for key, value in loaded.values.items()
    }
    return {"schema": SCHEMA, "file": str(loaded.file or "") or None, "settings": values}
