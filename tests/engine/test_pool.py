"""The pool when the store, the worker or a run fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from tests.builders import HandClock, an_active_task
from yaoki.core.model import Lease, RunId, Task, TaskId
from yaoki.engine.claim_context import SlotRelease, StopCheck, StopReason
from yaoki.engine.loop import pool as pool_module
from yaoki.engine.loop.admission import Admission, AdmissionDecision
from yaoki.engine.loop.pool import Pool, PoolSettings
from yaoki.engine.loop.upkeep import PoolUpkeep
from yaoki.engine.stage_settings import FreeCapacity
from yaoki.errors import StoreError, WorkspaceError
from yaoki.ports import ALL, NOTHING_NEW, HeartbeatResult

RUN = RunId("run00001")
SOON = timedelta(milliseconds=10)


class Heart:
    """A store that only counts heartbeats."""

    def __init__(self) -> None:
        self.beats = 0
        self.lost: frozenset[TaskId] = frozenset()
        self.notes: list[tuple[str, str]] = []

    def note(self, run_id: RunId, name: str, data: Mapping[str, Any]) -> None:
        self.notes.append((run_id, data["message"]))

    def version(self) -> int:
        return 0

    def watch_commits(self, callback: Callable[[], None]) -> None:
        self.callback = callback

    def tasks_to_stop(self) -> frozenset[TaskId]:
        return frozenset()

    def next_due(self, runs: Sequence[RunId] = ()) -> datetime | None:
        return None

    def heartbeat(self, leases: Sequence[Lease], lease: timedelta) -> HeartbeatResult:
        self.beats += 1
        return HeartbeatResult(self.lost, frozenset())


class FakeWorker:
    """Runs one task until it must stop or may end."""

    def __init__(self, task: Task | None) -> None:
        self.tasks = [task] if task else []
        self.running, self.may_end = threading.Event(), threading.Event()
        self.stopped_by: StopReason | None = None
        self.scopes: list[str] = []

    def claim(self, limit: int, runs: Sequence[RunId], scope: str = ALL) -> list[Task]:
        self.scopes.append(scope)
        tasks, self.tasks = self.tasks, []
        return tasks

    def run_task(
        self,
        task: Task,
        stop_reason: StopCheck,
        release_slot: SlotRelease,
        may_start: Callable[[], bool],
    ) -> Task | None:
        self.running.set()
        while not self.may_end.wait(0.005):
            self.stopped_by = stop_reason()
            if self.stopped_by:
                return None
        return task


NO_CALLS: dict[str, Any] = {
    "admission": AdmissionDecision,
    "presence": None,
    "upkeep": PoolUpkeep(),
}


def a_pool(
    store: Any,
    worker: Any,
    heartbeat: timedelta = SOON,
    clock: HandClock | None = None,
    stop_at: datetime | None = None,
    **more: Any,
) -> Pool:
    calls = {"complete": lambda _: not worker.tasks, **NO_CALLS, **more}
    return Pool(
        store,
        worker,
        clock or HandClock(),
        PoolSettings(
            slots=2,
            lease=timedelta(minutes=1),
            heartbeat=heartbeat,
            park_after=timedelta(hours=6),
            stop_at=stop_at,
        ),
        **calls,
    )


@pytest.mark.spec("0.6", "11.1")
def test_a_failed_heartbeat_stops_the_pool_and_is_raised() -> None:
    """An agent whose lease is not renewed must not keep running."""
    worker = FakeWorker(an_active_task())

    def broken() -> None:
        if worker.running.is_set():
            raise OSError("no such device")

    with pytest.raises(OSError, match="no such device"):
        a_pool(Heart(), worker, upkeep=PoolUpkeep(scan=broken)).serve([RUN])

    assert worker.stopped_by is StopReason.WORKER_FAILED, "nobody asked for it"


@pytest.mark.spec("17.8", "11.1")
def test_a_waiting_pool_claims_when_the_store_is_told_of_a_commit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing else ends the wait of this pool: its polls are an hour apart."""
    monkeypatch.setattr(pool_module, "POLL_S", 3600.0)
    monkeypatch.setattr(pool_module, "VERSION_POLL_S", 3600.0)
    store, worker, waits = Heart(), FakeWorker(None), threading.Event()
    monkeypatch.setattr(store, "next_due", lambda _: waits.set())
    pool = a_pool(store, worker, complete=lambda _: bool(worker.running.is_set()))
    serving = threading.Thread(target=pool.serve, args=([RUN],))
    serving.start()
    assert waits.wait(60)

    worker.tasks.append(an_active_task())
    worker.may_end.set()
    monkeypatch.setattr(store, "version", lambda: 1)
    while not worker.running.wait(0.01):
        store.callback()
    serving.join(60)

    assert not serving.is_alive()


@pytest.mark.spec("11.8", "12.3")
def test_a_stop_is_announced_at_once() -> None:
    """A heartbeat may be far away, and people look right after they asked for the stop."""
    worker, beats = FakeWorker(an_active_task()), []
    announced = threading.Event()

    def beat(*, idle_reason: str, stopping: bool) -> None:
        beats.append((idle_reason, stopping))
        if stopping:
            announced.set()

    presence = SimpleNamespace(beat=beat, leave=lambda: None)
    pool = a_pool(Heart(), worker, heartbeat=timedelta(hours=1), presence=presence)
    serving = threading.Thread(target=pool.serve, args=([RUN],))
    serving.start()
    worker.running.wait(10)

    pool.stop.escalate()
    is_announced = announced.wait(10)
    worker.may_end.set()
    serving.join()

    assert is_announced
    assert beats == [("", False), ("", True)], "once"


@pytest.mark.spec("0.6")
def test_a_failed_claim_stops_every_task() -> None:
    class Breaks(FakeWorker):
        def claim(self, limit: int, runs: Sequence[RunId], scope: str = ALL) -> list[Task]:
            if not self.tasks:
                raise RuntimeError("the store is gone")
            return super().claim(limit, runs, scope)

    worker = Breaks(an_active_task())

    with pytest.raises(RuntimeError, match="the store is gone"):
        a_pool(Heart(), worker).serve([RUN])

    assert worker.stopped_by is StopReason.WORKER_FAILED


@pytest.mark.spec("11.1")
def test_leases_are_renewed_while_a_task_runs_and_a_lost_lease_stops_it() -> None:
    task = an_active_task()
    store, worker = Heart(), FakeWorker(task)
    store.lost = frozenset({task.id})

    a_pool(store, worker).serve([RUN])

    assert store.beats > 0
    assert worker.stopped_by is StopReason.LOST


OTHER = RunId("run00002")


@pytest.mark.spec("11.8")
def test_a_pool_for_all_runs_completes_every_run_until_it_is_stopped() -> None:
    completed: list[RunId] = []

    def complete(run: RunId) -> bool:
        completed.append(run)
        pool.stop.drain = len(completed) == 2
        return False

    pool = a_pool(Heart(), FakeWorker(None), complete=complete)

    pool.serve_all(lambda: [RUN, OTHER])

    assert completed == [RUN, OTHER]
    assert pool.stop.drain


@pytest.mark.spec("11.8", "0.6")
def test_an_error_of_one_run_is_recorded_there_and_stops_no_other() -> None:
    store, worker, completed = Heart(), FakeWorker(None), list[RunId]()

    def complete(run: RunId) -> bool:
        completed.append(run)
        if run == RUN:
            raise WorkspaceError("its branch is gone")
        pool.stop.escalate()
        return True

    pool = a_pool(store, worker, complete=complete)
    pool.serve_all(lambda: [RUN, OTHER])

    assert completed == [RUN, OTHER]
    assert store.notes == [(RUN, "its branch is gone")]


@pytest.mark.spec("11.8", "0.6")
def test_an_error_of_the_store_stops_a_pool_for_all_runs() -> None:
    def complete(_: RunId) -> bool:
        raise StoreError("the store failed")

    with pytest.raises(StoreError, match="the store failed"):
        a_pool(Heart(), FakeWorker(None), complete=complete).serve_all(lambda: [RUN])


@pytest.mark.spec("11.8")
def test_a_pool_for_no_run_claims_no_task() -> None:
    """An empty list would mean every run of the store, also those of other repositories."""
    worker = FakeWorker(an_active_task())

    def scan() -> None:
        pool.stop.drain = True

    pool = a_pool(Heart(), worker, upkeep=PoolUpkeep(scan=scan))

    pool.serve_all(list)

    assert worker.scopes == []


@pytest.mark.spec("11.5")
def test_a_machine_without_capacity_starts_nothing_new_and_warns_once() -> None:
    worker = FakeWorker(None)
    rooms = iter([FreeCapacity(1, 9), FreeCapacity(2, 9), FreeCapacity(3, 9), FreeCapacity(9, 1)])
    admission = Admission(
        lambda: next(rooms),
        disk_min=5,
        memory_min=5,
        ports_exhausted=lambda: "",
        quiet_reason=lambda: "",
        remote_unreachable=lambda: "",
    )
    answers: list[AdmissionDecision] = []

    def admits() -> AdmissionDecision:
        answers.append(admission.decide())
        if len(answers) == 4:
            pool.stop.escalate()
        return answers[-1]

    class Changing(Heart):
        def version(self) -> int:
            self.beats += 1
            return self.beats

    store = Changing()
    pool = a_pool(store, worker, admission=admits, complete=lambda _: False)
    pool.serve([RUN])

    assert [a.shortage for a in answers] == ["disk", "disk", "disk", "memory"]
    assert worker.scopes == [NOTHING_NEW] * 4
    assert store.notes == [
        (RUN, "no new task is started here: disk space is low: 1 byte free, 5 bytes needed"),
        (RUN, "no new task is started here: memory is low: 1 byte free, 5 bytes needed"),
    ]


@pytest.mark.spec("18.1")
def test_a_pool_stops_its_tasks_at_the_given_time() -> None:
    worker, clock = FakeWorker(an_active_task()), HandClock()
    pool = a_pool(Heart(), worker, clock=clock, stop_at=clock.now() + timedelta(hours=8))
    serving = threading.Thread(target=pool.serve, args=([RUN],))
    serving.start()
    worker.running.wait(10)
    assert not pool.stop.drain

    clock.advance(timedelta(hours=8))
    serving.join(10)

    assert not serving.is_alive()
    assert worker.stopped_by is StopReason.STOP
    assert pool.stop.now


@pytest.mark.spec("18.1", "11.5")
def test_nothing_new_starts_in_quiet_hours() -> None:
    admission = Admission(
        lambda: FreeCapacity(9, 9),
        disk_min=5,
        memory_min=5,
        ports_exhausted=lambda: "",
        quiet_reason=lambda: "quiet hours until 18:00",
        remote_unreachable=lambda: "",
    )

    decision = admission.decide()

    assert (decision.scope, decision.shortage) == (NOTHING_NEW, "hours")
    assert decision.reason == "quiet hours until 18:00"
