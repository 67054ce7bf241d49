"""Values that a caller sees of a run; they do not change while the run continues."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from yaoki.core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from yaoki.ports import JournalEntry
    from yaoki.views import TaskView


@dataclass(frozen=True, slots=True)
class RunEvent:
    """A journal entry.  `seq` is the cursor: `events(after=event.seq)` continues there."""

    seq: int
    at: datetime
    name: str
    task: str
    attempt: int
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """The current state of a task.  `commit` is what it landed, empty before."""

    id: str
    name: str
    state: str
    stage: str
    attempt: int
    agent: str
    reason: str
    commit: str
    required: bool


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """The question of a task, and the answers it accepts."""

    task: str
    name: str
    reason: str
    text: str
    choices: tuple[str, ...]


def event_of(entry: JournalEntry) -> RunEvent:
    return RunEvent(entry.seq, entry.at, entry.event, entry.task_id, entry.attempt, entry.data)


def task_of(view: TaskView) -> TaskSummary:
    row = view.row
    return TaskSummary(
        row.id,
        row.name,
        row.state.value,
        row.stage,
        row.attempt,
        row.agent_title,
        view.reason,
        row.landed_commit,
        row.required,
    )


def question_of(view: TaskView) -> OpenQuestion:
    row = view.row
    return OpenQuestion(row.id, row.name, view.reason, row.question, tuple(view.choices))
