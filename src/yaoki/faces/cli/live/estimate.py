"""The estimated remaining time of a run; unknown without landed tasks."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from datetime import datetime, timedelta
from math import ceil

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import State
from yaoki.core.text import format_duration
from yaoki.views import RunView, TaskView

DURATIONS_MAX = 1000
OVER_STATES = frozenset({State.DONE, State.CANCELLED, State.REPLACED, State.ESCALATED})


class Pace:
    """The durations of landed tasks, from their first claim on, waits included."""

    def __init__(self) -> None:
        self._starts: dict[str, datetime] = {}
        self._durations: list[timedelta] = []

    def record_start(self, task_id: str, at: datetime) -> None:
        """Only the first time counts until the task lands."""
        self._starts.setdefault(task_id, at)

    def record_landing(self, task_id: str, at: datetime) -> None:
        start = self._starts.pop(task_id, None)
        if start is not None and at >= start:
            self._durations = [*self._durations[1 - DURATIONS_MAX :], at - start]

    def longest_active(self, ids: Container[str], now: datetime) -> timedelta:
        """The time for which the longest of these tasks has been active."""
        starts = [at for task_id, at in self._starts.items() if task_id in ids]
        return max((now - at for at in starts), default=timedelta(0))

    @property
    def durations(self) -> Sequence[timedelta]:
        return self._durations


@dataclass(frozen=True, slots=True)
class RemainingWork:
    """The remaining tasks, and in how many rounds they run."""

    task_ids: frozenset[str]
    rounds: int


def remaining_work(view: RunView, slots: int) -> RemainingWork:
    """As many rounds as the slots need, and at least the longest chain of needs.

    Tasks that wait for a person, directly or indirectly, are not counted: no one knows when they
    answer.
    """
    open_ = [task for task in view.tasks if task.row.state not in OVER_STATES and not task.blocked]
    rounds = max(ceil(len(open_) / max(1, slots)), longest_chain(open_))
    return RemainingWork(frozenset(task.row.id for task in open_), rounds)


def time_left(coming: RemainingWork, pace: Pace, now: datetime) -> timedelta | None:
    """Each round takes as long as the median task did.

    None while no task has landed, and after that time has passed without the work being done.
    """
    if not coming.task_ids:
        return timedelta(0)
    if not pace.durations:
        return None
    usual = sorted(pace.durations)[len(pace.durations) // 2]
    used = min(usual, pace.longest_active(coming.task_ids, now))
    return usual * coming.rounds - used or None


def longest_chain(tasks: Sequence[TaskView]) -> int:
    """The length of the longest chain of dependencies among these tasks."""
    unmet: Mapping[str, Sequence[str]] = {task.row.id: task.unmet_needs for task in tasks}
    depth: dict[str, int] = {}
    for first in unmet:
        stack = [first]
        while stack:
            here = stack[-1]
            deeper = [need for need in unmet[here] if need in unmet and need not in depth]
            if deeper:
                stack += deeper[:1]
                continue
            depth[here] = 1 + max((depth.get(need, 0) for need in unmet[here]), default=0)
            stack.pop()
    return max(depth.values(), default=0)


def estimate_words(time: timedelta) -> str:
    """An estimate of minutes has no useful seconds."""
    seconds = time.total_seconds()
    return format_duration(round(seconds) if seconds < 100 else 60 * round(seconds / 60))
