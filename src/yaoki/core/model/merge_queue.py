"""The merge queue of a branch: a task's choice to enter it, and the tasks that compete with it."""

from __future__ import annotations

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model.enums import Stage
from yaoki.core.model.names import TaskId
from yaoki.core.model.spec import TaskSpec


@dataclass(frozen=True, slots=True)
class QueueChoice:
    """Does a task enter the merge queue with its first proof?

    `ahead` is the number of queued tasks whose proofs are still running, `land_chance` the chance
    that all of them land.  `own_chance` is the chance that this task passes.  It is computed from
    `passed` and `failed`, the first proofs that this worker saw in the run; for a second or later
    attempt, only those of such attempts count.  `queue_cost` and `look_cost` are the expected
    numbers of wasted executions of the checks: in the queue, and with a proof outside of it.
    """

    enters: bool
    takes_along: bool
    ahead: int
    passed: int
    failed: int
    own_chance: float
    land_chance: float
    queue_cost: float
    look_cost: float


@dataclass(frozen=True, slots=True)
class CompetingTask:
    """Another active task on the same branch; `attempt` is the number of its present attempt.

    `was_refused`: it was verified once, but its landing was refused.
    """

    id: TaskId
    stage: Stage
    is_queued: bool
    was_refused: bool
    attempt: int
    spec: TaskSpec
