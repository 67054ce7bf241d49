"""Claim -> stage -> decide -> record, until the task rests.  No threads here."""

from __future__ import annotations

import errno
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from yaoki.core.decide.classification import UNDELIVERED
from yaoki.core.decide.merge_queue import COMPETING_STAGES, CompetingTask, must_yield, queue_members
from yaoki.core.decide.rules import decide
from yaoki.core.machine.events import Event, LeaseReleased
from yaoki.core.model import (
    FaultSource,
    Lease,
    Pause,
    PauseCause,
    Run,
    RunId,
    Stage,
    State,
    Task,
    TaskId,
    TaskKind,
)
from yaoki.core.model.stage_report import (
    CommitLanded,
    StageDeferred,
    StageFaulted,
    StageReport,
    WorkInterrupted,
)
from yaoki.core.text import format_count
from yaoki.engine.branch_guard import BranchGuard
from yaoki.engine.claim_context import ClaimContext, ClaimSuperseded
from yaoki.engine.clock_and_chance import read_clock_and_chance
from yaoki.engine.row_check import RowGuard
from yaoki.engine.stages.stages import Stages
from yaoki.errors import (
    BranchMovedExternally,
    DiskFull,
    Fault,
    GitFailed,
    LeaseLost,
    RemoteRejectedPush,
    RemoteUnreachable,
    RowInvalid,
    StoreError,
    WorkspaceError,
    YaokiError,
)
from yaoki.ports import ALL, Clock, Store

# When to ask again for a remote that does not answer.
UNREACHABLE_WAIT = timedelta(seconds=15)
# A remote that takes no push: how often it is tried, and how long before the run asks a person.
REJECTED_PUSH_WAIT, REJECTED_PUSH_MAX = timedelta(seconds=5), timedelta(minutes=10)
# The run is paused by then, so nobody claims it again before a person has answered.
AT_ONCE = timedelta(0)
TRACEBACK_CHARS_MAX = 8_000
StageFunction = Callable[[Run, Task, ClaimContext], StageReport]


class Worker:
    """Carries one task at a time; the pool runs several of these calls side by side."""

    def __init__(
        self,
        store: Store,
        stages: Stages,
        guard: BranchGuard,
        clock: Clock,
        *,
        holder: str,
        host: str,
        lease: timedelta,
        parallel: int,
        is_alive: Callable[[str], bool],
        tags: Sequence[str] = (),
        place: str = "",
    ) -> None:
        self._store = store
        self._stages = stages
        self._guard = guard
        self._clock = clock
        self._rows = RowGuard(store, clock)
        self._holder = holder
        self._host = host
        self._lease = lease
        self._parallel = parallel
        self._alive = is_alive
        self._tags = frozenset(tags)
        self._place = place
        self._turn = threading.Lock()
        # Since when the remote takes no push of a run.
        self._refused_since: dict[RunId, datetime] = {}
        self._pieces: Mapping[Stage, StageFunction] = {
            Stage.PREPARE: stages.prepare,
            Stage.WORK: stages.work,
            Stage.VERIFY: stages.verify,
            Stage.LAND: stages.land,
        }

    def claim(self, limit: int, runs: Sequence[RunId], begin: str = ALL) -> list[Task]:
        return self._rows.run_guarded(
            lambda: self._store.claim(
                self._holder,
                self._lease,
                limit,
                runs=runs,
                host=self._host,
                host_max=self._parallel,
                is_alive=self._alive,
                tags=self._tags,
                place=self._place,
                scope=begin,
            )
        )

    def claim_cancelled(self, runs: Sequence[RunId]) -> list[Task]:
        """Only what a person wants ended; nothing is begun."""
        return self._rows.run_guarded(
            lambda: self._store.claim_to_cancel(self._holder, self._lease, runs)
        )

    def carry(self, task: Task, hold: ClaimContext) -> Task | None:
        """Until the task rests; None when somebody else carries it on."""
        run = self._store.run(task.run_id)
        hold = replace(
            hold,
            note=lambda name, data: self._note(task, name, data),
            record=lambda event: self._record(task, event),
            confirm_claim=lambda: self._confirm(task),
        )
        try:
            while task.lease is not None:
                task = self._safe_step(run, task, task.lease, hold)
        except (LeaseLost, ClaimSuperseded):
            return None
        if task.state in {State.DONE, State.CANCELLED, State.REPLACED}:
            self._clean(run, task)
        return task

    def _safe_step(self, run: Run, task: Task, lease: Lease, hold: ClaimContext) -> Task:
        """A row that somebody edited ends its task with a question, never the worker."""
        try:
            return self._step(run, task, lease, hold)
        except RowInvalid as illegal:
            if illegal.task_id == task.id:
                self._stages.end_leftovers(task)
            self._rows.refuse_row(TaskId(illegal.task_id), illegal.sentence)
            return self._store.task(task.id)

    def _step(self, run: Run, task: Task, lease: Lease, hold: ClaimContext) -> Task:
        hold = replace(
            hold,
            must_yield=lambda: must_yield(task, self._contenders(task)),
            queue_members=lambda: queue_members(task, self._contenders(task)),
        )
        report = self._look(run, task, hold)
        if (
            hold.stop_reason() == "stop"
            and task.stage is not Stage.WORK
            and not isinstance(report, CommitLanded)
        ):
            # A stage cut short by a stop says nothing; the next claim repeats it.
            released = LeaseReleased(lease.holder, lease.epoch, "the worker was stopped")
            return self._store.record(lease, lambda _: (released,))
        return self._store.record(
            lease, lambda now: decide(now, report, read_clock_and_chance(self._clock))
        )

    def _look(self, run: Run, task: Task, hold: ClaimContext) -> StageReport:
        """What the stage saw; our own troubles become faults, never the agent's failure."""
        used = task.counts.deliveries - task.forgiven_counts.deliveries
        if used >= task.spec.policy.deliveries_max:
            # Nothing runs for a task that asks a person.
            self._stages.end_leftovers(task)
            words = f"given to a worker {format_count(used, 'time')}, and it never came back"
            return StageFaulted(words, transient=False, code=UNDELIVERED)
        if task.cancel_requested and task.stage in {Stage.PREPARE, Stage.VERIFY}:
            self._stages.end_leftovers(task)
            return WorkInterrupted("cancelled by a person", saved_ref=task.work.head)
        if task.recall_requested and task.stage in {Stage.PREPARE, Stage.VERIFY}:
            self._stages.end_leftovers(task)
            return WorkInterrupted("what it stands on is taken back", saved_ref=task.work.head)
        if task.stage is Stage.LAND and task.spec.kind is not TaskKind.PLAN:
            self._rows.refuse_unjudged(task, hold.confirm_claim)
        try:
            seen = self._pieces[task.stage](self._stages.on_target_branch(run, task), task, hold)
            if isinstance(seen, CommitLanded):
                self._taken(run)
            return seen
        except Fault as fault:
            return StageFaulted(_told(fault), fault.transient, fault.code)
        except (RemoteUnreachable, DiskFull) as away:
            return StageDeferred(_told(away), UNREACHABLE_WAIT)
        except RemoteRejectedPush as refused:
            return self._refused(run, refused)
        except BranchMovedExternally as strayed:
            self._guard.pause_for(run, strayed)
            return StageDeferred(strayed.sentence, AT_ONCE)
        except GitFailed as failed:
            return StageFaulted(_told(failed), transient=failed.transient, source=FaultSource.GIT)
        except (StoreError, LeaseLost, ClaimSuperseded):
            raise
        except WorkspaceError as failed:
            return StageFaulted(_told(failed), transient=False, source=FaultSource.GIT)
        except YaokiError as refused:
            return StageFaulted(_told(refused), transient=False)
        except OSError as error:
            if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                return StageDeferred(
                    f"the disk is full: {error.filename or error}", UNREACHABLE_WAIT
                )
            return _of_os(error)
        except Exception as bug:  # noqa: BLE001 - one task's bug must not end everybody's run
            return self._of_bug(task, bug)

    def _taken(self, run: Run) -> None:
        with self._turn:
            self._refused_since.pop(run.id, None)

    def _refused(self, run: Run, refused: RemoteRejectedPush) -> StageDeferred:
        """One cause for all tasks: they wait, and go on when it takes pushes again.

        After a while the run asks, once.
        """
        now = self._clock.now()
        with self._turn:
            since = self._refused_since.get(run.id)
            self._refused_since.setdefault(run.id, now)
        if since is None:
            self._store.note(run.id, "WARNING", {"message": f"{_told(refused)}; tried again"})
        if since is not None and now - since > REJECTED_PUSH_MAX:
            self._store.pause(
                run.id, Pause(PauseCause.REMOTE, f"{refused.sentence}; {refused.hint}")
            )
            with self._turn:
                self._refused_since.pop(run.id, None)
            return StageDeferred(refused.sentence, AT_ONCE)
        return StageDeferred(_told(refused), REJECTED_PUSH_WAIT)

    def _of_bug(self, task: Task, bug: Exception) -> StageFaulted:
        """The whole traceback goes into the journal: without it nobody can fix what it tells of."""
        where = traceback.extract_tb(bug.__traceback__)[-1]
        place = f"{where.filename}:{where.lineno} in {where.name}"
        words = f"internal error in {task.stage}: {bug!r} ({place})"
        told = "".join(traceback.format_exception(bug))[-TRACEBACK_CHARS_MAX:]
        self._note(task, "WARNING", {"message": words, "traceback": told})
        remedy = f"report it with its traceback: yaoki trace {task.id} --json"
        return StageFaulted(f"{words} (remedy: {remedy})", transient=True)

    def _contenders(self, task: Task) -> Sequence[CompetingTask]:
        return self._store.competing_tasks(task) if task.stage in COMPETING_STAGES else ()

    def _clean(self, run: Run, task: Task) -> None:
        warning = self._stages.remove_worktree(run, task)
        if warning:
            self._note(task, "WARNING", {"message": warning})

    def _record(self, task: Task, event: Event) -> None:
        assert task.lease is not None, f"{task.id} is not held"
        self._store.record(task.lease, lambda _: (event,))

    def _confirm(self, task: Task) -> None:
        """The store's own word that the claim stands, and for half a lease at least.

        Of a lost one it is told there, by name, what would have come.
        """
        lease = task.lease
        assert lease is not None, f"{task.id} is not held"
        held = self._store.task(task.id).lease
        mine = held is not None and (held.holder, held.epoch) == (lease.holder, lease.epoch)
        if held and mine and held.expires_at - self._clock.now() > self._lease / 2:
            return
        if self._store.heartbeat([lease], self._lease).lost:
            self._store.record(lease, lambda _: ())
            raise ClaimSuperseded

    def _note(self, task: Task, name: str, data: Mapping[str, Any]) -> None:
        self._store.note(task.run_id, name, data, task.id, task.attempt)


def _told(error: YaokiError) -> str:
    """With its remedy: the person who is asked needs both."""
    return f"{error.sentence} (remedy: {error.hint})" if error.hint else error.sentence


def _of_os(error: OSError) -> StageFaulted:
    words = f"{error.strerror or error}: {error.filename}" if error.filename else str(error)
    if error.errno in {errno.EACCES, errno.EPERM}:
        return StageFaulted(words, transient=False, code="PERMISSION_DENIED")
    return StageFaulted(words, transient=True)
