"""The choice between the merge queue and an early look, with the numbers that it follows from."""

from __future__ import annotations

from yaoki.core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class QueueChoice:
    """Does a task enter the merge queue with its first proof?

    `ahead` counts the queued tasks whose proofs are still running, `land_chance` is the chance that
    all of them land.  `own_chance` is that of the task itself, from the `passed` and `failed` first
    proofs that this worker saw in the run (of second and later attempts, for such an attempt).
    `queue_cost` and `look_cost` are the expected executions of the checks in vain.
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
