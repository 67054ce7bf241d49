"""Slots, heartbeat, signals, graceful stop: several tasks carried side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from yaoki.core.model import Lease, RunId, Task, TaskId
from yaoki.engine.hold import Hold
from yaoki.engine.worker import Worker
from yaoki.ports import Clock, Store

POLL_S = 0.2


@dataclass(slots=True)
class Slot:
    """A task at work and the thread that carries it."""

    lease: Lease
    why: str = ""
    thread: threading.Thread | None = None


@dataclass(slots=True)
class Stop:
    """What signals ask for: `drain` lets the agents at work finish, `now` does not."""

    drain: bool = False
    now: bool = False

    def ask(self) -> None:
        """The first time: drain; again: now."""
        self.now = self.drain
        self.drain = True


@dataclass(slots=True)
class _State:
    slots: dict[TaskId, Slot] = field(default_factory=dict)
    error: BaseException | None = None
    seen: int = -1
    # While nothing was claimable and nothing changed since, claiming again is wasted work.
    idle_version: int = -1
    idle_until: datetime | None = None


class Pool:
    """Keeps every slot busy until the runs it serves rest, or it is asked to stop."""

    def __init__(
        self,
        store: Store,
        worker: Worker,
        clock: Clock,
        *,
        slots: int,
        lease: timedelta,
        heartbeat: timedelta,
        park: timedelta,
        rests: Callable[[RunId], bool],
        scan: Callable[[], None],
    ) -> None:
        self._store = store
        self._worker = worker
        self._clock = clock
        self._slots_max = slots
        self._lease = lease
        self._heartbeat = heartbeat
        self._park = park
        self._rests = rests
        self._scan = scan
        self._state = _State()
        self._changed = threading.Condition()
        self._over = threading.Event()
        self.stop = Stop()

    def serve(self, runs: Sequence[RunId]) -> None:
        """Returns when every run rests or the stop was obeyed; raises what broke the store."""
        beating = threading.Thread(target=self._beat, name="heartbeat")
        beating.start()
        try:
            while not self._finished(runs):
                self._fill(runs)
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
        if self._state.error is not None:
            raise self._state.error

    def _finished(self, runs: Sequence[RunId]) -> bool:
        if self._state.error is not None:
            self.stop.drain = self.stop.now = True
        if self._state.slots:
            return False
        if self.stop.drain:
            return True
        resting = [self._rests(run_id) for run_id in runs]
        return all(resting) or self._parked(runs)

    def _parked(self, runs: Sequence[RunId]) -> bool:
        """Everything left waits for a date too far away to wait for in the foreground."""
        due = self._store.next_due(runs)
        return due is not None and due - self._clock.now() > self._park

    def _fill(self, runs: Sequence[RunId]) -> None:
        free = self._slots_max - len(self._state.slots)
        version, now = self._store.version(), self._clock.now()
        state = self._state
        idle = state.idle_version == version and state.idle_until and now < state.idle_until
        if free <= 0 or self.stop.drain or idle:
            return
        claimed = self._worker.claim(free, runs)
        for task in claimed:
            self._open(task)
        if not claimed:
            due = self._store.next_due(runs)
            soon = now + self._lease / 4
            state.idle_version = version
            state.idle_until = min(due, soon) if due and due > now else soon

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
            self._worker.carry(task, Hold(lambda: self._why(slot)))
        except BaseException as error:  # noqa: BLE001 - raised again by serve, in the main thread
            self._state.error = self._state.error or error
        finally:
            with self._changed:
                if self._state.slots.get(task.id) is slot:
                    del self._state.slots[task.id]
                self._changed.notify_all()

    def _why(self, slot: Slot) -> str:
        if slot.why:
            return slot.why
        return "stop" if self.stop.now else ""

    def _watch(self) -> None:
        """Wishes of people are seen within a poll, not within a heartbeat."""
        version = self._store.version()
        if version == self._state.seen:
            return
        self._state.seen = version
        wanted = self._store.cancel_wanted()
        for task_id, slot in list(self._state.slots.items()):
            if task_id in wanted and not slot.why:
                slot.why = "cancel"

    def _beat(self) -> None:
        """Leases are extended in one transaction; a lost one stops its carrier."""
        while not self._over.wait(self._heartbeat.total_seconds()):
            try:
                slots = list(self._state.slots.values())
                if slots:
                    self._renew(slots)
                self._scan()
            except BaseException as error:  # noqa: BLE001 - raised again by serve
                self._state.error = self._state.error or error
                return

    def _renew(self, slots: list[Slot]) -> None:
        beat = self._store.heartbeat([slot.lease for slot in slots], self._lease)
        for slot in slots:
            if slot.lease.task_id in beat.lost and slot.lease.task_id in self._state.slots:
                slot.why = "lost"
            elif slot.lease.task_id in beat.cancelled and not slot.why:
                slot.why = "cancel"

    def _join(self) -> None:
        for slot in list(self._state.slots.values()):
            if slot.thread is not None:
                slot.thread.join()
