"""Slots, heartbeat, signals, graceful stop: several tasks carried side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from yaoki.core.bounded_cache import BoundedCache
from yaoki.core.model import Lease, RunId, Task, TaskId
from yaoki.engine.claim_context import ClaimContext
from yaoki.engine.loop.admission import AdmissionDecision
from yaoki.engine.loop.background_task import BackgroundTask
from yaoki.engine.loop.presence import Presence
from yaoki.engine.loop.worker import Worker
from yaoki.errors import GitFailed, RemoteUnreachable, StoreError, YaokiError
from yaoki.ports import Clock, PoolStore

POLL_S = 0.2
# Deadlines pass without anybody committing, so runs are looked at this often at least.
COMPLETION_INTERVAL = timedelta(seconds=1)
PREPARE_AHEAD_INTERVAL = timedelta(seconds=1)
# A run whose end could not be looked at: when again, and how often if it is not the remote.
COMPLETION_RETRY_WAIT = timedelta(seconds=5)
COMPLETION_FAILURES_MAX = 5
# So many times the slots may be lent while their tasks wait to land.
EXTRA_THREADS_MAX = 4


@dataclass(slots=True)
class Slot:
    """A task at work and the thread that carries it; `lent` while that only waits."""

    lease: Lease
    stop_reason: str = ""
    is_released: bool = False
    thread: threading.Thread | None = None


@dataclass(slots=True)
class StopRequest:
    """What signals ask for: `drain` lets the agents at work finish, `now` does not."""

    drain: bool = False
    now: bool = False

    def escalate(self) -> None:
        """The first time: drain; again: now."""
        self.now = self.drain
        self.drain = True


@dataclass(slots=True)
class _State:
    slots: dict[TaskId, Slot] = field(default_factory=dict)
    runs: Sequence[RunId] = ()
    error: BaseException | None = None
    seen: int = -1
    # While nothing was claimable and nothing changed since, claiming again is wasted work.
    idle_version: int = -1
    idle_until: datetime | None = None
    idle_for: tuple[RunId, ...] = ()
    admitted: AdmissionDecision = field(default_factory=AdmissionDecision)
    settled_version: int = -1
    settle_at: datetime | None = None
    stumbles: int = 0
    told: BoundedCache[RunId, str] = field(default_factory=BoundedCache)


class Pool:
    """Keeps every slot busy until the runs it serves rest, or it is asked to stop."""

    def __init__(
        self,
        store: PoolStore,
        worker: Worker,
        clock: Clock,
        *,
        slots: int,
        lease: timedelta,
        heartbeat: timedelta,
        park_after: timedelta,
        complete: Callable[[RunId], bool],
        scan: Callable[[], None],
        admission: Callable[[], AdmissionDecision] = AdmissionDecision,
        presence: Presence | None = None,
        idle_task: Callable[[], None] = lambda: None,
        prepare_ahead: Callable[[Sequence[RunId], int], None] = lambda *_: None,
    ) -> None:
        """`aside` is for when a slot is free and there is nothing to claim; `ahead`, for as long as
        tasks are at work, makes ready what as many others of these runs will need.
        """
        self._store = store
        self._worker = worker
        self._clock = clock
        self._slots_max = slots
        self._lease = lease
        self._heartbeat = heartbeat
        self._park = park_after
        self._rests = complete
        self._scan = scan
        self._admits = admission
        self._presence = presence
        self._aside = BackgroundTask(idle_task)
        self._ahead = BackgroundTask(
            lambda: prepare_ahead(self._state.runs, len(self._state.slots)), PREPARE_AHEAD_INTERVAL
        )
        self._state = _State()
        self._changed = threading.Condition()
        self._over = threading.Event()
        self.stop = StopRequest()

    def serve(self, runs: Sequence[RunId]) -> None:
        """Returns when every run rests or the stop was obeyed; raises what broke the store."""
        self._carry_on(lambda: runs, lambda: self._finished(runs))

    def serve_all(self, runs: Callable[[], Sequence[RunId]]) -> None:
        """Whatever runs there are and come, until the stop was obeyed; raises what broke the store.

        What breaks one run is told there and stops no other.
        """
        self._carry_on(runs, lambda: self._stopped() or self._settle(runs()))

    def announce(self) -> None:
        """Among the workers before anything is served, for whoever is told then that it is up."""
        self._tell()

    def _carry_on(self, runs: Callable[[], Sequence[RunId]], over: Callable[[], bool]) -> None:
        beating = threading.Thread(target=self._beat, name="heartbeat")
        self._tell()
        beating.start()
        try:
            while not over():
                self._state.runs = runs()
                self._fill(self._state.runs)
                self._use_quiet()
                self._watch()
                with self._changed:
                    self._changed.wait(POLL_S)
        except BaseException:
            # Nobody watches the agents any more, so their carriers must let go.
            self.stop.drain = self.stop.now = True
            raise
        finally:
            try:
                self._join()
            finally:
                self._over.set()
                beating.join()
                self._aside.join()
                self._ahead.join()
        if self._state.error is not None:
            raise self._state.error
        if self._presence is not None:
            self._presence.leave()

    def _stopped(self) -> bool:
        if self._state.error is not None:
            self.stop.drain = self.stop.now = True
        return self.stop.drain and not self._state.slots

    def _finished(self, runs: Sequence[RunId]) -> bool:
        if self._stopped():
            return True
        if self._state.slots or self.stop.drain:
            return False
        return self._all_rest(runs) or self._parked(runs)

    def _all_rest(self, runs: Sequence[RunId]) -> bool:
        """Where git cannot say now, it is asked again: for a remote as long as it takes."""
        state, now = self._state, self._clock.now()
        if state.settle_at is not None and now < state.settle_at:
            return False
        try:
            resting = [self._rests(run_id) for run_id in runs]
        except GitFailed as failed:
            state.stumbles += not isinstance(failed, RemoteUnreachable)
            if not failed.transient or state.stumbles > COMPLETION_FAILURES_MAX:
                raise
            state.settle_at = now + COMPLETION_RETRY_WAIT
            for run_id in runs:
                self._warn_once(run_id, failed.sentence)
            return False
        state.stumbles = 0
        return all(resting)

    def _settle(self, runs: Sequence[RunId]) -> bool:
        """Runs at rest go on or end, beside the tasks of others; never over for the pool itself."""
        state, version, now = self._state, self._store.version(), self._clock.now()
        late = state.settle_at is None or now >= state.settle_at
        if self.stop.drain or (version == state.settled_version and not late):
            return False
        state.settled_version, state.settle_at = version, now + COMPLETION_INTERVAL
        for run_id in runs:
            try:
                self._rests(run_id)
            except StoreError:
                raise
            except YaokiError as broken:
                self._warn_once(run_id, broken.sentence)
        return False

    def _warn_once(self, run_id: RunId, words: str, key: str = "") -> None:
        if self._state.told.get(run_id) != (key or words):
            self._state.told[run_id] = key or words
            self._store.note(run_id, "WARNING", {"message": words})

    def _parked(self, runs: Sequence[RunId]) -> bool:
        """Everything left waits for a date too far away to wait for in the foreground."""
        due = self._store.next_due(runs)
        return due is not None and due - self._clock.now() > self._park

    def _fill(self, runs: Sequence[RunId]) -> None:
        free = self._free()
        if free <= 0 or self.stop.drain or not runs:
            return
        version, now = self._store.version(), self._clock.now()
        state, served = self._state, tuple(runs)
        same = state.idle_version == version and state.idle_for == served
        if same and state.idle_until and now < state.idle_until:
            return
        claimed = self._claim(free, runs, self._admit(runs))
        for task in claimed:
            self._open(task)
        if not claimed:
            due = self._store.next_due(runs)
            soon = now + self._lease / 4
            state.idle_version, state.idle_for = version, served
            state.idle_until = min(due, soon) if due and due > now else soon

    def _free(self) -> int:
        """Who waits for others needs no slot; but threads are not without end either."""
        slots = list(self._state.slots.values())
        lent = min(sum(slot.is_released for slot in slots), self._slots_max * EXTRA_THREADS_MAX)
        return self._slots_max - len(slots) + lent

    @contextmanager
    def _lend(self, slot: Slot) -> Iterator[None]:
        slot.is_released = True
        try:
            yield
        finally:
            slot.is_released = False

    def _claim(self, free: int, runs: Sequence[RunId], admitted: AdmissionDecision) -> list[Task]:
        if admitted.may_claim:
            return self._worker.claim(free, runs, admitted.scope)
        return self._worker.claim_cancelled(runs)

    def _use_quiet(self) -> None:
        state, now = self._state, self._clock.now()
        if state.slots and not self.stop.drain and state.admitted.may_claim:
            self._ahead.start_if_due(now)
        idle = state.idle_until is not None and now < state.idle_until
        if (idle or not state.slots) and not self.stop.drain:
            self._aside.start_if_due(now)

    def _admit(self, runs: Sequence[RunId]) -> AdmissionDecision:
        """What lacks is told once, to the runs that wait for it and to whoever looks at workers."""
        before, now = self._state.admitted, self._admits()
        self._state.admitted = now
        if before.shortage != now.shortage:
            for run_id in runs if now.shortage else ():
                self._warn_once(run_id, f"nothing new is begun here: {now.reason}", now.shortage)
            self._tell()
        return now

    def _tell(self) -> None:
        if self._presence is not None:
            self._presence.beat(waits=self._state.admitted.reason, stopping=self.stop.drain)

    def _open(self, task: Task) -> None:
        assert task.lease is not None, f"{task.id} was not claimed"
        slot = Slot(task.lease)
        thread = threading.Thread(target=self._carry, args=(task, slot), name=str(task.id))
        with self._changed:
            # Started first: a slot without a running thread would be renewed for ever.
            thread.start()
            slot.thread = thread
            self._state.slots[task.id] = slot

    def _carry(self, task: Task, slot: Slot) -> None:
        try:
            self._worker.carry(
                task, ClaimContext(lambda: self._why(slot), release_slot=lambda: self._lend(slot))
            )
        except BaseException as error:  # noqa: BLE001 - raised again by serve, in the main thread
            self._state.error = self._state.error or error
        finally:
            with self._changed:
                if self._state.slots.get(task.id) is slot:
                    del self._state.slots[task.id]
                self._changed.notify_all()

    def _why(self, slot: Slot) -> str:
        if slot.stop_reason:
            return slot.stop_reason
        return "stop" if self.stop.now else ""

    def _watch(self) -> None:
        """Wishes of people are seen within a poll, not within a heartbeat."""
        version = self._store.version()
        if version == self._state.seen:
            return
        self._state.seen = version
        wanted = self._store.tasks_to_stop()
        for task_id, slot in list(self._state.slots.items()):
            if task_id in wanted and not slot.stop_reason:
                slot.stop_reason = "cancel"

    def _beat(self) -> None:
        """Leases are extended in one transaction; a lost one stops its carrier."""
        while not self._over.wait(self._heartbeat.total_seconds()):
            try:
                slots = list(self._state.slots.values())
                if slots:
                    self._renew(slots)
                self._tell()
                self._scan()
            except BaseException as error:  # noqa: BLE001 - raised again by serve
                self._state.error = self._state.error or error
                return

    def _renew(self, slots: list[Slot]) -> None:
        beat = self._store.heartbeat([slot.lease for slot in slots], self._lease)
        for slot in slots:
            if slot.lease.task_id in beat.lost and slot.lease.task_id in self._state.slots:
                slot.stop_reason = "lost"
            elif slot.lease.task_id in beat.cancel_requested and not slot.stop_reason:
                slot.stop_reason = "cancel"

    def _join(self) -> None:
        for slot in list(self._state.slots.values()):
            if slot.thread is not None:
                slot.thread.join()
