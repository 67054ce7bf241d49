"""Workers in the store: heartbeats, which tasks a claim leaves to others, port ranges."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from tests.adapters.store.store_actions import claim_one, escalate, lease_of, names, submit
from tests.builders import MINUTE, SECOND, HandClock, a_spec
from yaoki.adapters.store import SqlStore
from yaoki.core.machine.events import AttemptStarted, LeaseReleased
from yaoki.core.machine.request_events import Answered
from yaoki.core.model import Choice
from yaoki.core.settings.resources import PortRanges
from yaoki.ports import BEGUN, NOTHING_NEW, Claimant, WorkerInfo

HERE = WorkerInfo("here:1:2:3", "here", "desk", 4, ("big", "gpu"), background=True)
TEN = PortRanges(20_000, 20_029, 10)


@pytest.mark.spec("11.8")
def test_a_worker_is_listed_with_its_tasks_until_its_heartbeat_is_old(
    store: SqlStore, clock: HandClock
) -> None:
    (task_id,) = submit(store, a_spec("a"))
    began = clock.now()
    store.record_worker_heartbeat(HERE, MINUTE)
    claim_one(store, HERE.holder)
    clock.advance(30 * SECOND)
    store.record_worker_heartbeat(HERE, MINUTE)

    (seen,) = store.workers()
    clock.advance(MINUTE + SECOND)

    assert seen.worker == HERE
    assert (seen.since, seen.last_beat - seen.since) == (began, 30 * SECOND)
    assert seen.tasks == (task_id,)
    assert store.workers() == []


@pytest.mark.spec("11.8")
def test_a_removed_worker_is_not_listed(store: SqlStore) -> None:
    store.record_worker_heartbeat(HERE, MINUTE)
    store.remove_worker(HERE.holder)

    assert store.workers() == []


@pytest.mark.spec("11.8")
def test_a_task_is_left_to_workers_that_have_all_its_tags(store: SqlStore) -> None:
    submit(store, a_spec("plain"), a_spec("one", tags=("gpu",)), a_spec("two", tags=("big", "gpu")))

    assert names(store.claim(Claimant("a:1", MINUTE), 9)) == ["plain"]
    assert names(store.claim(Claimant("b:1", MINUTE, tags=frozenset(["gpu"])), 9)) == ["one"]
    assert names(store.claim(Claimant("c:1", MINUTE, tags=frozenset(["big"])), 9)) == []
    assert names(
        store.claim(Claimant("d:1", MINUTE, tags=frozenset(["big", "gpu", "more"])), 9)
    ) == ["two"]


@pytest.mark.spec("11.5")
def test_a_machine_without_room_claims_no_new_work(store: SqlStore) -> None:
    submit(store, a_spec("a"))

    assert store.claim(Claimant("a:1", MINUTE), 9, scope=NOTHING_NEW) == []
    assert store.claim(Claimant("a:1", MINUTE), 9, scope=BEGUN) == []
    assert names(store.claim(Claimant("a:1", MINUTE), 9)) == ["a"]


@pytest.mark.spec("11.5", "4.8")
def test_a_task_returned_until_a_date_is_not_claimed_before_it(
    store: SqlStore, clock: HandClock
) -> None:
    submit(store, a_spec("a"))
    lease = lease_of(claim_one(store))
    back = LeaseReleased(lease.holder, lease.epoch, "no port is free", clock.now() + 5 * SECOND)
    task = store.record(lease, lambda _: (back,))

    assert task.counts.faults == task.counts.deliveries == 0
    assert store.claim(Claimant("b:1", MINUTE), 9) == []
    clock.advance(5 * SECOND)
    assert names(store.claim(Claimant("b:1", MINUTE), 9)) == ["a"]
    assert store.audit(task.run_id) == []


@pytest.mark.spec("11.9")
def test_a_port_range_stays_with_its_task_alone(store: SqlStore) -> None:
    a, b, c, d = submit(store, *(a_spec(name) for name in "abcd"))

    bases = [store.lease_ports(task_id, "here", TEN, ()) for task_id in (a, b, a, c, d)]
    elsewhere = store.lease_ports(d, "there", TEN, ())

    assert bases == [20_000, 20_010, 20_000, 20_020, None]
    assert elsewhere == 20_000, "ports are a machine's own"
    store.free_ports(b)
    store.free_ports(b)
    assert store.lease_ports(d, "here", TEN, ()) == 20_010


@pytest.mark.spec("11.9")
def test_a_port_range_that_another_program_uses_is_skipped(store: SqlStore) -> None:
    a, b = submit(store, a_spec("a"), a_spec("b"))
    store.lease_ports(a, "here", TEN, ())

    assert store.lease_ports(b, "here", TEN, [(20_005, 6)]) == 20_020
    assert store.lease_ports(a, "here", TEN, [(20_009, 1)]) == 20_010, "its own is taken by now"


@pytest.mark.spec("11.9")
def test_concurrent_leases_get_different_port_ranges(store: SqlStore) -> None:
    tasks = submit(store, *(a_spec(f"t{n}") for n in range(12)))
    ports, found = PortRanges(20_000, 20_119, 10), dict[str, int | None]()

    def lease(task_id: str) -> None:
        found[task_id] = store.lease_ports(task_id, "here", ports, ())

    threads = [threading.Thread(target=lease, args=(task_id,)) for task_id in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timedelta(seconds=30).total_seconds())

    assert sorted(base or 0 for base in found.values()) == list(ports.bases())


@pytest.mark.spec("13.3")
def test_a_task_that_a_person_took_over_is_claimed_only_on_the_same_machine(
    store: SqlStore,
) -> None:
    (task_id,) = submit(store, a_spec("a"))
    task = claim_one(store, "desk:1")
    begun = AttemptStarted(1, "small", "ba5e", "/w/a", "desk", True)
    store.record(lease_of(task), lambda _: (begun,))
    escalate(store, task)
    store.amend(task_id, lambda _: (Answered(Choice.DONE),))

    assert store.claim(Claimant("far:1", MINUTE, place="farm"), 9) == []
    assert store.rows(task.run_id)[0].worktree_host == "desk"
    assert names(store.claim(Claimant("desk:2", MINUTE, place="desk"), 9)) == ["a"]
