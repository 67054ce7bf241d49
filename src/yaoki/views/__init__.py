"""What screens show, as pure values: runs, tasks, their history, and why a task is where it is."""

from __future__ import annotations

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
from yaoki.views.masking import mask_document
from yaoki.views.plans import PlanView, TaskBound, build_plan_view
from yaoki.views.tasks import (
    OFF_BRANCH,
    UNCHANGED,
    IdleReason,
    RunView,
    TaskView,
    build_run_view,
    describe_wait,
    first_to_answer,
    is_proof,
    summarize_run,
)
from yaoki.views.why import AttemptSummary, Explanation, explain
from yaoki.views.workers import why_not_taken, worker_lines, workers_document

__all__ = [
    "OFF_BRANCH",
    "SCHEMA",
    "UNCHANGED",
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
    "describe_wait",
    "entry_document",
    "explain",
    "explanation_document",
    "failure_words",
    "first_to_answer",
    "is_proof",
    "mask_document",
    "plan_document",
    "runs_document",
    "status_document",
    "status_schema",
    "summarize_run",
    "why_not_taken",
    "worker_lines",
    "workers_document",
]
