"""The history of a run, folded from its journal: attempts, stages, waits, decisions, answers.

Page, report, `why` and statistics read it here instead of matching journal events themselves.
`add` takes entries oldest first, and more of them at any time.
"""

from __future__ import annotations

from yaoki.views.history.run import AgentUsage, RunHistory, build_run_history
from yaoki.views.history.task import TaskHistory, build_history
from yaoki.views.history.values import (
    AgentRun,
    Attempt,
    AttemptEnd,
    CheckResult,
    Judgment,
    PersonWait,
    RecordedAnswer,
    Removal,
    SentPrompt,
    StageSpan,
    Wait,
    WaitCause,
)

__all__ = [
    "AgentRun",
    "AgentUsage",
    "Attempt",
    "AttemptEnd",
    "CheckResult",
    "Judgment",
    "PersonWait",
    "RecordedAnswer",
    "Removal",
    "RunHistory",
    "SentPrompt",
    "StageSpan",
    "TaskHistory",
    "Wait",
    "WaitCause",
    "build_history",
    "build_run_history",
]
