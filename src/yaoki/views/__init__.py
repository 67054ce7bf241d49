"""The pure values that screens show: runs, tasks, their history, and the reason of each state.

The names are imported when they are first used: most commands need few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yaoki.core.lazy_names import import_on_first_use

if TYPE_CHECKING:
    from yaoki.views.decisions import ExplainedDecision
    from yaoki.views.documents import (
        SCHEMA,
        entry_document,
        explanation_document,
        plan_document,
        runs_document,
        status_document,
        status_schema,
    )
    from yaoki.views.entry_text import describe_entry, failure_words
    from yaoki.views.plans import PlanView, TaskBound, build_plan_view
    from yaoki.views.run_state import build_run_view, summarize_run
    from yaoki.views.tasks import (
        OFF_BRANCH,
        IdleReason,
        RunView,
        TaskView,
        describe_unchanged,
        first_to_answer,
        is_proof,
    )
    from yaoki.views.wait_text import describe_wait
    from yaoki.views.why import AttemptSummary, Explanation, explain
    from yaoki.views.workers import why_not_taken, worker_lines, workers_document

__all__ = [
    "OFF_BRANCH",
    "SCHEMA",
    "AttemptSummary",
    "ExplainedDecision",
    "Explanation",
    "IdleReason",
    "PlanView",
    "RunView",
    "TaskBound",
    "TaskView",
    "build_plan_view",
    "build_run_view",
    "describe_entry",
    "describe_unchanged",
    "describe_wait",
    "entry_document",
    "explain",
    "explanation_document",
    "failure_words",
    "first_to_answer",
    "is_proof",
    "plan_document",
    "runs_document",
    "status_document",
    "status_schema",
    "summarize_run",
    "why_not_taken",
    "worker_lines",
    "workers_document",
]

_MODULES = {
    "OFF_BRANCH": "tasks",
    "SCHEMA": "documents",
    "describe_unchanged": "tasks",
    "AttemptSummary": "why",
    "ExplainedDecision": "decisions",
    "Explanation": "why",
    "IdleReason": "tasks",
    "PlanView": "plans",
    "RunView": "tasks",
    "TaskBound": "plans",
    "TaskView": "tasks",
    "build_plan_view": "plans",
    "build_run_view": "run_state",
    "describe_entry": "entry_text",
    "describe_wait": "wait_text",
    "entry_document": "documents",
    "explain": "why",
    "explanation_document": "documents",
    "failure_words": "entry_text",
    "first_to_answer": "tasks",
    "is_proof": "tasks",
    "plan_document": "documents",
    "runs_document": "documents",
    "status_document": "documents",
    "status_schema": "documents",
    "summarize_run": "run_state",
    "why_not_taken": "workers",
    "worker_lines": "workers",
    "workers_document": "workers",
}


if not TYPE_CHECKING:  # a type checker would believe in any name
    __getattr__ = import_on_first_use(__name__, _MODULES)
