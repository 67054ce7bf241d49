"""The pool while the remote does not answer, and what it does with a quiet moment."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import HandClock
from tests.engine.test_pool import RUN, SOON, Carrier, Heart
from yaoki.core.model import RunId, Task
from yaoki.engine.loop.admission import Admission
from yaoki.engine.loop.pool import COMPLETION_FAILURES_MAX, Pool
from yaoki.engine.stage_settings import FreeCapacity
from yaoki.errors import GitFailed, RemoteUnreachable

AWAY = "the remote origin cannot be used: no answer"
MINUTE = timedelta(minutes=1)


class Passing(Heart):
    """A store that changes, and time goes by, whenever it is asked for news."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = HandClock()

    def version(self) -> int:
        self.clock.advance(timedelta(seconds=10))
        return self.clock.now().minute * 60 + self.clock.now().second


class Ending(Carrier):
    """Is only asked for what a person wants ended."""

    def __init__(self) -> None:
        super().__init__(None)
        self.ended = 0

    def claim_cancelled(self, runs: Sequence[RunId]) -> list[Task]:
        self.ended += 1
        return []


def a_pool(store: Passing, worker: Any, **more: Any) -> Pool:
    given = {"complete": lambda _: False, "scan": lambda: None, **more}
    return Pool(
        store,  # type: ignore[arg-type]
        worker,
        store.clock,
        slots=2,
        lease=MINUTE,
        heartbeat=SOON,
        park_after=60 * MINUTE,
        **given,
    )


@pytest.mark.spec("13.3", "11.5")
def test_a_machine_that_does_not_reach_the_remote_leaves_tasks_to_others() -> None:
    """What it claimed would only wait here; what a person cancelled is ended all the same."""
    words = iter([AWAY, AWAY, ""])
    admission = Admission(
        lambda: FreeCapacity(9, 9),
        disk_min=5,
        memory_min=5,
        remote_unreachable=lambda: next(words, ""),
    )
    carrier, store = Ending(), Passing()

    def rests(_: RunId) -> bool:
        return bool(carrier.begun)

    a_pool(store, carrier, admission=admission.decide, complete=rests).serve([RUN])

    assert (carrier.ended, len(carrier.begun)) == (2, 1)
    assert store.notes == [(RUN, f"nothing new is begun here: {AWAY}")]


@pytest.mark.spec("13.3", "0.6")
def test_a_run_whose_end_needs_the_remote_is_looked_at_again_until_it_answers() -> None:
    looks: list[RunId] = []
    store = Passing()

    def rests(run: RunId) -> bool:
        looks.append(run)
        if len(looks) <= 3 * COMPLETION_FAILURES_MAX:
            raise RemoteUnreachable(AWAY)
        return True

    a_pool(store, Carrier(None), complete=rests).serve([RUN])

    assert len(looks) == 3 * COMPLETION_FAILURES_MAX + 1
    assert store.notes == [(RUN, AWAY)]


@pytest.mark.spec("0.4", "0.6")
def test_a_passing_fault_of_git_is_borne_a_few_times_and_then_told() -> None:
    looks: list[RunId] = []

    def rests(run: RunId) -> bool:
        looks.append(run)
        raise GitFailed("a lock is held", transient=True)

    with pytest.raises(GitFailed, match="a lock is held"):
        a_pool(Passing(), Carrier(None), complete=rests).serve([RUN])

    assert len(looks) == COMPLETION_FAILURES_MAX + 1


@pytest.mark.spec("0.6")
def test_a_lasting_fault_of_git_is_told_at_once() -> None:
    def rests(_: RunId) -> bool:
        raise GitFailed("the branch is gone")

    with pytest.raises(GitFailed, match="the branch is gone"):
        a_pool(Passing(), Carrier(None), complete=rests).serve([RUN])


@pytest.mark.spec("13.1", "8.2")
def test_a_quiet_moment_is_used_even_when_there_is_no_run_and_stopping_does_not_wait() -> None:
    """What is owed to the remote must not wait for the next task of this clone."""
    begun, never = threading.Event(), threading.Event()

    def aside() -> None:
        begun.set()
        never.wait(20)

    def scan() -> None:
        if begun.is_set():
            pool.stop.escalate()

    pool = a_pool(Passing(), Carrier(None), idle_task=aside, scan=scan)
    try:
        pool.serve_all(list)
        assert begun.is_set()
        assert pool.stop.drain
    finally:
        never.set()
