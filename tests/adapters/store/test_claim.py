"""Claims: in order, each task once, fair between runs, and within limits."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.adapters.store.store_actions import (
    StoreLocation,
    claim_one,
    escalate,
    finish,
    lease_of,
    names,
    open_test_store,
    plan,
    submit,
)
from tests.builders import (
    MINUTE,
    NOW,
    RUN_ID,
    SECOND,
    HandClock,
    a_retry,
    a_run,
    a_spec,
    an_agent,
    to_land,
)
from yaoki.adapters.store import SqlStore
from yaoki.core.machine.events import LandingRefused, LeaseReleased
from yaoki.core.machine.request_events import Answered
from yaoki.core.model import Catalogue, Choice, CompetingTask, Lease, RunId, Stage, State, Task
from yaoki.core.schedule import AGEING
from yaoki.ports import Claimant

ROOT = Path(__file__).parents[3]


def claim(store: SqlStore, limit: int = 99, holder: str = "host:1") -> list[Task]:
    return store.claim(Claimant(holder, MINUTE), limit)


@pytest.mark.spec("11.1")
def test_a_claim_is_a_lease_with_a_new_epoch(store: SqlStore) -> None:
    (task_id,) = submit(store, a_spec("a"))

    task = claim_one(store, "host:7")

    assert (task.state, task.stage) == (State.ACTIVE, Stage.PREPARE)
    assert task.lease == Lease(task_id, "host:7", 1, NOW + MINUTE)
    assert store.task(task_id) == task
    entry = store.journal(task_id=task_id)[-1]
    assert (entry.event, entry.data["holder"], entry.data["epoch"]) == ("TASK_CLAIMED", "host:7", 1)


@pytest.mark.spec("11.1", "0.3")
def test_a_task_is_never_claimed_twice(store: SqlStore) -> None:
    submit(store, *plan(a=[], b=[], c=[]))

    first, second, third = claim(store, 2), claim(store, 2), claim(store, 2)

    assert (names(first), names(second), names(third)) == (["a", "b"], ["c"], [])


@pytest.mark.spec("11.1", "13.1")
def test_a_claim_of_nothing_is_no_change(store: SqlStore, store_location: StoreLocation) -> None:
    """A waiting worker claims after every change: its own claims must not be one."""
    submit(store, a_spec("a"))
    claim_one(store)
    other = open_test_store(store_location)
    before = other.version()

    assert (claim(store), store.claim_to_cancel(Claimant("host:1", MINUTE), [])) == ([], [])

    assert other.version() == before
    other.close()


@pytest.mark.spec("11.6", "1.4")
def test_tasks_of_equal_rank_start_in_the_order_of_their_numbers(store: SqlStore) -> None:
    submit(store, *(a_spec(f"t{n}") for n in range(1, 13)))

    assert [task.n for task in claim(store)] == list(range(1, 13))


@pytest.mark.spec("11.6", "1.4")
def test_returned_tasks_of_equal_rank_start_in_the_order_of_their_numbers(store: SqlStore) -> None:
    """The rows were written in another order."""
    submit(store, *(a_spec(f"t{n}") for n in range(1, 13)))
    for task in reversed(claim(store)):
        store.record(lease_of(task), lambda _: (a_retry(due_at=NOW),))

    assert [task.n for task in claim(store)] == list(range(1, 13))


@pytest.mark.spec("11.6")
def test_a_higher_priority_starts_first_until_waiting_outweighs_it(
    store: SqlStore, clock: HandClock
) -> None:
    submit(store, a_spec("old"), a_spec("old-high", priority=1))
    clock.advance(AGEING + SECOND)
    store.add_tasks(RUN_ID, [a_spec("new-high", priority=1), a_spec("urgent", priority=5)])

    assert names(claim(store)) == ["urgent", "old-high", "old", "new-high"]


@pytest.mark.spec("5.1", "5.4")
def test_a_task_is_not_claimed_before_its_due_date(store: SqlStore, clock: HandClock) -> None:
    submit(store, *plan(a=[], b=[]))
    task = claim_one(store)
    store.record(lease_of(task), lambda _: (a_retry(due_at=NOW + 10 * SECOND),))

    assert names(claim(store)) == ["b"]
    assert store.next_due() == NOW + 10 * SECOND
    assert not store.is_idle(RUN_ID)
    clock.advance(10 * SECOND)
    assert names(claim(store)) == ["a"]


# ------------------------------------------------------------------ needs


@pytest.mark.spec("1.1", "0.3")
def test_a_chain_becomes_ready_task_by_task(store: SqlStore) -> None:
    submit(store, *plan(a=[], b=["a"], c=["b"]))
    claimed = []
    while ready := claim(store):
        claimed.append(names(ready))
        for task in ready:
            finish(store, task)

    assert claimed == [["a"], ["b"], ["c"]]
    assert store.is_idle(RUN_ID)


@pytest.mark.spec("1.1", "0.3")
def test_the_end_of_a_diamond_is_ready_when_both_sides_are_done(store: SqlStore) -> None:
    submit(store, *plan(a=[], b=["a"], c=["a"], d=["b", "c"]))
    finish(store, claim_one(store))
    left, right = claim(store)

    finish(store, left)
    assert claim(store) == []
    finish(store, right)

    assert names(claim(store)) == ["d"]


@pytest.mark.spec("1.1")
def test_all_dependents_of_one_task_become_ready_at_once(store: SqlStore) -> None:
    submit(store, a_spec("root"), *(a_spec(f"leaf{n}", needs=("root",)) for n in range(50)))

    finish(store, claim_one(store))

    assert len(claim(store)) == 50


@pytest.mark.spec("1.1")
def test_a_need_named_twice_counts_once(store: SqlStore) -> None:
    submit(store, *plan(a=[], b=["a", "a"]))

    finish(store, claim_one(store))

    assert names(claim(store)) == ["b"]


@pytest.mark.spec("8.5")
def test_dependents_of_a_failed_task_are_not_ready_until_it_is_answered_and_done(
    store: SqlStore,
) -> None:
    submit(store, *plan(a=[], b=["a"], c=["b"]))
    failed = escalate(store, claim_one(store))

    assert claim(store) == []
    assert store.is_idle(RUN_ID)

    store.amend(failed.id, lambda _: (Answered(Choice.RETRY, "again"),))
    finish(store, claim_one(store))
    assert names(claim(store)) == ["b"]


# ------------------------------------------------------------------ between runs, agents, machines


@pytest.mark.spec("11.6")
def test_runs_take_turns(store: SqlStore) -> None:
    """A long run that was submitted first does not starve a short one."""
    submit(store, *(a_spec(f"t{n}") for n in range(20)), run="run00001")
    submit(store, *(a_spec(f"t{n}") for n in range(20)), run="run00002")

    runs = [task.run_id for task in claim(store, 4)]

    assert sorted(runs) == ["run00001", "run00001", "run00002", "run00002"]


@pytest.mark.spec("11.6")
def test_a_claim_takes_tasks_of_the_named_runs_only(store: SqlStore) -> None:
    submit(store, a_spec("a"), run="run00001")
    submit(store, a_spec("a"), run="run00002")

    (task,) = store.claim(Claimant("host:1", MINUTE), 9, runs=[RunId("run00002")])

    assert task.run_id == "run00002"


@pytest.mark.spec("11.6")
def test_the_concurrency_of_an_agent_is_limited_over_all_runs(store: SqlStore) -> None:
    small, large = an_agent("small", concurrency=2), an_agent("large")
    shared = replace(a_run().catalogue, agents={"small": small, "large": large})
    specs = [a_spec(f"s{n}", agents=(small,)) for n in range(4)]
    specs.append(a_spec("other", agents=(large,)))
    for run in ("run00001", "run00002"):
        submit(store, *specs, run=run, catalogue=shared)

    taken = [task for _ in range(5) for task in claim(store, 4)]

    assert sorted(task.agent.name for task in taken if task.agent) == [
        "large",
        "large",
        "small",
        "small",
    ]


@pytest.mark.spec("11.6")
def test_the_tasks_of_a_machine_are_limited_over_all_its_workers(store: SqlStore) -> None:
    submit(store, *(a_spec(f"t{n}") for n in range(9)))

    one = store.claim(Claimant("here:1", MINUTE, host="here", host_max=3), 2)
    two = store.claim(Claimant("here:2", MINUTE, host="here", host_max=3), 2)
    full = store.claim(Claimant("here:3", MINUTE, host="here", host_max=3), 2)
    elsewhere = store.claim(Claimant("there:1", MINUTE, host="there", host_max=3), 2)

    assert [len(x) for x in (one, two, full, elsewhere)] == [2, 1, 0, 2]


@pytest.mark.spec("9.5")
def test_a_cancelled_run_is_not_claimed(store: SqlStore) -> None:
    submit(store, *plan(a=[], b=[]))
    store.cancel_run(RUN_ID, "enough")

    assert claim(store) == []


def test_an_empty_store_has_nothing_to_claim(store: SqlStore) -> None:
    assert claim(store) == []
    assert store.next_due() is None


def test_a_run_without_agents_can_be_claimed(store: SqlStore) -> None:
    submit(store, a_spec("a", agents=()), catalogue=Catalogue())

    assert names(claim(store)) == ["a"]


# ------------------------------------------------------------------ races


@pytest.mark.full
@pytest.mark.spec("0.3", "11.1", "11.8")
def test_many_threads_claim_each_task_once(store: SqlStore) -> None:
    submit(store, *(a_spec(f"t{n}") for n in range(120)))
    taken: list[list[Task]] = [[] for _ in range(8)]

    def work(n: int) -> None:
        while tasks := store.claim(Claimant(f"host:{n}", MINUTE), 2):
            taken[n].extend(tasks)
            for task in tasks:
                finish(store, task)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    ids = [task.id for tasks in taken for task in tasks]
    assert len(ids) == len(set(ids)) == 120
    assert store.count_by_state(RUN_ID) == {(State.DONE, True): 120}
    assert store.audit(RUN_ID) == []


@pytest.mark.quick_cases(1)
@pytest.mark.spec("0.3", "11.1", "11.8", "13.3")
def test_many_processes_claim_each_task_once(
    store: SqlStore, store_location: StoreLocation
) -> None:
    """Each process opens the store itself; all start together and claim until nothing is left."""
    submit(store, *(a_spec(f"t{n}", needs=(f"t{n - 40}",) if n >= 40 else ()) for n in range(120)))
    command = [sys.executable, "-m", "tests.adapters.store.claim_process", str(store_location)]
    claimers = [
        subprocess.Popen([*command, f"host:{n}"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for n in range(4)
    ]
    outputs = [claimer.communicate(timeout=90)[0].split() for claimer in claimers]

    assert [claimer.returncode for claimer in claimers] == [0] * 4
    ids = [task_id for each in outputs for task_id in each]
    assert len(ids) == len(set(ids)) == 120
    assert store.count_by_state(RUN_ID) == {(State.DONE, True): 120}
    assert store.audit(RUN_ID) == []


@pytest.mark.spec("13.1")
def test_a_store_opened_twice_sees_what_the_other_wrote(
    store: SqlStore, store_location: StoreLocation
) -> None:
    other = open_test_store(store_location)
    before = other.version()

    (task_id,) = submit(store, a_spec("a"))

    assert other.version() != before
    assert other.task(task_id) == store.task(task_id)
    assert names(other.claim(Claimant("there:1", timedelta(seconds=1)), 1)) == ["a"]
    assert claim(store) == []
    other.close()


@pytest.mark.spec("3.4", "13.1")
def test_competing_tasks_on_the_same_branch_are_listed_with_their_refused_landings(
    store: SqlStore,
) -> None:
    submit(store, a_spec("a"), a_spec("b"), a_spec("fresh"))
    a, b = (claim_one(store) for _ in range(2))
    refuse(store, a)
    refuse(store, b)

    first, second, fresh = store.claim(Claimant("w:1", MINUTE), 9)

    seen = [
        CompetingTask(task.id, task.stage, queued, queued, task.attempt, task.spec)
        for task, queued in ((first, True), (second, True), (fresh, False))
    ]
    assert store.competing_tasks(first) == [seen[1], seen[2]]
    assert store.competing_tasks(fresh) == [seen[0], seen[1]]
    store.clock.sleep(2 * MINUTE)
    assert store.competing_tasks(fresh) == [], "their leases have run out"


def refuse(store: SqlStore, task: Task) -> None:
    """The task is worked on, verified, refused at the landing, and returned."""
    own_lease = lease_of(task)
    begun = to_land(attempt=1)[:-1]
    released = LeaseReleased(own_lease.holder, own_lease.epoch, "the worker was stopped")
    store.record(own_lease, lambda _: (*begun, LandingRefused("other"), released))


@pytest.mark.spec("17.7")
def test_tasks_that_wait_for_their_landing_are_listed_whole(store: SqlStore) -> None:
    submit(store, a_spec("a"), a_spec("b"), a_spec("c"))
    a, b, c = (claim_one(store) for _ in range(3))
    ready = store.record(lease_of(b), lambda _: to_land(attempt=1)[:-1])
    refuse(store, c)

    assert store.landing_tasks(a) == [ready]
    assert store.landing_tasks(ready) == []


@pytest.mark.spec("17.7")
def test_a_task_knows_whether_others_need_it(store: SqlStore) -> None:
    first, second = submit(store, a_spec("a"), a_spec("b", needs=("a",)))

    assert store.has_dependents(first)
    assert not store.has_dependents(second)
