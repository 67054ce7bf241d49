"""The history of a run, folded from its journal: attempts, stages, waits, decisions, answers.

Page, report, `why`, traces and statistics read it instead of matching journal events themselves.
`add` takes entries oldest first, and more of them at any time.

The names are imported when they are first used: most commands need few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yaoki.core.lazy_names import import_on_first_use

if TYPE_CHECKING:
    from yaoki.views.history.agent_usage import AgentUsage
    from yaoki.views.history.run import RunHistory, build_run_history
    from yaoki.views.history.task import TaskHistory, build_history
    from yaoki.views.history.values import (
        AgentRun,
        Attempt,
        AttemptEnd,
        AttemptSpan,
        CheckResult,
        EndedInterval,
        Judgment,
        PersonWait,
        RecordedAnswer,
        RecordedFailure,
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
    "AttemptSpan",
    "CheckResult",
    "EndedInterval",
    "Judgment",
    "PersonWait",
    "RecordedAnswer",
    "RecordedFailure",
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

_MODULES = {
    "AgentRun": "values",
    "AgentUsage": "agent_usage",
    "Attempt": "values",
    "AttemptEnd": "values",
    "AttemptSpan": "values",
    "CheckResult": "values",
    "EndedInterval": "values",
    "Judgment": "values",
    "PersonWait": "values",
    "RecordedAnswer": "values",
    "RecordedFailure": "values",
    "Removal": "values",
    "RunHistory": "run",
    "SentPrompt": "values",
    "StageSpan": "values",
    "TaskHistory": "task",
    "Wait": "values",
    "WaitCause": "values",
    "build_history": "task",
    "build_run_history": "run",
}


if not TYPE_CHECKING:  # a type checker would believe in any name
    __getattr__ = import_on_first_use(__name__, _MODULES)
