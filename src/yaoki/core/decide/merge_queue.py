"""The merge queue: tasks that land on the same branch are verified on top of each other.

A landing invalidates every verification that is still running.  So a task enters the queue: its
candidate is built on that of its predecessor, verified at the same time, and lands after it.  If
the tasks ahead are likely to fail, their failure would make its verification void; then the task is
first verified on the branch as it is, which finds its own faults early, and the next task that
enters the queue takes its verified work along.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from yaoki.core.decide.verdict_reuse import names_commit
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import (
    BaselineMode,
    CheckSpec,
    CompetingTask,
    QueueChoice,
    QueueEntry,
    Stage,
    Task,
    TaskId,
    TaskSpec,
)
from yaoki.core.model.check_types import FILE_CHECKS

# Verification is running, or the landing is next.
COMPETING_STAGES = (Stage.VERIFY, Stage.LAND)
# The prior before any proof was observed: four of five attempts pass.
PRIOR_PASSED, PRIOR_FAILED = 4, 1
# The chance of work that was verified once: on a moved branch it fails only if it clashes with what
# landed.
VERIFIED_CHANCE = 0.98
# An early look is followed by a second execution, which several tasks share.
LOOK_COST = 0.3
# Below this chance of its own, a task would waste the joint proof of the others too often.
TAKE_ALONG_CHANCE = 0.8
# The most tasks that one proof lands.
JOINT_MAX = 16
# A task waits this many times as long as usual while a queued task may be taking it along.
LED_WAITS_MAX = 2


@dataclass(frozen=True, slots=True)
class PassCounts:
    """The first proofs of attempts that a worker saw in one run: first and later attempts."""

    first_passed: int = 0
    first_failed: int = 0
    later_passed: int = 0
    later_failed: int = 0

    def of_attempt(self, attempt: int) -> tuple[int, int]:
        if attempt > 1:
            return self.later_passed, self.later_failed
        return self.first_passed, self.first_failed

    def chance(self, attempt: int) -> float:
        """The expected share of passing proofs: the prior counts as that many observations.

        A task that failed again and again is likely to go on, however many others pass.
        """
        passed, failed = self.of_attempt(attempt)
        passes = PRIOR_PASSED + passed
        of_all = passes / (passes + PRIOR_FAILED + failed)
        return min(of_all, 1 / max(1, attempt - 1))


def choose_queue_entry(
    attempt: int, others: Iterable[CompetingTask], counts: PassCounts
) -> QueueChoice:
    """Choose the place with fewer expected wasted executions: in the queue, or an early look."""
    ahead = [one for one in others if one.is_queued and one.stage is Stage.VERIFY]
    land_chance = prod(
        VERIFIED_CHANCE if one.was_refused else counts.chance(one.attempt) for one in ahead
    )
    own_chance, queue_cost = counts.chance(attempt), 1 - land_chance
    passed, failed = counts.of_attempt(attempt)
    return QueueChoice(
        enters=queue_cost <= LOOK_COST,
        takes_along=own_chance >= TAKE_ALONG_CHANCE,
        ahead=len(ahead),
        passed=passed,
        failed=failed,
        own_chance=round(own_chance, 3),
        land_chance=round(land_chance, 3),
        queue_cost=round(queue_cost, 3),
        look_cost=LOOK_COST,
    )


def queue_members(task: Task, others: Iterable[CompetingTask]) -> frozenset[TaskId]:
    """The tasks whose candidates may be built on: all that are queued, this one included."""
    queued = (one.id for one in others if one.is_queued and one.stage in COMPETING_STAGES)
    return frozenset((task.id, *queued))


def must_yield(task: Task, others: Iterable[CompetingTask]) -> bool:
    """A task that is not in the queue lets queue members land first, to keep their proofs valid."""
    moves = task.work.verified_commit != task.work.onto
    if task.stage is not Stage.LAND or task.work.is_queued or not moves:
        return False
    return len(queue_members(task, others)) > 1


def must_lead(task: Task, others: Sequence[CompetingTask], waited: float) -> bool:
    """Must this task, which waits to be taken along, enter the queue itself?

    `waited` is a multiple of the time that it should wait.  A task with the same checks may enter
    the queue and take it along.  If none does in time, the first of the waiting tasks enters the
    queue and takes the others along.  While a queued task is being verified, it may be joining the
    waiting tasks, so they wait longer, up to `LED_WAITS_MAX`.
    """
    alike = [one for one in others if has_same_checks(task.spec, one.spec)]
    is_led = any(one.stage is Stage.VERIFY and one.is_queued for one in alike)
    if is_led and waited < LED_WAITS_MAX:
        return False
    waiting = [one.id for one in alike if one.stage is Stage.LAND and not one.is_queued]
    is_first = all(task.id < other for other in waiting)
    is_full = len(waiting) + 1 >= JOINT_MAX
    nobody_comes = all(one.stage is Stage.LAND for one in alike)
    return is_first and (waited >= 1 or is_full or nobody_comes)


def can_be_taken_along(task: Task, other: Task) -> bool:
    """May `task` prove the verified work of `other` with its own?

    Only with the same checks, so that the joint commit is proven for both.  A person's waiver holds
    for one task's work alone.
    """
    waits = other.stage is Stage.LAND and not other.work.is_queued
    withdrawn = other.cancel_requested or other.recall_requested or other.waivers
    own_commit = other.work.verified_commit not in {"", other.work.onto}
    return waits and own_commit and not withdrawn and has_same_checks(task.spec, other.spec)


def is_waiting_with(task: Task, other: Task, commit: str) -> bool:
    """Does the other task still wait for the landing of exactly this commit, with these checks?

    The store does not change together with the branch, so this is asked as late as possible.
    """
    waits = other.stage is Stage.LAND and not other.state.is_final
    withdrawn = other.cancel_requested or other.recall_requested
    same = other.work.verified_commit == commit and has_same_checks(task.spec, other.spec)
    return waits and not withdrawn and same


def may_take_along(task: Task) -> bool:
    entry = task.work.queue_entry
    return entry is QueueEntry.TOGETHER and task.spec.kind.is_change and not task.waivers


def has_same_checks(one: TaskSpec, other: TaskSpec) -> bool:
    """Are both proven by the same checks, after the same set-up?

    A check that looks at more than the files of a commit judges each task by its own: its goal,
    its changes, its base.
    """
    same_kind = one.kind.is_change and other.kind.is_change
    same_setup = (one.setup, one.setup_inputs, one.timeout) == (
        *(other.setup, other.setup_inputs, other.timeout),
    )
    return (
        same_kind and same_setup and one.checks == other.checks and all(map(_is_shared, one.checks))
    )


def _is_shared(check: CheckSpec) -> bool:
    """Does the result depend on the files of the commit alone?"""
    return (
        check.type in FILE_CHECKS
        and check.baseline is BaselineMode.STRICT
        and not names_commit(check)
    )
