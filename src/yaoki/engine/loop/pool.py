"""The pool runs several tasks side by side: slots, heartbeat, signals, graceful stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from datetime import datetime, timedelta

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Lease, RunId, Task, TaskId
from yaoki.engine.claim_context import StopReason
from yaoki.engine.loop.admission import AdmissionDecision
from yaoki.engine.loop.completion_schedule import CompletionSchedule, JournalWarnings
from yaoki.engine.loop.presence import Presence
from yaoki.engine.loop.upkeep import BackgroundTask, PoolUpkeep
from yaoki.engine.loop.worker import Worker
from yaoki.ports import Clock, PoolStore

POLL_S = 0.2
# How often a pool with a free slot asks whether the store has changed.
VERSION_POLL_S = 0.01
# A task that ends changes the store a few times itself, which says nothing about others.
OWN_CHANGES = 4
PREPARE_AHEAD_INTERVAL = timedelta(seconds=1)
# Extra threads per slot for tasks that only wait to land.
EXTRA_THREADS_MAX = 4


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """The number of slots, and the times of a lease.

    A run whose next task is due later than `park_after` is not waited for in the foreground.  At
    `stop_at` the pool stops as after two signals: running agents are ended, their work is saved.
    """

    slots: int
    lease: timedelta
    heartbeat: timedelta
    park_after: timedelta
    stop_at: datetime | None = None


@dataclass(slots=True)
class Slot:
    """A claimed task and its thread; `is_released` while the task only waits."""

    lease: Lease
    stop_reason: StopReason | None = None
    is_released: bool = False
    thread: threading.Thread | None = None


@dataclass(slots=True)
class StopRequest:
    """A request by signal: `drain` lets running agents finish, `now` does not."""

    drain: bool = False
    now: bool = False

    def escalate(self) -> None:
        """The first signal drains; the second stops now."""
        self.now = self.drain
        self.drain = True


@dataclass(slots=True)
class _State:
    slots: dict[TaskId, Slot] = field(default_factory=dict)
    runs: Sequence[RunId] = ()
    error: BaseException | None = None
    watched_version: int = -1
    # Nothing was claimable at this version, so claiming again before a change is wasted work.
    idle_version: int = -1
    idle_until: datetime | None = None
    idle_for: tuple[RunId, ...] = ()
    # Changes of the store in a row that left nothing to claim.
    vain_claims: int = 0
    admission: AdmissionDecision = field(default_factory=AdmissionDecision)
    is_stop_announced: bool = False
    # A slot was freed or a commit was noticed since the last wait.
    is_changed: bool = False
    # The pool waits for tasks of others and sees few changes in vain.
    awaits_commits: bool = False


class Pool:
    """Keeps every slot busy until its runs are finished or need a person, or it must stop."""

    def __init__(
        self,
        store: PoolStore,
        worker: Worker,
        clock: Clock,
        settings: PoolSettings,
        *,
        complete: Callable[[RunId], bool],
        admission: Callable[[], AdmissionDecision],
        presence: Presence | None,
        upkeep: PoolUpkeep,
    ) -> None:
        self._store = store
        self._worker = worker
        self._clock = clock
        self._settings = settings
        self._warnings = JournalWarnings(store)
        self._completion = CompletionSchedule(store, clock, complete, self._warnings)
        self._admission = admission
        self._presence = presence
        self._scan = upkeep.scan
        self._idle_task = BackgroundTask(upkeep.when_idle)
        self._prepare_ahead = BackgroundTask(
            lambda: upkeep.prepare_ahead(self._state.runs, len(self._state.slots)),
            PREPARE_AHEAD_INTERVAL,
        )
        self._state = _State()
        self._changed = threading.Condition()
        self._ended = threading.Event()
        self.stop = StopRequest()

    def serve(self, runs: Sequence[RunId]) -> None:
        """Serve these runs until each is finished or needs a person, or the pool was stopped.

        Raises an error of the store.
        """
        self._loop(lambda: runs, lambda: self._is_finished(runs))

    def serve_all(self, runs: Callable[[], Sequence[RunId]]) -> None:
        """Serve all present and future runs until the pool was stopped; raises an error of the
        store.  An error of one run is reported there and stops no other run.
        """
        self._loop(runs, lambda: self._is_stopped() or self._complete_due(runs()))

    def announce(self) -> None:
        """Register as a worker before serving, so that a daemon is listed as soon as it is up."""
        self._announce()

    def _loop(self, runs: Callable[[], Sequence[RunId]], is_over: Callable[[], bool]) -> None:
        heartbeat = threading.Thread(target=self._beat, name="heartbeat")
        self._store.watch_commits(self._hear_commit)
        self._announce()
        heartbeat.start()
        try:
            while not is_over():
                self._announce_stop()
                self._state.runs = runs()
                self._fill(self._state.runs)
                self._start_background_tasks()
                self._watch_requests()
                self._wait()
        except BaseException as error:
            # Nothing watches the agents any more, so their threads must stop.
            self._state.error = self._state.error or error
            self.stop.drain = self.stop.now = True
            raise
        finally:
            try:
                self._join()
            finally:
                self._ended.set()
                heartbeat.join()
                self._idle_task.join()
                self._prepare_ahead.join()
        if self._state.error is not None:
            raise self._state.error
        if self._presence is not None:
            self._presence.leave()

    def _wait(self) -> None:
        """Wait for the next round; with nothing to claim only until the store changes.

        Where others change the store all the time and leave nothing to claim, the pauses grow, so
        that many waiting workers do not load the store.
        """
        state = self._state
        is_idle = state.idle_until is not None and bool(state.runs) and self._free_slots() > 0
        if not is_idle or self.stop.drain:
            self._wait_for_change(POLL_S)
            return
        vain_claims = max(0, state.vain_claims - OWN_CHANGES)
        pause = min(VERSION_POLL_S * (1 + vain_claims), POLL_S)
        for _ in range(round(POLL_S / pause)):
            state.awaits_commits = vain_claims == 0
            is_changed = self._wait_for_change(pause)
            state.awaits_commits = False
            if self._store.version() != state.idle_version:
                state.vain_claims += 1
                return
            if is_changed:
                return
        state.vain_claims = 0

    def _wait_for_change(self, seconds: float) -> bool:
        """True after a change, also after one from before the wait."""
        with self._changed:
            is_changed = self._changed.wait_for(lambda: self._state.is_changed, seconds)
            self._state.is_changed = False
            return is_changed

    def _wake(self) -> None:
        """Called with the lock `_changed`."""
        self._state.is_changed = True
        self._changed.notify_all()

    def _hear_commit(self) -> None:
        with self._changed:
            if self._state.awaits_commits:
                self._wake()

    def _is_stopped(self) -> bool:
        stop_at = self._settings.stop_at
        if self._state.error is not None or (stop_at and self._clock.now() >= stop_at):
            self.stop.drain = self.stop.now = True
        return self.stop.drain and not self._state.slots

    def _is_finished(self, runs: Sequence[RunId]) -> bool:
        if self._is_stopped():
            return True
        if self._state.slots or self.stop.drain:
            return False
        return self._completion.complete_all(runs) or self._is_parked(runs)

    def _complete_due(self, runs: Sequence[RunId]) -> bool:
        """Complete idle runs while the tasks of others run; False, since the pool never ends."""
        if not self.stop.drain:
            self._completion.complete_due(runs)
        return False

    def _is_parked(self, runs: Sequence[RunId]) -> bool:
        """Every remaining task is due too late to wait for it in the foreground."""
        due = self._store.next_due(runs)
        return due is not None and due - self._clock.now() > self._settings.park_after

    def _fill(self, runs: Sequence[RunId]) -> None:
        free = self._free_slots()
        if free <= 0 or self.stop.drain or not runs:
            return
        version, now = self._store.version(), self._clock.now()
        state = self._state
        unchanged = state.idle_version == version and state.idle_for == tuple(runs)
        if unchanged and state.idle_until and now < state.idle_until:
            return
        tasks = self._claim(free, runs, self._admit(runs))
        for task in tasks:
            self._start(task)
        if tasks:
            state.vain_claims = 0
        else:
            due = self._store.next_due(runs)
            soon = now + self._settings.lease / 4
            state.idle_version, state.idle_for = version, tuple(runs)
            state.idle_until = min(due, soon) if due and due > now else soon

    def _free_slots(self) -> int:
        """A task that only waits for its predecessor in the merge queue frees its slot, up to
        `EXTRA_THREADS_MAX` extra threads per slot.
        """
        slots = list(self._state.slots.values())
        waiting = sum(slot.is_released for slot in slots)
        most = self._settings.slots
        return most - len(slots) + min(waiting, most * EXTRA_THREADS_MAX)

    @contextmanager
    def _release(self, slot: Slot) -> Iterator[None]:
        with self._changed:
            slot.is_released = True
            self._wake()
        try:
            yield
        finally:
            slot.is_released = False

    def _claim(self, free: int, runs: Sequence[RunId], admission: AdmissionDecision) -> list[Task]:
        if admission.may_claim:
            return self._worker.claim(free, runs, admission.scope)
        return self._worker.claim_cancelled(runs)

    def _start_background_tasks(self) -> None:
        state, now = self._state, self._clock.now()
        if state.slots and not self.stop.drain and state.admission.may_claim:
            self._prepare_ahead.start_if_due(now)
        idle = state.idle_until is not None and now < state.idle_until
        if (idle or not state.slots) and not self.stop.drain:
            self._idle_task.start_if_due(now)

    def _admit(self, runs: Sequence[RunId]) -> AdmissionDecision:
        """Report a new shortage once, in the waiting runs and in the list of workers."""
        before, now = self._state.admission, self._admission()
        self._state.admission = now
        if before.shortage != now.shortage:
            for run_id in runs if now.shortage else ():
                self._warnings.warn_once(
                    run_id, f"no new task is started here: {now.reason}", now.shortage
                )
            self._announce()
        return now

    def _announce(self) -> None:
        if self._presence is not None:
            reason = self._state.admission.reason
            self._presence.beat(idle_reason=reason, stopping=self.stop.drain)

    def _announce_stop(self) -> None:
        """Tell people at once that nothing new is taken, not only with the next heartbeat."""
        if self.stop.drain and not self._state.is_stop_announced:
            self._state.is_stop_announced = True
            self._announce()

    def _start(self, task: Task) -> None:
        assert task.lease is not None, f"{task.id} was not claimed"
        slot = Slot(task.lease)
        thread = threading.Thread(target=self._run_task, args=(task, slot), name=str(task.id))
        with self._changed:
            # Start the thread first: a slot without a running thread would be renewed forever.
            thread.start()
            slot.thread = thread
            self._state.slots[task.id] = slot

    def _run_task(self, task: Task, slot: Slot) -> None:
        try:
            self._worker.run_task(
                task,
                lambda: self._stop_reason(slot),
                lambda: self._release(slot),
                lambda: not self.stop.drain,
            )
        except BaseException as error:  # noqa: BLE001 - raised again by serve, in the main thread
            self._state.error = self._state.error or error
        finally:
            with self._changed:
                if self._state.slots.get(task.id) is slot:
                    del self._state.slots[task.id]
                self._state.vain_claims = 0  # the changes were those of the task
                self._wake()

    def _stop_reason(self, slot: Slot) -> StopReason | None:
        if slot.stop_reason or not self.stop.now:
            return slot.stop_reason
        return StopReason.STOP if self._state.error is None else StopReason.WORKER_FAILED

    def _watch_requests(self) -> None:
        """Notice the requests of people within a poll, not only within a heartbeat."""
        version = self._store.version()
        if version == self._state.watched_version:
            return
        self._state.watched_version = version
        to_stop = self._store.tasks_to_stop()
        for task_id, slot in list(self._state.slots.items()):
            if task_id in to_stop and not slot.stop_reason:
                slot.stop_reason = StopReason.CANCEL

    def _beat(self) -> None:
        """Renew all leases in one transaction; a lost lease stops its task."""
        while not self._ended.wait(self._settings.heartbeat.total_seconds()):
            try:
                slots = list(self._state.slots.values())
                if slots:
                    self._renew(slots)
                self._announce()
                self._scan()
            except BaseException as error:  # noqa: BLE001 - raised again by serve
                self._state.error = self._state.error or error
                return

    def _renew(self, slots: list[Slot]) -> None:
        beat = self._store.heartbeat([slot.lease for slot in slots], self._settings.lease)
        for slot in slots:
            if slot.lease.task_id in beat.lost and slot.lease.task_id in self._state.slots:
                slot.stop_reason = StopReason.LOST
            elif slot.lease.task_id in beat.cancel_requested and not slot.stop_reason:
                slot.stop_reason = StopReason.CANCEL

    def _join(self) -> None:
        for slot in list(self._state.slots.values()):
            if slot.thread is not None:
                slot.thread.join()
