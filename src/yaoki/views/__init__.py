"""What any screen shows, as pure values: runs, tasks, the story of a run, and why."""

from __future__ import annotations

from yaoki.views.documents import (
    SCHEMA,
    entry_document,
    explanation_document,
    plan_document,
    runs_document,
    status_document,
    status_schema,
)
from yaoki.views.masking import masked
from yaoki.views.plans import PlanView, TaskBound, plan_view
from yaoki.views.story import failure_words, told
from yaoki.views.tasks import (
    OFF_BRANCH,
    UNCHANGED,
    Idle,
    RunView,
    TaskView,
    in_need,
    is_proof,
    run_head,
    run_view,
    waiting_for,
)
from yaoki.views.why import Decision, Explanation, Try, explain
from yaoki.views.workers import lacking, worker_lines, workers_document

__all__ = [
    "OFF_BRANCH",
    "SCHEMA",
    "UNCHANGED",
    "Decision",
    "Explanation",
    "Idle",
    "PlanView",
    "RunView",
    "TaskBound",
    "TaskView",
    "Try",
    "entry_document",
    "explain",
    "explanation_document",
    "failure_words",
    "in_need",
    "is_proof",
    "lacking",
    "masked",
    "plan_document",
    "plan_view",
    "run_head",
    "run_view",
    "runs_document",
    "status_document",
    "status_schema",
    "told",
    "waiting_for",
    "worker_lines",
    "workers_document",
]
