"""Leases: expiry, fencing, heartbeats, and dead holders."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.store.store_actions import (
    claim_one,
    events_of,
    finish,
    lease_of,
    names,
    plan,
    submit,
)
from tests.builders import MINUTE, NOW, RUN_ID, SECOND, HandClock, a_spec, to_land
from yaoki.adapters.store import SqlStore
from yaoki.core.machine.events import Event, Landed
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.machine.request_events import Cancelled
from yaoki.core.model import Lease, RunId, State, Task, TaskId
from yaoki.errors import LeaseLost, NotNow, Unknown
from yaoki.ports import Claimant


@pytest.mark.spec("11.3", "3.7", "5.2")
def test_an_expired_claim_goes_to_the_next_holder(store: SqlStore, clock: HandClock) -> None:
    (task_id,) = submit(store, a_spec("a"))
    first = claim_one(store, "dead:1")
    store.record(lease_of(first), lambda _: to_land()[:1])
    clock.advance(MINUTE + SECOND)

    second = claim_one(store, "host:2")

    assert (second.epoch, second.stage, second.attempt) == (2, "WORK", 1)
    assert second.counts.deliveries == 1
    assert events_of(store, task_id)[-2:] == ["LEASE_EXPIRED", "TASK_CLAIMED"]


@pytest.mark.spec("11.1")
def test_a_claim_is_valid_until_its_lease_expires(store: SqlStore, clock: HandClock) -> None:
    submit(store, a_spec("a"))
    claim_one(store)
    clock.advance(MINUTE)

    assert store.claim(Claimant("host:2", MINUTE), 1) == []


@pytest.mark.spec("11.3")
def test_a_living_holder_keeps_its_task_for_a_bounded_time(
    store: SqlStore, clock: HandClock
) -> None:
    """At most half an hour after the lease expired, even if the process lives."""
    (task_id,) = submit(store, a_spec("a"))
    first = claim_one(store, "here:1")
    clock.advance(MINUTE + SECOND)
    for _ in range(29):
        clock.advance(MINUTE)
        assert (
            store.claim(Claimant("here:2", MINUTE, is_alive=lambda holder: holder == "here:1"), 1)
            == []
        )
    assert store.task(task_id).epoch == first.epoch
    clock.advance(MINUTE)

    (second,) = store.claim(Claimant("here:2", MINUTE, is_alive=lambda _: True), 1)

    assert (second.epoch, lease_of(second).holder) == (2, "here:2")


@pytest.mark.spec("11.3", "11.1")
def test_a_worker_does_not_claim_its_own_expired_task(store: SqlStore, clock: HandClock) -> None:
    """A worker that slept past its lease continues its task; it does not claim it a second time."""
    (task_id,) = submit(store, a_spec("a"))
    first = claim_one(store, "here:1")
    clock.advance(300 * MINUTE)

    assert store.claim(Claimant("here:1", MINUTE, is_alive=lambda _: True), 1) == []
    assert store.heartbeat([lease_of(first)], MINUTE).lost == frozenset()
    assert lease_of(store.task(task_id)).expires_at == clock.now() + MINUTE
    assert store.audit(RUN_ID) == []


# ------------------------------------------------------------------ the fence


@pytest.mark.spec("11.2", "13.3", "0.3")
def test_a_replaced_holder_cannot_write(store: SqlStore, clock: HandClock) -> None:
    """The first worker slept through its lease; its late success must not count."""
    (task_id,) = submit(store, a_spec("login"))
    late = lease_of(claim_one(store, "sleeper"))
    clock.advance(2 * MINUTE)
    claim_one(store, "successor")
    before = store.task(task_id)

    with pytest.raises(LeaseLost, match=f"sleeper no longer holds {task_id}"):
        store.record(late, lambda _: (Landed("abc123"),))

    assert store.task(task_id) == before


@pytest.mark.spec("11.2", "0.3", "10.1")
def test_a_late_result_is_journalled_once(store: SqlStore, clock: HandClock) -> None:
    (task_id,) = submit(store, a_spec("login"))
    late = lease_of(claim_one(store, "sleeper"))
    clock.advance(2 * MINUTE)
    claim_one(store, "successor")

    for _ in range(3):
        with pytest.raises(LeaseLost):
            store.record(late, lambda _: (Landed("abc123"),))

    refused = [e for e in store.journal(task_id=task_id) if e.event == "RESULT_REFUSED"]
    assert [e.data for e in refused] == [
        {"holder": "sleeper", "epoch": 1, "current_epoch": 2, "state": "ACTIVE"}
    ]
    assert store.audit(RUN_ID) == []


@pytest.mark.spec("11.2")
def test_each_superseded_claim_has_its_own_refusal(store: SqlStore, clock: HandClock) -> None:
    """Claim 1 and claim 11 are two claims, whatever their digits share."""
    (task_id,) = submit(store, a_spec("login"))
    leases = []
    for n in range(11):
        leases.append(lease_of(claim_one(store, f"host:{n}")))
        clock.advance(2 * MINUTE)
    claim_one(store, "last")

    for lease in (leases[0], leases[10], leases[0]):
        with pytest.raises(LeaseLost):
            store.record(lease, lambda _: (Landed("abc123"),))

    refused = [e for e in store.journal(task_id=task_id) if e.event == "RESULT_REFUSED"]
    assert [e.data["epoch"] for e in refused] == [1, 11]


@pytest.mark.spec("11.2")
def test_a_result_for_finished_work_is_refused(store: SqlStore) -> None:
    (task_id,) = submit(store, a_spec("login"))
    task = claim_one(store)
    done = finish(store, task)

    with pytest.raises(LeaseLost):
        finish(store, task)

    assert store.task(task_id) == done


@pytest.mark.spec("11.2")
def test_the_right_epoch_with_the_wrong_holder_is_refused(store: SqlStore) -> None:
    (task_id,) = submit(store, a_spec("login"))
    forged = replace(lease_of(claim_one(store, "host:1")), holder="host:2")

    with pytest.raises(LeaseLost, match="host:2"):
        store.record(forged, lambda _: (Landed("abc123"),))

    assert store.task(task_id).state is State.ACTIVE


@pytest.mark.spec("11.2")
def test_a_result_for_an_unknown_task_is_refused_by_name(store: SqlStore) -> None:
    with pytest.raises(Unknown, match="nothere-1"):
        store.record(Lease(TaskId("nothere-1"), "host:1", 1, NOW), lambda _: (Landed("a"),))


@pytest.mark.spec("11.2")
def test_a_refused_result_does_not_run_its_rule(store: SqlStore, clock: HandClock) -> None:
    submit(store, a_spec("login"))
    late = lease_of(claim_one(store, "sleeper"))
    clock.advance(2 * MINUTE)
    claim_one(store, "successor")
    calls: list[str] = []

    def ask(task: Task) -> tuple[Event, ...]:
        calls.append(task.id)
        return (JournalNote("ASKED"),)

    with pytest.raises(LeaseLost):
        store.record(late, ask)

    assert calls == []


# ------------------------------------------------------------------ heartbeats


@pytest.mark.spec("11.1")
def test_a_heartbeat_extends_every_lease_it_names(store: SqlStore, clock: HandClock) -> None:
    submit(store, *plan(a=[], b=[]))
    tasks = store.claim(Claimant("host:1", MINUTE), 2)
    clock.advance(50 * SECOND)

    beat = store.heartbeat([lease_of(task) for task in tasks], MINUTE)

    assert (beat.lost, beat.cancel_requested) == (frozenset(), frozenset())
    clock.advance(50 * SECOND)
    assert store.claim(Claimant("host:2", MINUTE), 2) == []
    assert store.audit(RUN_ID) == []


@pytest.mark.spec("11.1", "13.3")
def test_a_heartbeat_does_not_revive_a_lost_claim(store: SqlStore, clock: HandClock) -> None:
    (task_id,) = submit(store, a_spec("a"))
    old = lease_of(claim_one(store, "host:1"))
    clock.advance(2 * MINUTE)
    new = claim_one(store, "host:2")

    beat = store.heartbeat([old], 10 * MINUTE)

    assert beat.lost == {task_id}
    assert store.task(task_id) == new


@pytest.mark.spec("11.1", "9.5")
def test_a_heartbeat_does_not_revive_a_cancelled_task(store: SqlStore) -> None:
    (task_id,) = submit(store, a_spec("a"))
    task = claim_one(store)
    store.cancel_task(task_id, "enough")
    store.record(lease_of(task), lambda _: (Cancelled("enough"),))

    beat = store.heartbeat([lease_of(task)], MINUTE)

    assert beat.lost == {task_id}
    assert not beat.cancel_requested
    assert store.task(task_id).state is State.CANCELLED


@pytest.mark.spec("9.5", "11.1")
def test_a_heartbeat_reports_cancellations_of_its_own_tasks_only(
    store: SqlStore,
) -> None:
    ids = submit(store, *plan(a=[], b=[]))
    mine, other = claim_one(store, "host:1"), claim_one(store, "host:2")
    store.cancel_run(RUN_ID, "enough")

    assert store.heartbeat([lease_of(mine)], MINUTE).cancel_requested == {ids[0]}
    assert store.heartbeat([lease_of(other)], MINUTE).cancel_requested == {ids[1]}
    assert store.tasks_to_stop() == set(ids)


def test_a_heartbeat_without_leases_does_nothing(store: SqlStore) -> None:
    beat = store.heartbeat([], MINUTE)

    assert (beat.lost, beat.cancel_requested) == (frozenset(), frozenset())


# ------------------------------------------------------------------ dead holders


@pytest.mark.spec("11.3", "8.6")
@pytest.mark.parametrize(("counted", "deliveries"), [(True, 1), (False, 0)])
def test_the_claims_of_a_dead_holder_are_returned_at_once(
    store: SqlStore, counted: bool, deliveries: int
) -> None:
    ids = submit(store, *plan(a=[], b=[]))
    claim_one(store, "dead:1")
    alive = claim_one(store, "alive:1")

    back = store.expire_claims(lambda holder: holder.startswith("dead"), counted=counted)

    assert back == [ids[0]]
    task = store.task(ids[0])
    assert (task.state, task.counts.deliveries) == (State.WAITING, deliveries)
    assert store.task(ids[1]) == alive
    assert store.expire_claims(lambda holder: holder.startswith("dead"), counted=counted) == []


@pytest.mark.spec("11.3", "8.6")
def test_claims_are_expired_in_the_named_runs_only(store: SqlStore) -> None:
    submit(store, a_spec("a"), run="run00001")
    submit(store, a_spec("a"), run="run00002")
    store.claim(Claimant("dead:1", MINUTE), 2)

    back = store.expire_claims(lambda _: True, counted=False, runs=[RunId("run00002")])

    assert back == ["run00002-1"]
    assert names(store.claim(Claimant("host:1", MINUTE), 9)) == ["a"]


# ------------------------------------------------------------------ what people change


@pytest.mark.spec("10.4")
def test_an_amendment_is_decided_on_the_stored_task(store: SqlStore) -> None:
    (task_id,) = submit(store, a_spec("a"))

    def refuse(_: Task) -> tuple[Event, ...]:
        raise NotNow("it is not escalated", hint="yaoki why a")

    with pytest.raises(NotNow):
        store.amend(task_id, refuse)

    assert events_of(store, task_id) == ["TASK_SUBMITTED"]
