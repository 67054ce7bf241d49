"""The pool while the remote is unreachable, and its background tasks."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import HandClock
from tests.engine.test_pool import NO_CALLS, RUN, SOON, FakeWorker, Heart
from yaoki.core.model import RunId, Task
from yaoki.engine.loop.admission import Admission
from yaoki.engine.loop.completion_schedule import COMPLETION_FAILURES_MAX
from yaoki.engine.loop.pool import Pool, PoolSettings
from yaoki.engine.loop.upkeep import PoolUpkeep
from yaoki.engine.stage_settings import FreeCapacity
from yaoki.errors import GitFailed, RemoteUnreachable

AWAY = "the remote origin cannot be used: no answer"
MINUTE = timedelta(minutes=1)


class Passing(Heart):
    """A store that changes, and whose clock advances, whenever its version is read."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = HandClock()

    def version(self) -> int:
        self.clock.advance(timedelta(seconds=10))
        return self.clock.now().minute * 60 + self.clock.now().second


class Ending(FakeWorker):
    """Counts the claims of cancelled tasks."""

    def __init__(self) -> None:
        super().__init__(None)
        self.ended = 0

    def claim_cancelled(self, runs: Sequence[RunId]) -> list[Task]:
        self.ended += 1
        return []


def a_pool(store: Passing, worker: Any, **more: Any) -> Pool:
    calls = {"complete": lambda _: False, **NO_CALLS, **more}
    return Pool(
        store,  # type: ignore[arg-type]
        worker,
        store.clock,
        PoolSettings(slots=2, lease=MINUTE, heartbeat=SOON, park_after=60 * MINUTE),
        **calls,
    )


@pytest.mark.spec("13.3", "11.5")
def test_a_machine_that_cannot_reach_the_remote_leaves_tasks_to_others() -> None:
    """A claimed task would only wait here; tasks that a person cancelled are ended nevertheless."""
    words = iter([AWAY, AWAY, ""])
    admission = Admission(
        lambda: FreeCapacity(9, 9),
        disk_min=5,
        memory_min=5,
        ports_exhausted=lambda: "",
        quiet_reason=lambda: "",
        remote_unreachable=lambda: next(words, ""),
    )
    worker, store = Ending(), Passing()

    def complete(_: RunId) -> bool:
        return bool(worker.scopes)

    a_pool(store, worker, admission=admission.decide, complete=complete).serve([RUN])

    assert (worker.ended, len(worker.scopes)) == (2, 1)
    assert store.notes == [(RUN, f"no new task is started here: {AWAY}")]


@pytest.mark.spec("13.3", "0.6")
def test_completion_is_retried_until_the_remote_answers() -> None:
    calls: list[RunId] = []
    store = Passing()

    def complete(run: RunId) -> bool:
        calls.append(run)
        if len(calls) <= 3 * COMPLETION_FAILURES_MAX:
            raise RemoteUnreachable(AWAY)
        return True

    a_pool(store, FakeWorker(None), complete=complete).serve([RUN])

    assert len(calls) == 3 * COMPLETION_FAILURES_MAX + 1
    assert store.notes == [(RUN, AWAY)]


@pytest.mark.spec("0.4", "0.6")
def test_a_transient_fault_of_git_is_retried_a_few_times_and_then_raised() -> None:
    calls: list[RunId] = []

    def complete(run: RunId) -> bool:
        calls.append(run)
        raise GitFailed("a lock is held", transient=True)

    with pytest.raises(GitFailed, match="a lock is held"):
        a_pool(Passing(), FakeWorker(None), complete=complete).serve([RUN])

    assert len(calls) == COMPLETION_FAILURES_MAX + 1


@pytest.mark.spec("0.6")
def test_a_permanent_fault_of_git_is_raised_at_once() -> None:
    def complete(_: RunId) -> bool:
        raise GitFailed("the branch is gone")

    with pytest.raises(GitFailed, match="the branch is gone"):
        a_pool(Passing(), FakeWorker(None), complete=complete).serve([RUN])


@pytest.mark.spec("13.1", "8.2")
def test_background_upkeep_runs_without_a_run_and_does_not_delay_a_stop() -> None:
    """Pending pushes to the remote must not wait for the next task of this clone."""
    started, never = threading.Event(), threading.Event()

    def idle_task() -> None:
        started.set()
        never.wait(20)

    def scan() -> None:
        if started.is_set():
            pool.stop.escalate()

    pool = a_pool(Passing(), FakeWorker(None), upkeep=PoolUpkeep(scan=scan, when_idle=idle_task))
    try:
        pool.serve_all(list)
        assert started.is_set()
        assert pool.stop.drain
    finally:
        never.set()
