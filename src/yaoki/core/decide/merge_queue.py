"""The merge queue: tasks that land on the same branch are verified on top of each other.

A landing invalidates every verification that is still running.  So a task is first verified on the
branch as it is, in parallel with others, which finds its own faults early.  If its landing is then
refused, it joins the queue: its candidate is built on that of its predecessor, verified at the same
time, and lands after it.
"""

from __future__ import annotations

from collections.abc import Iterable

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Stage, Task, TaskId

# Verification is running, or the landing is next.
COMPETING_STAGES = (Stage.VERIFY, Stage.LAND)


@dataclass(frozen=True, slots=True)
class CompetingTask:
    """Another task in verification for the same branch, and how often its landing was refused."""

    id: TaskId
    landing_refusals: int


def queue_members(task: Task, others: Iterable[CompetingTask]) -> frozenset[TaskId]:
    """The tasks whose candidates may be built on: all that were refused, this one included."""
    return frozenset((task.id, *(one.id for one in others if one.landing_refusals)))


def must_yield(task: Task, others: Iterable[CompetingTask]) -> bool:
    """A task that was never refused lets queue members land first, to keep them valid."""
    moves = task.work.verified_commit != task.work.onto
    if task.stage is not Stage.LAND or task.work.landing_refusals or not moves:
        return False
    return any(one.landing_refusals for one in others)
