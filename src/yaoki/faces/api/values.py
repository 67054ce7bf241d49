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
class Event:
    """One journal entry.  `seq` is the cursor: `events(after=event.seq)` continues there."""

    seq: int
    at: datetime
    name: str
    task: str
    attempt: int
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
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
class Question:
    """The question of a task, and the answers it accepts."""

    task: str
    name: str
    reason: str
    text: str
    choices: tuple[str, ...]


def event_of(entry: JournalEntry) -> Event:
    return Event(entry.seq, entry.at, entry.event, entry.task_id, entry.attempt, entry.data)


def task_of(view: TaskView) -> Task:
    row = view.row
    return Task(
        row.id,
        row.name,
        row.state.value,
        row.stage,
        row.attempt,
        row.agent,
        view.reason,
        row.landed_commit,
        row.required,
    )


def question_of(view: TaskView) -> Question:
    row = view.row
    return Question(row.id, row.name, view.reason, row.question, tuple(view.choices))
