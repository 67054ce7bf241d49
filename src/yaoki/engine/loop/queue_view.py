"""The merge queue as a task sees it, and what its worker remembers of earlier proofs."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import islice

from yaoki.core.bounded_cache import BoundedCache
from yaoki.core.decide.merge_queue import (
    COMPETING_STAGES,
    JOINT_MAX,
    PassCounts,
    can_be_taken_along,
    choose_queue_entry,
    is_waiting_with,
    may_take_along,
    must_lead,
    must_yield,
    queue_members,
)
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import CompetingTask, QueueChoice, RunId, Stage, Task, TaskId
from yaoki.core.model.stage_report import CandidateVerified, MergeConflicted, StageReport
from yaoki.ports import WorkerStore

# A task waits to be taken along for at most this many times the duration of its own proof,
PROOFS_WAITED = 16
# and never longer than this.
COMPANY_WAIT_MAX = timedelta(minutes=10)


class ProofMemory:
    """The results and durations of the proofs that a worker has run; lost when it ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: BoundedCache[RunId, PassCounts] = BoundedCache()
        self._durations: BoundedCache[TaskId, timedelta] = BoundedCache()
        # The attempts that chose to enter the queue; the store learns it a moment later.
        self._entered: BoundedCache[tuple[TaskId, int], bool] = BoundedCache()

    def record(self, task: Task, report: StageReport, duration: timedelta) -> None:
        """Record the end of a verification; a repeated one says nothing about the attempt."""
        if not isinstance(report, CandidateVerified | MergeConflicted):
            return
        passed = isinstance(report, CandidateVerified) and report.verdict.passed
        with self._lock:
            self._durations[task.id] = duration
            if task.spec.kind.is_change and not task.work.landing_refusals:
                counts = self._counts.get(task.run_id) or PassCounts()
                self._counts[task.run_id] = _count(counts, task.attempt, passed=passed)

    def choose_entry(self, task: Task, others: Iterable[CompetingTask]) -> QueueChoice:
        """One task after the other: those that end together see what the others chose."""
        with self._lock:
            seen = [self._as_entered(other) for other in others]
            counts = self._counts.get(task.run_id) or PassCounts()
            choice = choose_queue_entry(task.attempt, seen, counts)
            if choice.enters:
                self._entered[task.id, task.attempt] = True
        return choice

    def company_wait(self, task_id: TaskId) -> timedelta:
        with self._lock:
            duration = self._durations.get(task_id) or timedelta(0)
        return min(PROOFS_WAITED * duration, COMPANY_WAIT_MAX)

    def _as_entered(self, other: CompetingTask) -> CompetingTask:
        chose = other.stage is Stage.WORK and (other.id, other.attempt) in self._entered
        return replace(other, stage=Stage.VERIFY, is_queued=True) if chose else other


def _count(counts: PassCounts, attempt: int, *, passed: bool) -> PassCounts:
    which = f"{'later' if attempt > 1 else 'first'}_{'passed' if passed else 'failed'}"
    return replace(counts, **{which: getattr(counts, which) + 1})


class StoredQueue:
    """`QueueView` of one task, as the store has it."""

    def __init__(self, store: WorkerStore, task: Task, memory: ProofMemory) -> None:
        self._store, self._task, self._memory = store, task, memory

    def members(self) -> frozenset[TaskId]:
        return queue_members(self._task, self._others())

    def companions(self) -> Sequence[Task]:
        if not may_take_along(self._task):
            return ()
        waiting = self._store.landing_tasks(self._task)
        able = (other for other in waiting if can_be_taken_along(self._task, other))
        # A task that others need does not wait for anybody.
        staying = (other for other in able if not self._store.has_dependents(other.id))
        return list(islice(staying, JOINT_MAX - 1))

    def must_yield(self) -> bool:
        return must_yield(self._task, self._others())

    def must_lead(self, waited: timedelta) -> bool:
        """A task that others need enters the queue at once: they could start earlier."""
        if self._store.has_dependents(self._task.id):
            return True
        usual = self._memory.company_wait(self._task.id)
        others = self._store.competing_tasks(self._task)
        return must_lead(self._task, others, waited / usual if usual else math.inf)

    def choose_entry(self) -> QueueChoice | None:
        """None for a task that is alone on its branch: a queue would only cost a ref."""
        others = self._store.competing_tasks(self._task)
        if not others:
            return None
        return self._memory.choose_entry(self._task, others)

    def are_waiting(self, parts: Mapping[TaskId, str]) -> bool:
        return all(
            is_waiting_with(self._task, self._store.task(task_id), commit)
            for task_id, commit in parts.items()
        )

    def _others(self) -> Sequence[CompetingTask]:
        stage = self._task.stage
        return self._store.competing_tasks(self._task) if stage in COMPETING_STAGES else ()
