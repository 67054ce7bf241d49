"""The pool: what it does when something around it breaks."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.builders import HandClock, an_active_task
from yaoki.core.model import Lease, RunId, Task, TaskId
from yaoki.engine.claim_context import ClaimContext
from yaoki.engine.loop.admission import Admission, AdmissionDecision
from yaoki.engine.loop.pool import Pool
from yaoki.engine.stage_settings import FreeCapacity
from yaoki.errors import StoreError, WorkspaceError
from yaoki.ports import ALL, NOTHING_NEW, HeartbeatResult

RUN = RunId("run00001")
SOON = timedelta(milliseconds=10)


class Heart:
    """A store that only beats."""

    def __init__(self) -> None:
        self.beats = 0
        self.lost: frozenset[TaskId] = frozenset()
        self.notes: list[tuple[str, str]] = []

    def note(self, run_id: RunId, name: str, data: Mapping[str, Any]) -> None:
        self.notes.append((run_id, data["message"]))

    def version(self) -> int:
        return 0

    def tasks_to_stop(self) -> frozenset[TaskId]:
        return frozenset()

    def next_due(self, runs: Sequence[RunId] = ()) -> datetime | None:
        return None

    def heartbeat(self, leases: Sequence[Lease], lease: timedelta) -> HeartbeatResult:
        self.beats += 1
        return HeartbeatResult(self.lost, frozenset())


class Carrier:
    """Carries one task until it is told to let go, or may."""

    def __init__(self, task: Task | None) -> None:
        self.tasks = [task] if task else []
        self.carrying, self.may_end = threading.Event(), threading.Event()
        self.let_go = ""
        self.begun: list[str] = []

    def claim(self, limit: int, runs: Sequence[RunId], begin: str = ALL) -> list[Task]:
        self.begun.append(begin)
        tasks, self.tasks = self.tasks, []
        return tasks

    def carry(self, task: Task, hold: ClaimContext) -> Task | None:
        self.carrying.set()
        while not self.may_end.wait(0.005):
            self.let_go = hold.stop_reason()
            if self.let_go:
                return None
        return task


def a_pool(store: Any, worker: Any, **more: Any) -> Pool:
    given = {"complete": lambda _: not worker.tasks, "scan": lambda: None, **more}
    return Pool(
        store,
        worker,
        HandClock(),
        slots=2,
        lease=timedelta(minutes=1),
        heartbeat=SOON,
        park_after=timedelta(hours=6),
        **given,
    )


@pytest.mark.spec("0.6", "11.1")
def test_a_heartbeat_that_breaks_stops_the_pool_and_is_told() -> None:
    """An agent that nobody renews must not be carried on as if all were well."""
    carrier = Carrier(an_active_task())

    def broken() -> None:
        if carrier.carrying.is_set():
            raise OSError("no such device")

    with pytest.raises(OSError, match="no such device"):
        a_pool(Heart(), carrier, scan=broken).serve([RUN])

    assert carrier.let_go == "stop"


@pytest.mark.spec("0.6")
def test_a_claim_that_breaks_lets_every_carrier_go() -> None:
    class Breaks(Carrier):
        def claim(self, limit: int, runs: Sequence[RunId], begin: str = ALL) -> list[Task]:
            if not self.tasks:
                raise RuntimeError("the store is gone")
            return super().claim(limit, runs, begin)

    carrier = Breaks(an_active_task())

    with pytest.raises(RuntimeError, match="the store is gone"):
        a_pool(Heart(), carrier).serve([RUN])

    assert carrier.let_go == "stop"


@pytest.mark.spec("11.1")
def test_leases_are_renewed_while_a_task_is_carried_and_a_lost_one_is_let_go() -> None:
    task = an_active_task()
    store, carrier = Heart(), Carrier(task)
    store.lost = frozenset({task.id})

    a_pool(store, carrier).serve([RUN])

    assert store.beats > 0
    assert carrier.let_go == "lost"


OTHER = RunId("run00002")


@pytest.mark.spec("11.8")
def test_a_pool_that_serves_all_goes_on_until_asked_and_settles_every_run() -> None:
    looked: list[RunId] = []

    def rests(run: RunId) -> bool:
        looked.append(run)
        pool.stop.drain = len(looked) == 2
        return False

    pool = a_pool(Heart(), Carrier(None), complete=rests)

    pool.serve_all(lambda: [RUN, OTHER])

    assert looked == [RUN, OTHER]
    assert pool.stop.drain


@pytest.mark.spec("11.8", "0.6")
def test_a_run_that_breaks_is_told_there_and_stops_no_other() -> None:
    store, carrier, looked = Heart(), Carrier(None), list[RunId]()

    def rests(run: RunId) -> bool:
        looked.append(run)
        if run == RUN:
            raise WorkspaceError("its branch is gone")
        pool.stop.escalate()
        return True

    pool = a_pool(store, carrier, complete=rests)
    pool.serve_all(lambda: [RUN, OTHER])

    assert looked == [RUN, OTHER]
    assert store.notes == [(RUN, "its branch is gone")]


@pytest.mark.spec("11.8", "0.6")
def test_a_broken_store_stops_a_pool_that_serves_all() -> None:
    def rests(_: RunId) -> bool:
        raise StoreError("the store failed")

    with pytest.raises(StoreError, match="the store failed"):
        a_pool(Heart(), Carrier(None), complete=rests).serve_all(lambda: [RUN])


@pytest.mark.spec("11.8")
def test_a_pool_that_serves_no_run_claims_nothing() -> None:
    """No names at all would mean every run of the store, of other repositories, too."""
    carrier = Carrier(an_active_task())

    def scan() -> None:
        pool.stop.drain = True

    pool = a_pool(Heart(), carrier, scan=scan)

    pool.serve_all(list)

    assert carrier.begun == []


@pytest.mark.spec("11.5")
def test_a_machine_without_room_begins_nothing_new_and_says_so_once() -> None:
    carrier = Carrier(None)
    rooms = iter([FreeCapacity(1, 9), FreeCapacity(2, 9), FreeCapacity(3, 9), FreeCapacity(9, 1)])
    admission = Admission(lambda: next(rooms), disk_min=5, memory_min=5)
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
    pool = a_pool(store, carrier, admission=admits, complete=lambda _: False)
    pool.serve([RUN])

    assert [a.shortage for a in answers] == ["disk", "disk", "disk", "memory"]
    assert carrier.begun == [NOTHING_NEW] * 4
    assert store.notes == [
        (RUN, "nothing new is begun here: 1 bytes of disk are free, 5 are needed"),
        (RUN, "nothing new is begun here: 1 bytes of memory are free, 5 are needed"),
    ]
