"""The worker takes a task through its stages: claim, run a stage, decide, record.  No threads."""

from __future__ import annotations

import errno
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from yaoki.core.decide.candidate import decide_candidate
from yaoki.core.decide.race import follow_race
from yaoki.core.decide.race_judge import decide_judge
from yaoki.core.decide.rules import decide
from yaoki.core.machine.events import Event, LeaseReleased
from yaoki.core.model import (
    FaultSource,
    Lease,
    Pause,
    PauseCause,
    RaceJudgment,
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
    JudgeAnswered,
    StageDeferred,
    StageFaulted,
    StageReport,
    WorkInterrupted,
)
from yaoki.core.text import format_count
from yaoki.engine.branch_guard import BranchGuard
from yaoki.engine.claim_context import (
    ClaimContext,
    ClaimSuperseded,
    SlotRelease,
    StopCheck,
    StopReason,
)
from yaoki.engine.clock_and_chance import read_clock_and_chance
from yaoki.engine.loop.queue_view import ProofMemory, StoredQueue
from yaoki.engine.row_check import RowGuard
from yaoki.engine.stages.stages import Stages
from yaoki.errors import (
    BranchMovedExternally,
    DiskFull,
    FatalCode,
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
from yaoki.ports import ALL, Claimant, ClaimScope, Clock, WorkerStore

# The wait before trying an unreachable remote again.
UNREACHABLE_WAIT = timedelta(seconds=15)
# A remote that rejects pushes: the wait between tries, and when the run asks a person.
REJECTED_PUSH_WAIT, REJECTED_PUSH_MAX = timedelta(seconds=5), timedelta(minutes=10)
# The run is paused by then, so no worker claims the task before a person has answered.
AT_ONCE = timedelta(0)
TRACEBACK_CHARS_MAX = 8_000
StageFunction = Callable[[Run, Task, ClaimContext], StageReport]


class Worker:
    """Runs one task at a time; the pool makes several of these calls side by side."""

    def __init__(
        self,
        store: WorkerStore,
        stages: Stages,
        guard: BranchGuard,
        clock: Clock,
        claimant: Claimant,
        memory: ProofMemory | None = None,
    ) -> None:
        self._store = store
        self._stages = stages
        self._guard = guard
        self._clock = clock
        self._rows = RowGuard(store, clock)
        self._claimant = claimant
        self._memory = memory or ProofMemory()
        self._lock = threading.Lock()
        # Since when the remote has rejected the pushes of a run.
        self._rejected_since: dict[RunId, datetime] = {}
        self._stage_functions: Mapping[Stage, StageFunction] = {
            Stage.PREPARE: stages.prepare,
            Stage.WORK: stages.work,
            Stage.VERIFY: stages.verify,
            Stage.LAND: stages.land,
        }

    def claim(self, limit: int, runs: Sequence[RunId], scope: ClaimScope = ALL) -> list[Task]:
        return self._rows.run_guarded(
            lambda: self._store.claim(self._claimant, limit, runs=runs, scope=scope)
        )

    def claim_cancelled(self, runs: Sequence[RunId]) -> list[Task]:
        """Claim only tasks that a person cancelled; nothing new is started."""
        return self._rows.run_guarded(lambda: self._store.claim_to_cancel(self._claimant, runs))

    def run_task(
        self,
        task: Task,
        stop_reason: StopCheck,
        release_slot: SlotRelease,
        may_start: Callable[[], bool] = lambda: True,
    ) -> Task | None:
        """Run stages until the task is finished or waits; None when another worker has it now.

        The task is given back before its agent starts if `may_start` says no.
        """
        run = self._store.run(task.run_id)
        try:
            while task.lease is not None:
                checked = stop_reason
                if task.stage is Stage.PREPARE:
                    checked = _stop_unless(may_start, stop_reason)
                task = self.run_next_stage(run, task, checked, release_slot)
        except (LeaseLost, ClaimSuperseded):
            return None
        if task.state in {State.DONE, State.CANCELLED, State.REPLACED}:
            # The next task need not wait for it: a large worktree takes seconds.
            with release_slot():
                self._remove_worktree(run, task)
        return task

    def run_next_stage(
        self, run: Run, task: Task, stop_reason: StopCheck, release_slot: SlotRelease
    ) -> Task:
        """Run the stage that a claimed task is in, and record what follows."""
        assert task.lease is not None, f"{task.id} is not claimed"
        claim = ClaimContext(
            stop_reason=stop_reason,
            note=lambda name, data: self._note(task, name, data),
            record=lambda event: self._record(task, event),
            confirm_claim=lambda: self._confirm(task),
            queue=StoredQueue(self._store, task, self._memory),
            release_slot=release_slot,
            spend_left=lambda: self._store.spend_left(task.run_id),
            environment={},
        )
        return self._guarded_step(run, task, task.lease, claim)

    def _guarded_step(self, run: Run, task: Task, lease: Lease, claim: ClaimContext) -> Task:
        """A row that somebody edited escalates its task; it never ends the worker."""
        try:
            return self._step(run, task, lease, claim)
        except RowInvalid as invalid:
            if invalid.task_id == task.id:
                self._stages.end_leftovers(task)
            self._rows.refuse_row(TaskId(invalid.task_id), invalid.sentence)
            return self._store.task(task.id)

    def _step(self, run: Run, task: Task, lease: Lease, claim: ClaimContext) -> Task:
        started = self._clock.now()
        report = self._refuse_stage(task, claim) or self._run_stage(run, task, claim)
        stop = claim.stop_reason()
        if (
            stop
            and stop.ends_worker
            and task.stage is not Stage.WORK
            and not isinstance(report, CommitLanded)
        ):
            # The report of an interrupted stage says nothing; the next claim repeats the stage.
            released = LeaseReleased(lease.holder, lease.epoch, "the worker was stopped")
            return self._store.record(lease, lambda _: (released,))
        if task.stage is Stage.VERIFY:
            self._memory.record(task, report, self._clock.now() - started)
        if task.race_task:
            return self._record_candidate(run, task, lease, report)
        return self._store.record(
            lease, lambda now: decide(now, report, read_clock_and_chance(self._clock))
        )

    def _record_candidate(self, run: Run, task: Task, lease: Lease, report: StageReport) -> Task:
        """Record the step of a candidate or a judge, and what follows from it in its race."""
        choose = decide_judge if task.spec.kind is TaskKind.JUDGE else decide_candidate
        candidate, *others = self._store.record_candidate(
            lease,
            task.race_task,
            lambda now: choose(now, report, read_clock_and_chance(self._clock)),
            lambda race, candidates, changed, judge: follow_race(
                race, candidates, changed, read_clock_and_chance(self._clock), judge
            ),
        )
        for other in others:
            if warning := self._stages.clean_up_race(run, other):
                self._note(other, "WARNING", {"message": warning})
        return candidate

    def _refuse_stage(self, task: Task, claim: ClaimContext) -> StageReport | None:
        """The report of a stage that must not run: too many deliveries, cancelled or recalled."""
        used = task.counts.deliveries - task.forgiven_counts.deliveries
        if used >= task.spec.policy.deliveries_max:
            # A task that asks a person must have no running processes.
            self._stages.end_leftovers(task)
            message = f"claimed {format_count(used, 'time')}, and no worker finished it"
            return StageFaulted(message, transient=False, code=FatalCode.UNDELIVERED)
        if task.cancel_requested and task.stage in {Stage.PREPARE, Stage.VERIFY}:
            self._stages.end_leftovers(task)
            return WorkInterrupted("cancelled by a person", saved_ref=task.work.head)
        if task.recall_requested and task.stage in {Stage.PREPARE, Stage.VERIFY}:
            self._stages.end_leftovers(task)
            return WorkInterrupted("a task that it depends on was undone", saved_ref=task.work.head)
        if task.stage is Stage.LAND and task.spec.kind is not TaskKind.PLAN:
            self._rows.refuse_unjudged(task, claim.confirm_claim)
        if task.spec.kind is TaskKind.JUDGE and task.stage is Stage.PREPARE:
            return self._refuse_judge(task)
        return None

    def _refuse_judge(self, task: Task) -> StageReport | None:
        """A race does not wait for the account of its judge, so the judge is claimed nevertheless:
        without its answer the next criterion decides.
        """
        now = self._clock.now()
        for row in self._store.accounts():
            is_probed = row.probe_task not in {"", task.id}
            if row.name == task.account and (row.until > now or row.asking_task or is_probed):
                message = f"the account {row.name} is closed: {row.reason}"
                return JudgeAnswered(RaceJudgment(), message)
        return None

    def _run_stage(self, run: Run, task: Task, claim: ClaimContext) -> StageReport:
        """The report of the stage; our own errors become faults, never failures of the agent."""
        try:
            report = self._stage_functions[task.stage](run, task, claim)
            if isinstance(report, CommitLanded):
                self._clear_rejected(run)
            return report
        except Fault as fault:
            return StageFaulted(fault.with_remedy, fault.transient, fault.code)
        except (RemoteUnreachable, DiskFull) as unavailable:
            return StageDeferred(unavailable.with_remedy, UNREACHABLE_WAIT)
        except RemoteRejectedPush as rejected:
            return self._defer_rejected(run, rejected)
        except BranchMovedExternally as drift:
            self._guard.pause_for(run, drift)
            return StageDeferred(drift.sentence, AT_ONCE)
        except GitFailed as failed:
            return StageFaulted(
                failed.with_remedy, transient=failed.transient, source=FaultSource.GIT
            )
        except (StoreError, LeaseLost, ClaimSuperseded):
            raise
        except WorkspaceError as failed:
            return StageFaulted(failed.with_remedy, transient=False, source=FaultSource.GIT)
        except YaokiError as error:
            return StageFaulted(error.with_remedy, transient=False)
        except OSError as error:
            return _os_report(error)
        except Exception as bug:  # noqa: BLE001 - one task's bug must not end everybody's run
            return self._bug_report(task, bug)

    def _clear_rejected(self, run: Run) -> None:
        with self._lock:
            self._rejected_since.pop(run.id, None)

    def _defer_rejected(self, run: Run, rejected: RemoteRejectedPush) -> StageDeferred:
        """All tasks of the run wait until the remote accepts pushes again.

        After `REJECTED_PUSH_MAX` the run pauses and asks a person, once.
        """
        now = self._clock.now()
        with self._lock:
            since = self._rejected_since.get(run.id)
            self._rejected_since.setdefault(run.id, now)
        if since is None:
            message = f"{rejected.with_remedy}; it will be retried"
            self._store.note(run.id, "WARNING", {"message": message})
        if since is not None and now - since > REJECTED_PUSH_MAX:
            pause = Pause(PauseCause.REMOTE, f"{rejected.sentence}; {rejected.hint}")
            self._store.pause(run.id, pause)
            self._clear_rejected(run)
            return StageDeferred(rejected.sentence, AT_ONCE)
        return StageDeferred(rejected.with_remedy, REJECTED_PUSH_WAIT)

    def _bug_report(self, task: Task, bug: Exception) -> StageFaulted:
        """The journal gets the traceback: without it the bug cannot be fixed."""
        frame = traceback.extract_tb(bug.__traceback__)[-1]
        place = f"{frame.filename}:{frame.lineno} in {frame.name}"
        message = f"internal error in {task.stage}: {bug!r} ({place})"
        text = "".join(traceback.format_exception(bug))[-TRACEBACK_CHARS_MAX:]
        self._note(task, "WARNING", {"message": message, "traceback": text})
        remedy = f"report it with its traceback: yaoki trace {task.id} --json"
        return StageFaulted(f"{message} (remedy: {remedy})", transient=True)

    def _remove_worktree(self, run: Run, task: Task) -> None:
        warning = self._stages.remove_worktree(run, task)
        if warning:
            self._note(task, "WARNING", {"message": warning})

    def _record(self, task: Task, event: Event) -> None:
        assert task.lease is not None, f"{task.id} is not claimed"
        self._store.record(task.lease, lambda _: (event,))

    def _confirm(self, task: Task) -> None:
        """Ask the store whether the claim is valid, for at least half a lease.

        The attempt to use a lost claim is recorded there, by its holder.
        """
        lease = task.lease
        assert lease is not None, f"{task.id} is not claimed"
        current = self._store.task(task.id).lease
        own = current and (current.holder, current.epoch) == (lease.holder, lease.epoch)
        if current and own and current.expires_at - self._clock.now() > self._claimant.lease / 2:
            return
        if self._store.heartbeat([lease], self._claimant.lease).lost:
            self._store.record(lease, lambda _: ())
            raise ClaimSuperseded

    def _note(self, task: Task, name: str, data: Mapping[str, Any]) -> None:
        self._store.note(task.run_id, name, data, task.id, task.attempt)


def _stop_unless(may_start: Callable[[], bool], stop_reason: StopCheck) -> StopCheck:
    return lambda: stop_reason() or (None if may_start() else StopReason.STOP)


def _os_report(error: OSError) -> StageReport:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return StageDeferred(f"the disk is full: {error.filename or error}", UNREACHABLE_WAIT)
    message = f"{error.strerror or error}: {error.filename}" if error.filename else str(error)
    if error.errno in {errno.EACCES, errno.EPERM}:
        return StageFaulted(message, transient=False, code=FatalCode.PERMISSION_DENIED)
    return StageFaulted(message, transient=True)
