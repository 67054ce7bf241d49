"""Cancellations: they cannot be undone, and are durable before they take effect."""

from __future__ import annotations

import pytest

from tests.adapters.store.store_actions import (
    StoreLocation,
    claim_one,
    escalate,
    events_of,
    finish,
    lease_of,
    plan,
    run_sql,
    submit,
)
from tests.builders import MINUTE, RUN_ID, HandClock, a_failure, a_spec
from yaoki.adapters.store import SqlStore
from yaoki.core.machine.events import AwaitingRerun, Landed
from yaoki.core.machine.request_events import Cancelled, CancelRequested, RecallRequested
from yaoki.core.model import PendingRequest, Reason, RunId, State
from yaoki.errors import LeaseLost, NotNow
from yaoki.ports import Claimant


@pytest.mark.spec("9.5")
def test_cancelling_ends_each_state_as_specified(store: SqlStore) -> None:
    """Waiting and escalated tasks end at once, active ones by their holder, done ones stay done."""
    submit(store, *plan(done=[], stuck=[], active=[], waiting=[], behind=["waiting"]))
    finish(store, claim_one(store))
    escalate(store, claim_one(store))
    claim_one(store)

    at_work = store.cancel_run(RUN_ID, "enough")

    states = {row.name: (row.state, row.cancel_requested) for row in store.rows(RUN_ID)}
    assert states == {
        "done": (State.DONE, False),
        "stuck": (State.CANCELLED, True),
        "active": (State.ACTIVE, True),
        "waiting": (State.CANCELLED, True),
        "behind": (State.CANCELLED, True),
    }
    assert at_work == [f"{RUN_ID}-3"]
    assert store.run(RUN_ID).cancel_requested
    assert store.audit(RUN_ID) == []


@pytest.mark.spec("9.5", "10.1")
def test_a_cancellation_is_journalled_before_its_effects(store: SqlStore) -> None:
    (task_id,) = submit(store, a_spec("a"))

    store.cancel_run(RUN_ID, "enough")

    entries = [(e.event, e.task_id) for e in store.journal(run_id=RUN_ID)][3:]
    assert entries[:3] == [
        ("CANCEL_REQUESTED", ""),
        ("CANCEL_REQUESTED", task_id),
        ("TASK_CANCELLED", task_id),
    ]


@pytest.mark.spec("9.5", "0.3")
def test_cancelling_twice_changes_nothing_more(store: SqlStore) -> None:
    (task_id,) = submit(store, a_spec("a"))
    claim_one(store)
    store.cancel_run(RUN_ID, "enough")
    before = store.task(task_id)

    assert store.cancel_run(RUN_ID, "enough") == [task_id]

    assert store.task(task_id) == before
    assert events_of(store, task_id).count("CANCEL_REQUESTED") == 1


@pytest.mark.spec("9.5")
def test_the_holder_of_an_active_task_cancels_it(store: SqlStore) -> None:
    submit(store, a_spec("a"))
    task = claim_one(store)
    store.cancel_run(RUN_ID, "enough")

    ended = store.record(lease_of(task), lambda _: (Cancelled("enough", saved_ref="ref"),))

    assert (ended.state, ended.lease) == (State.CANCELLED, None)
    assert store.is_idle(RUN_ID)


@pytest.mark.spec("9.5", "11.2")
def test_a_late_result_of_a_cancelled_task_is_only_journalled(store: SqlStore) -> None:
    (task_id,) = submit(store, a_spec("a"))
    task = claim_one(store)
    store.cancel_run(RUN_ID, "enough")
    ended = store.record(lease_of(task), lambda _: (Cancelled("enough"),))

    with pytest.raises(LeaseLost):
        store.record(lease_of(task), lambda _: (Landed("abc"),))

    assert store.task(task_id) == ended
    assert events_of(store, task_id)[-1] == "RESULT_REFUSED"


@pytest.mark.spec("9.5")
def test_a_cancellation_survives_the_death_of_the_holder(store: SqlStore, clock: HandClock) -> None:
    submit(store, a_spec("a"))
    claim_one(store, "dead:1")
    store.cancel_run(RUN_ID, "enough")
    clock.advance(2 * MINUTE)

    assert claim_one(store, "host:2").cancel_requested


@pytest.mark.spec("9.5")
def test_one_task_can_be_cancelled_by_itself(store: SqlStore) -> None:
    ids = submit(store, *plan(a=[], b=[]))

    assert store.cancel_task(ids[0], "not needed").state is State.CANCELLED

    assert store.task(ids[1]).state is State.WAITING
    assert not store.run(RUN_ID).cancel_requested


@pytest.mark.spec("9.5", "0.6")
def test_a_finished_task_cannot_be_cancelled(store: SqlStore) -> None:
    (task_id,) = submit(store, a_spec("a"))
    done = finish(store, claim_one(store))

    with pytest.raises(NotNow, match="already DONE"):
        store.cancel_task(task_id, "too late")

    assert store.task(task_id) == done


@pytest.mark.spec("9.5")
def test_cancelling_one_run_leaves_other_runs_alone(store: SqlStore) -> None:
    submit(store, a_spec("a"), run="run00001")
    submit(store, a_spec("a"), run="run00002")

    store.cancel_run(RunId("run00001"), "enough")

    assert claim_one(store).run_id == "run00002"


@pytest.mark.spec("9.5", "11.6")
def test_cancelled_tasks_of_another_repository_do_not_starve_those_of_this_one(
    store: SqlStore,
) -> None:
    """Two repositories share a store.  Twenty cancelled tasks of the other one, whose worker is
    gone, came first in the list and filled it.
    """
    other, ours = RunId("run00001"), RunId("run00002")
    submit(store, *(a_spec(f"t{n}") for n in range(20)), run=other)
    submit(store, a_spec("a"), run=ours)
    store.claim(Claimant("dead:1", MINUTE), 21)
    for run in (other, ours):
        store.cancel_run(run, "enough")
    store.expire_claims(lambda _: True, counted=True)

    claimed = store.claim_to_cancel(Claimant("host:2", MINUTE), [ours])

    assert [task.run_id for task in claimed] == [ours]


@pytest.mark.spec("9.6", "11.6")
def test_a_recalled_task_is_not_marked_as_cancelled(
    store: SqlStore, store_location: StoreLocation
) -> None:
    """One column once stored both, as the numbers 1 and 2."""
    submit(store, a_spec("a"))
    task = claim_one(store)

    store.record(lease_of(task), lambda _: (RecallRequested("its ground is gone"),))

    assert run_sql(store_location, "SELECT cancel_wanted FROM tasks WHERE id = ?", task.id) == [
        (0,)
    ]
    assert task.id in store.tasks_to_stop()


# ------------------------------------------------------------------ dependents


@pytest.mark.spec("8.5", "1.3")
def test_a_failure_blocks_all_levels_of_dependents_with_one_entry(store: SqlStore) -> None:
    submit(store, *plan(a=[], b=["a"], c=["b"], d=["a", "c"], free=[]))

    stuck = escalate(store, claim_one(store))

    (notice,) = [e for e in store.journal(run_id=RUN_ID) if e.event == "TASK_BLOCKED"]
    assert notice.task_id == notice.data["cause"] == stuck.id
    assert notice.data["tasks"] == [f"{RUN_ID}-{n}" for n in (2, 3, 4)]
    assert notice.data["dependents"] == 3
    assert notice.data["dependents_reason"] == "DEPENDENCY_FAILED"


@pytest.mark.spec("8.5", "9.5", "0.3")
def test_cancelling_a_run_journals_no_blocked_dependents(store: SqlStore) -> None:
    submit(store, *plan(a=[], b=["a"], c=["b"]))

    store.cancel_run(RUN_ID, "enough")

    assert "TASK_BLOCKED" not in [e.event for e in store.journal(run_id=RUN_ID)]


@pytest.mark.full
@pytest.mark.spec("9.5", "0.4")
def test_every_task_of_a_long_chain_is_cancelled(store: SqlStore) -> None:
    submit(store, *(a_spec(f"t{n}", needs=(f"t{n - 1}",) if n else ()) for n in range(500)))

    store.cancel_run(RUN_ID, "enough")

    assert store.count_by_state(RUN_ID) == {(State.CANCELLED, True): 500}


@pytest.mark.spec("9.5", "8.4")
def test_a_task_that_awaits_its_rerun_is_cancelled_at_once(store: SqlStore) -> None:
    """No worker may claim it, so none could carry out the request later."""
    (task_id,) = submit(store, a_spec("a"))
    claimed = claim_one(store)
    store.record(lease_of(claimed), lambda _: (AwaitingRerun(a_failure(), Reason.MAX_RETRIES),))

    task = store.cancel_task(task_id, "enough")

    assert task.state is State.CANCELLED
    assert store.audit(RUN_ID) == []


@pytest.mark.spec("9.5", "10.2")
@pytest.mark.parametrize("column", ["cancel_wanted", "recall_wanted"])
def test_a_cancel_request_in_an_old_row_of_a_landed_task_is_ignored(
    store: SqlStore, store_location: StoreLocation, column: str
) -> None:
    """Earlier versions kept the flag of a task that landed before the request was met."""
    (task_id,) = submit(store, a_spec("a"))
    claimed = claim_one(store)
    request = CancelRequested("no") if column == "cancel_wanted" else RecallRequested("no")
    store.amend(task_id, lambda _: (request,))
    finish(store, claimed)
    run_sql(store_location, f"UPDATE tasks SET {column} = 1")

    assert store.task(task_id).request is PendingRequest.NONE
    assert store.audit(RUN_ID) == []
