"""The pool: what it does when something around it breaks."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.builders import HandClock, an_active_task
from yaoki.core.model import Lease, RunId, Task, TaskId
from yaoki.engine.hold import Hold
from yaoki.engine.pool import Pool
from yaoki.ports import Beat

RUN = RunId("run00001")
SOON = timedelta(milliseconds=10)


class Heart:
    """A store that only beats."""

    def __init__(self) -> None:
        self.beats = 0
        self.lost: frozenset[TaskId] = frozenset()

    def version(self) -> int:
        return 0

    def cancel_wanted(self) -> frozenset[TaskId]:
        return frozenset()

    def next_due(self, runs: Sequence[RunId] = ()) -> datetime | None:
        return None

    def heartbeat(self, leases: Sequence[Lease], lease: timedelta) -> Beat:
        self.beats += 1
        return Beat(self.lost, frozenset())


class Carrier:
    """Carries one task until it is told to let go, or may."""

    def __init__(self, task: Task | None) -> None:
        self.tasks = [task] if task else []
        self.may_end = threading.Event()
        self.let_go = ""

    def claim(self, limit: int, runs: Sequence[RunId]) -> list[Task]:
        tasks, self.tasks = self.tasks, []
        return tasks

    def carry(self, task: Task, hold: Hold) -> Task | None:
        while not self.may_end.wait(0.005):
            self.let_go = hold.why()
            if self.let_go:
                return None
        return task


def a_pool(store: Any, worker: Any, **more: Any) -> Pool:
    given = {"rests": lambda _: not worker.tasks, "scan": lambda: None, **more}
    return Pool(
        store,
        worker,
        HandClock(),
        slots=2,
        lease=timedelta(minutes=1),
        heartbeat=SOON,
        park=timedelta(hours=6),
        **given,
    )


@pytest.mark.spec("0.6", "11.1")
def test_a_heartbeat_that_breaks_stops_the_pool_and_is_told() -> None:
    """An agent that nobody renews must not be carried on as if all were well."""
    carrier = Carrier(an_active_task())

    def broken() -> None:
        raise OSError("no such device")

    with pytest.raises(OSError, match="no such device"):
        a_pool(Heart(), carrier, scan=broken).serve([RUN])

    assert carrier.let_go == "stop"


@pytest.mark.spec("0.6")
def test_a_claim_that_breaks_lets_every_carrier_go() -> None:
    class Breaks(Carrier):
        def claim(self, limit: int, runs: Sequence[RunId]) -> list[Task]:
            if not self.tasks:
                raise RuntimeError("the store is gone")
            return super().claim(limit, runs)

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
