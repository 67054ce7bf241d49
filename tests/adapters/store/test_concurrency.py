"""Many claim, finish and add tasks at the same time, each through its own connection."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from tests.adapters.store.store_actions import (
    StoreLocation,
    claim_one,
    finish,
    open_test_store,
    plan,
    submit,
)
from tests.builders import MINUTE, RUN_ID, HandClock, a_run, a_spec, an_agent
from yaoki.adapters.store import SqlStore
from yaoki.core.model import RunId, State, Task
from yaoki.errors import OverLimit
from yaoki.ports import Claimant

# More rounds by hand: YAOKI_ROUNDS=1000
ROUNDS = int(os.environ.get("YAOKI_ROUNDS", "12"))
CLAIMERS = 50
RUN = RunId(RUN_ID)


@pytest.fixture
def stores(store: SqlStore, store_location: StoreLocation) -> Iterator[list[SqlStore]]:
    """One store per simulated machine."""
    others = [open_test_store(store_location) for _ in range(4)]
    yield [store, *others]
    for other in others:
        other.close()


def at_once(works: Sequence[Callable[[], object]]) -> list[BaseException]:
    """Start all at the same instant; returns the exceptions."""
    start, raised = threading.Barrier(len(works)), list[BaseException]()

    def run(work: Callable[[], object]) -> None:
        try:
            start.wait(60)
            work()
        except BaseException as error:  # noqa: BLE001 - handed to the test
            raised.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    return raised


@pytest.mark.full
@pytest.mark.spec("11.1", "0.3", "13.1")
@pytest.mark.timeout(0 if ROUNDS > 100 else 120)
def test_of_fifty_concurrent_claims_of_one_task_exactly_one_succeeds(
    stores: list[SqlStore],
) -> None:
    """A chain: one task is ready at a time, and fifty workers claim it."""
    store = stores[0]
    submit(store, *(a_spec(f"t{n}", needs=(f"t{n - 1}",) if n else ()) for n in range(ROUNDS)))
    for _ in range(ROUNDS):
        won: list[Task] = []

        def claim(n: int, won: list[Task] = won) -> None:
            won.extend(stores[n % len(stores)].claim(Claimant(f"host{n}:1", MINUTE), 3))

        assert at_once([lambda n=n: claim(n) for n in range(CLAIMERS)]) == []  # type: ignore[misc]
        assert len(won) == 1
        finish(store, won[0])

    assert store.count_by_state(RUN) == {(State.DONE, True): ROUNDS}
    claims = [e for e in store.journal(limit=100_000) if e.event == "TASK_CLAIMED"]
    assert len(claims) == ROUNDS
    assert store.audit(RUN) == []


@pytest.mark.spec("13.1", "0.3")
def test_a_task_with_many_needs_becomes_ready_when_the_last_one_ends(
    stores: list[SqlStore],
) -> None:
    """Thirty tasks end at once; three depend on overlapping thirds of them, in other orders."""
    roots = [f"r{n}" for n in range(30)]
    sinks = {"all": roots, "back": roots[::-1], "some": roots[10:]}
    submit(stores[0], *plan(**{name: [] for name in roots}, **sinks))
    tasks = stores[0].claim(Claimant("host:1", MINUTE), 30)

    def end(n: int) -> None:
        for task in tasks[n :: len(stores)]:
            finish(stores[n], task)

    assert at_once([lambda n=n: end(n) for n in range(len(stores))]) == []  # type: ignore[misc]

    assert stores[0].audit(RUN) == []
    assert len(stores[1].claim(Claimant("host:2", MINUTE), 9)) == 3


@pytest.mark.spec("9.2", "13.1", "0.3")
def test_a_task_added_while_its_need_ends_becomes_ready(stores: list[SqlStore]) -> None:
    """Whichever transaction comes first, the new task counts its need correctly."""
    submit(stores[0], *plan(**{f"t{n}": [] for n in range(12)}))
    tasks = stores[0].claim(Claimant("host:1", MINUTE), 12)

    def add(n: int) -> None:
        stores[1 + n % 2].add_tasks(RUN, [a_spec(f"after{n}", needs=(f"t{n}",))])

    works: list[Callable[[], object]] = [lambda t=task: finish(stores[0], t) for task in tasks]  # type: ignore[misc]
    assert at_once([*works, *(lambda n=n: add(n) for n in range(12))]) == []

    assert stores[0].audit(RUN) == []
    assert len(stores[3].claim(Claimant("host:2", MINUTE), 20)) == 12
    assert [row.n for row in stores[3].rows(RUN)] == list(range(1, 25))


@pytest.mark.spec("11.6", "5.4")
def test_a_shared_limit_holds_for_concurrent_claims(stores: list[SqlStore]) -> None:
    small = an_agent("small", concurrency=3)
    shared = replace(a_run().catalogue, agents={"small": small})
    submit(stores[0], *(a_spec(f"t{n}", agents=(small,)) for n in range(30)), catalogue=shared)

    def claim(n: int) -> None:
        stores[n % len(stores)].claim(Claimant(f"host{n}:1", MINUTE), 2)

    assert at_once([lambda n=n: claim(n) for n in range(10)]) == []  # type: ignore[misc]

    assert stores[0].count_by_state(RUN)[State.ACTIVE, True] == 3


@pytest.mark.spec("11.6", "11.8")
def test_the_limit_of_a_machine_holds_for_concurrent_claims(stores: list[SqlStore]) -> None:
    submit(stores[0], *(a_spec(f"t{n}") for n in range(30)))

    def claim(n: int) -> None:
        stores[n % len(stores)].claim(Claimant(f"here:{n}", MINUTE, host="here", host_max=5), 2)

    assert at_once([lambda n=n: claim(n) for n in range(10)]) == []  # type: ignore[misc]

    assert stores[0].count_by_state(RUN)[State.ACTIVE, True] == 5


@pytest.mark.spec("11.5", "0.6")
def test_concurrent_submits_do_not_exceed_the_limit_together(
    store_location: StoreLocation, clock: HandClock
) -> None:
    limited = [
        open_test_store(store_location, clock, limits={"pending_runs_max": 3}) for _ in range(4)
    ]

    works = [lambda n=n: submit(limited[n % 4], a_spec("a"), run=f"run0000{n}") for n in range(8)]
    raised = at_once(works)

    assert [type(error) for error in raised] == [OverLimit] * 5
    assert len(limited[0].runs()) == 3
    for store in limited:
        store.close()


@pytest.mark.spec("9.5", "0.3", "13.1")
def test_a_cancellation_during_claims_ends_every_task(stores: list[SqlStore]) -> None:
    submit(stores[0], *(a_spec(f"t{n}") for n in range(20)))

    def claim(n: int) -> None:
        for task in stores[n].claim(Claimant(f"host{n}:1", MINUTE), 4):
            assert task.lease is not None

    works: list[Callable[[], object]] = [lambda n=n: claim(n) for n in range(1, 5)]  # type: ignore[misc]
    assert at_once([lambda: stores[0].cancel_run(RUN, "enough"), *works]) == []

    states = {row.state for row in stores[0].rows(RUN)}
    assert states <= {State.CANCELLED, State.ACTIVE}
    assert all(row.cancel_requested for row in stores[0].rows(RUN))
    assert stores[0].audit(RUN) == []


@pytest.mark.spec("11.2", "0.3")
def test_the_same_result_recorded_concurrently_counts_once(stores: list[SqlStore]) -> None:
    (task_id,) = submit(stores[0], a_spec("a"))
    task = claim_one(stores[0])

    raised = at_once([lambda s=store: finish(s, task) for store in stores])  # type: ignore[misc]

    assert len(raised) == len(stores) - 1
    events = [e.event for e in stores[0].journal(task_id=task_id)]
    assert (events.count("TASK_LANDED"), events.count("RESULT_REFUSED")) == (1, 1)
