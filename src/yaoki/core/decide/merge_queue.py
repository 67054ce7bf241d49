"""The train: tasks that land on the same line are proven on top of each other.

A landing makes every proof on its way worthless.  So the first proof of a task is made on the
branch as it is, beside the others', and tells early what is wrong.  Who was refused then rides: its
candidate is built on that of the task before it, proven at the same time, and lands after it.
"""

from __future__ import annotations

from collections.abc import Iterable

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Stage, Task, TaskId

# A proof that is on its way, or about to be landed.
COMPETING_STAGES = (Stage.VERIFY, Stage.LAND)


@dataclass(frozen=True, slots=True)
class CompetingTask:
    """Another task of the same line that is at its proof, and how often it was refused."""

    id: TaskId
    landing_refusals: int


def queue_members(task: Task, others: Iterable[CompetingTask]) -> frozenset[TaskId]:
    """Whose candidates may be built on: those of all who were refused, this one's as well."""
    return frozenset((task.id, *(one.id for one in others if one.landing_refusals)))


def must_yield(task: Task, others: Iterable[CompetingTask]) -> bool:
    """Never refused itself, it does not land before those who ride: their proofs would be void."""
    moves = task.work.verified_commit != task.work.onto
    if task.stage is not Stage.LAND or task.work.landing_refusals or not moves:
        return False
    return any(one.landing_refusals for one in others)
