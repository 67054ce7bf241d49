"""The candidates of a race as rows: all that follows from a step is in its transaction (18.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest

from tests.adapters.store.store_actions import (
    StoreLocation,
    claim_one,
    events_of,
    lease_of,
    open_test_store,
    submit,
)
from tests.adapters.store.test_concurrency import at_once
from tests.builders import MINUTE, NOW, RUN_ID, a_failure, a_spec, to_land
from yaoki.adapters.store import SqlStore
from yaoki.core.decide.failure_response import ClockAndChance
from yaoki.core.decide.race import follow_race
from yaoki.core.machine.events import AttemptStarted, Event, Landed
from yaoki.core.machine.race_events import CandidateFailed, CandidateProven, RaceStarted
from yaoki.core.machine.request_events import CancelRequested
from yaoki.core.model import CandidateScore, RaceEnd, RaceRules, RunId, Stage, State, Task, TaskId
from yaoki.errors import LeaseLost, NotNow
from yaoki.ports import Claimant

pytestmark = pytest.mark.spec("18.4", "0.2", "0.3")

MOMENT = ClockAndChance(NOW, 0.5)
RUN = RunId(RUN_ID)


def start_race(store: SqlStore, *, until: RaceEnd = RaceEnd.FIRST, tries: int = 3) -> list[TaskId]:
    """The ids of the candidates of the only task."""
    submit(store, a_spec("a", race=RaceRules(tries, until=until)))
    return start_round(store)


def start_round(store: SqlStore) -> list[TaskId]:
    task = claim_one(store)
    started = AttemptStarted(task.attempt + 1, "", "ba5e", "", "host", fresh=True)
    return list(store.record(lease_of(task), lambda _: (started, RaceStarted())).candidates)


def prove(task: Task) -> tuple[Event, ...]:
    """From prepare to the proof, without the landing."""
    events = to_land("c0ffee", task.attempt + 1)
    assert isinstance(events[-1], Landed)
    return (*events[:-1], CandidateProven(CandidateScore(changed_lines=task.n)))


def fail(_: Task) -> tuple[Event, ...]:
    return (CandidateFailed(a_failure(), CandidateScore(1)),)


def record(
    store: SqlStore, task: Task, decide: Callable[[Task], Sequence[Event]] = prove
) -> list[Task]:
    return store.record_candidate(
        lease_of(task),
        task.race_task,
        decide,
        lambda race, candidates, changed, judge: follow_race(
            race, candidates, changed, MOMENT, judge
        ),
    )


def states(store: SqlStore) -> dict[str, State]:
    return {row.name: row.state for row in store.rows(RUN)}


def test_a_race_adds_its_candidates_with_the_same_event(store: SqlStore) -> None:
    ids = start_race(store)

    rows = {row.id: row for row in store.rows(RUN)}
    assert ids == [f"{RUN}-{n}" for n in (2, 3, 4)]
    assert [rows[each].name for each in ids] == ["a~1.1", "a~1.2", "a~1.3"]
    assert {rows[each].race_task for each in ids} == {TaskId(f"{RUN}-1")}
    assert rows[TaskId(f"{RUN}-1")].awaiting_race
    assert not rows[TaskId(f"{RUN}-1")].awaiting_rerun
    assert {rows[each].required for each in ids} == {False}
    assert not store.is_idle(RUN)
    assert store.audit(RUN) == []


def test_only_candidates_can_be_claimed_while_they_race(store: SqlStore) -> None:
    ids = start_race(store)

    claimed = store.claim(Claimant("host:1", MINUTE), 9)

    assert [task.id for task in claimed] == ids
    assert store.tasks_awaiting_rerun(RUN) == []


def test_the_first_proof_ends_the_race_in_its_own_transaction(store: SqlStore) -> None:
    start_race(store)
    first, second = store.claim(Claimant("host:1", MINUTE), 2)

    changed = record(store, first)

    assert [task.spec.name for task in changed] == ["a~1.1", "a", "a~1.2", "a~1.3"]
    racing = store.task(first.race_task)
    assert (racing.stage, racing.work.candidate) == (Stage.VERIFY, first.id)
    assert states(store) == {
        "a": State.WAITING,
        "a~1.1": State.REPLACED,
        "a~1.2": State.ACTIVE,
        "a~1.3": State.REPLACED,
    }
    assert second.id in store.tasks_to_stop()
    assert store.audit(RUN) == []


def test_a_candidate_that_lost_its_claim_decides_nothing(store: SqlStore) -> None:
    start_race(store)
    (late,) = store.claim(Claimant("host:1", MINUTE), 1)
    store.expire_claims(lambda _: True, counted=True)

    with pytest.raises(LeaseLost):
        record(store, late)

    assert store.task(late.race_task).awaiting_race
    assert "CANDIDATE_SETTLED" not in events_of(store, late.race_task)


def test_a_race_without_a_winner_starts_again_with_its_failure(store: SqlStore) -> None:
    start_race(store, tries=2)
    for candidate in store.claim(Claimant("host:1", MINUTE), 2):
        record(store, candidate, fail)

    racing = store.task(f"{RUN}-1")
    assert (racing.state, racing.stage, racing.counts.total_failures) == (
        State.WAITING,
        Stage.PREPARE,
        1,
    )
    assert racing.feedback == a_failure()


@pytest.fixture
def stores(store: SqlStore, store_location: StoreLocation) -> Iterator[list[SqlStore]]:
    """One store per simulated machine."""
    others = [open_test_store(store_location) for _ in range(2)]
    yield [store, *others]
    for other in others:
        other.close()


@pytest.mark.parametrize("until", RaceEnd)
def test_candidates_that_are_proven_at_the_same_instant_have_one_winner(
    stores: list[SqlStore], until: RaceEnd
) -> None:
    start_race(stores[0], until=until)
    tasks = [store.claim(Claimant(f"host:{n}", MINUTE), 1)[0] for n, store in enumerate(stores)]

    raised = at_once([partial(record, *pair) for pair in zip(stores, tasks, strict=True)])

    assert raised == []
    names = [entry.event for entry in stores[0].journal(run_id=RUN)]
    assert names.count("RACE_DECIDED") == 1
    if until is RaceEnd.ALL:
        assert stores[0].task(f"{RUN}-1").work.candidate == tasks[0].id
    assert stores[0].audit(RUN) == []


def test_cancelling_a_run_cancels_each_task_of_a_race_once(store: SqlStore) -> None:
    start_race(store, until=RaceEnd.ALL)
    active, proven = store.claim(Claimant("host:1", MINUTE), 2)
    record(store, proven)

    ending = store.cancel_run(RUN_ID, "enough")

    assert set(ending) == {active.race_task, active.id}
    found = states(store)
    assert (found["a~1.1"], found["a~1.2"], found["a~1.3"]) == (
        State.ACTIVE,
        State.REPLACED,
        State.REPLACED,
    )
    assert events_of(store, active.id).count("CANCEL_REQUESTED") == 1
    assert store.audit(RUN) == []


def test_a_candidate_is_cancelled_only_with_its_race(store: SqlStore) -> None:
    ids = start_race(store)

    with pytest.raises(NotNow, match=f"{ids[0]} is a candidate in the race of {RUN}-1"):
        store.cancel_task(ids[0], "enough")
    store.cancel_task(TaskId(f"{RUN}-1"), "enough")

    assert {states(store)[name] for name in ("a~1.1", "a~1.2", "a~1.3")} == {State.REPLACED}
    (racing,) = store.claim_to_cancel(Claimant("host:1", MINUTE), [RUN])
    assert racing.cancel_requested


def test_a_race_in_a_large_run_reads_no_names(store: SqlStore) -> None:
    """Its candidates need nothing, so no other task is looked up."""
    submit(store, a_spec("a", race=RaceRules(2)), *(a_spec(f"t{n}") for n in range(5)))
    task = claim_one(store)
    started = AttemptStarted(1, "", "ba5e", "", "host", fresh=True)

    racing = store.record(lease_of(task), lambda _: (started, RaceStarted()))

    assert racing.candidates == (f"{RUN}-7", f"{RUN}-8")


@pytest.mark.spec("9.5")
def test_a_row_that_was_read_ahead_is_read_again_after_a_change(store: SqlStore) -> None:
    """A commit joins writes of several threads: one may change the row of another."""
    ids = submit(store, a_spec("a"), a_spec("b"))
    before = store.task(ids[0])

    def work(tx: Any) -> Task:
        tx.prefetch(ids)
        store.writer.write(tx, before, (CancelRequested("enough"),))
        return store.loader.task(tx, ids[0])

    assert store.database.write(work).cancel_requested
