"""The journal is complete: rows fold from it, and a changed row is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.adapters.store.store_actions import (
    StoreLocation,
    claim_one,
    escalate,
    finish,
    lease_of,
    open_test_store,
    plan,
    run_sql,
    submit,
)
from tests.builders import MINUTE, NOW, RUN_ID, SECOND, HandClock, a_retry, a_spec, to_land
from tests.core.test_task_life import any_report
from tests.quick_selection import example_count
from yaoki.adapters.store import SqlStore, open_store
from yaoki.core.decide.failure_response import ClockAndChance
from yaoki.core.decide.rules import decide
from yaoki.core.machine.events import LeaseReleased
from yaoki.core.machine.request_events import Answered, UndoCompleted
from yaoki.core.model import Choice, Question, Reason, State
from yaoki.errors import LeaseLost, NotNow
from yaoki.ports import Claimant


@pytest.mark.spec("10.1")
def test_an_entry_has_its_time_its_task_and_its_event(store: SqlStore, clock: HandClock) -> None:
    (task_id,) = submit(store, a_spec("a"))
    clock.advance(SECOND)
    task = claim_one(store)
    store.record(lease_of(task), lambda _: to_land()[:1])

    entry = store.journal()[-1]

    assert (entry.at, entry.run_id, entry.task_id, entry.attempt, entry.event) == (
        NOW + SECOND,
        RUN_ID,
        task_id,
        1,
        "ATTEMPT_STARTED",
    )
    assert entry.data["base"] == "ba5e"


@pytest.mark.spec("10.1", "10.2")
def test_the_journal_is_read_on_after_a_number(store: SqlStore) -> None:
    submit(store, *(a_spec(f"t{n}") for n in range(10)))
    whole = store.journal()
    read = store.journal(limit=5)
    while more := store.journal(after=read[-1].seq, limit=3):
        read += more

    assert read == whole
    assert store.last_seq() == whole[-1].seq
    assert [e.seq for e in whole] == sorted({e.seq for e in whole})


@pytest.mark.spec("10.1")
def test_the_journal_can_be_read_by_run_or_by_task(store: SqlStore) -> None:
    submit(store, a_spec("a"), run="run00001")
    submit(store, *plan(a=[], b=[]), run="run00002")

    assert {e.run_id for e in store.journal(run_id="run00002")} == {"run00002"}
    assert len(store.journal(run_id="run00002")) == 4
    assert [e.task_id for e in store.journal(task_id="run00002-2")] == ["run00002-2"]
    assert store.journal(run_id="nothere") == []


# ------------------------------------------------------------------ the fold


def act_randomly(store: SqlStore, clock: HandClock, dice: Random) -> None:
    """A random action of a worker or a person; it may be refused."""
    clock.advance(dice.choice([SECOND, 20 * SECOND]))
    rows = store.rows(RUN_ID)
    row = dice.choice(rows)
    try:
        match dice.randrange(8):
            case 0 | 1:
                store.claim(Claimant(f"host:{dice.randrange(3)}", MINUTE), dice.randrange(1, 4))
            case 2:
                store.expire_claims(lambda _: True, counted=dice.random() < 0.5)
            case 3 if dice.random() < 0.2:
                store.cancel_task(row.id, "enough")
            case 4 if row.state is State.ESCALATED:
                choice = dice.choice([Choice.RETRY, Choice.DONE, Choice.ABORT])
                store.amend(row.id, lambda _: (Answered(choice, "words"),))
            case 5 if row.state is State.DONE:
                asked = Question("Again?", (Choice.RETRY,))
                store.amend(row.id, lambda task: (UndoCompleted(task.landed_commit, asked),))
            case _ if row.state is State.ACTIVE:
                step(store, clock, dice, row.id)
            case _:
                pass
    except (LeaseLost, NotNow):
        pass


def step(store: SqlStore, clock: HandClock, dice: Random, task_id: str) -> None:
    seen = store.task(task_id)
    for _ in range(dice.randrange(1, 5)):
        if seen.lease is None:
            return
        report = any_report(seen, dice)
        moment = ClockAndChance(clock.now(), dice.random())
        seen = store.record(seen.lease, lambda task, r=report, m=moment: decide(task, r, m))  # type: ignore[misc]


@pytest.mark.spec("10.2", "0.3", "8.5")
@settings(
    max_examples=example_count(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**32))
def test_after_random_work_the_journal_folds_to_the_rows(tmp_path: Path, seed: int) -> None:
    dice, clock = Random(seed), HandClock()
    path = tmp_path / f"{seed}" / "state.db"
    path.unlink(missing_ok=True)
    store = open_store(path, clock, durable=False)
    submit(store, *plan(a=[], b=["a"], c=["a"], d=["b", "c"], e=[], f=["e"]))
    for _ in range(60):
        act_randomly(store, clock, dice)

    wrong = store.audit(RUN_ID)
    landed = [e.task_id for e in store.journal() if e.event == "TASK_LANDED"]
    undone = [e.task_id for e in store.journal() if e.event == "TASK_UNDONE"]
    rows = store.rows(RUN_ID)
    store.close()

    assert wrong == []
    for row in rows:
        standing = landed.count(row.id) - undone.count(row.id)
        assert standing == (row.state is State.DONE)


@pytest.mark.spec("10.2", "0.1")
def test_nothing_starts_before_its_needs_are_done(store: SqlStore, clock: HandClock) -> None:
    submit(store, *plan(a=[], b=["a"], c=["a", "b"]))
    needs, dice = store.needs(RUN_ID), Random(7)
    for _ in range(200):
        act_randomly(store, clock, dice)
    done: set[str] = set()
    for entry in store.journal():
        if entry.event == "TASK_CLAIMED":
            assert entry.attempt > 0 or set(needs[store.task(entry.task_id).id]) <= done
        if entry.event == "TASK_LANDED":
            done.add(entry.task_id)
        if entry.event == "TASK_UNDONE":
            done.discard(entry.task_id)


# ------------------------------------------------------------------ the audit

CHANGES = {
    "another state": "UPDATE tasks SET state = 'DONE', landed = 'x' WHERE n = 1",
    "another attempt": "UPDATE tasks SET attempt = 7 WHERE n = 1",
    "another document": "UPDATE tasks SET doc = '{\"agent_index\":1}' WHERE n = 1",
    "another landing": "UPDATE tasks SET landed = 'beef' WHERE n = 2",
    "an unreadable document": "UPDATE tasks SET doc = '{' WHERE n = 1",
    "an unknown state": "UPDATE tasks SET state = 'LIMBO' WHERE n = 1",
    "a line taken out": "DELETE FROM journal WHERE event = 'ATTEMPT_STARTED'",
    "a line put in": (
        "INSERT INTO journal (at_ms, run_id, task_id, event, data)"
        " SELECT 0, run_id, id, 'TASK_LANDED', '{\"commit\":\"x\"}' FROM tasks WHERE n = 1"
    ),
    "an unreadable entry": "UPDATE journal SET data = '{}' WHERE event = 'TASK_CLAIMED'",
    "no submission": "DELETE FROM journal WHERE event = 'TASK_SUBMITTED' AND task_id LIKE '%-1'",
}


@pytest.mark.quick_cases(6)
@pytest.mark.spec("10.2")
@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_an_audit_finds_a_changed_row_or_journal(
    store: SqlStore, store_location: StoreLocation, clock: HandClock, change: str
) -> None:
    submit(store, *plan(a=[], b=[]))
    task = claim_one(store)
    store.record(lease_of(task), lambda _: (*to_land()[:2], a_retry()))
    finish(store, claim_one(store))
    assert store.audit(RUN_ID) == []

    run_sql(store_location, change)
    other = open_test_store(store_location, clock)
    wrong = other.audit(RUN_ID)
    other.close()

    assert wrong
    assert all(line.startswith(f"{RUN_ID}-") for line in wrong)


@pytest.mark.spec("10.2")
def test_an_audit_finds_a_wrong_count_of_open_needs(
    store: SqlStore, store_location: StoreLocation
) -> None:
    submit(store, *plan(a=[], b=["a"]))

    run_sql(store_location, "UPDATE tasks SET open_needs = 0 WHERE n = 2")

    assert store.audit(RUN_ID) == [f"{RUN_ID}-2: 0 open needs stored, 1 counted"]


@pytest.mark.spec("13.2", "1.3")
@pytest.mark.parametrize("stored", ["", "NO_SUCH_REASON"])
def test_a_blocked_row_without_a_reason_reads_as_unknown(
    store: SqlStore, store_location: StoreLocation, stored: str
) -> None:
    submit(store, a_spec("a"))
    stuck = escalate(store, claim_one(store))

    run_sql(store_location, "UPDATE tasks SET reason = ?", stored)

    assert store.task(stuck.id).reason is Reason.UNKNOWN
    assert store.rows(RUN_ID)[0].reason == "UNKNOWN"


# ------------------------------------------------------------------ what screens read


@pytest.mark.spec("1.1", "1.3")
def test_a_screen_row_has_the_fields_of_its_task(store: SqlStore) -> None:
    submit(store, a_spec("a"), a_spec("b", required=False, needs=("a",)))
    stuck = escalate(store, claim_one(store))

    first, second = store.rows(RUN_ID)

    assert (first.name, first.state, first.reason) == (
        "a",
        State.ESCALATED,
        "SYSTEM_ERROR_PERMANENT",
    )
    assert stuck.question is not None
    assert first.question == stuck.question.text
    assert (second.open_needs, second.required, second.holder) == (1, False, "")
    assert store.count_by_state(RUN_ID) == {(State.ESCALATED, True): 1, (State.WAITING, False): 1}


@pytest.mark.spec("9.6", "8.5")
def test_dependents_of_reverted_work_are_no_longer_ready(store: SqlStore) -> None:
    ids = submit(store, *plan(a=[], b=["a"]))
    finish(store, claim_one(store))
    asked = Question("Again?", (Choice.RETRY, Choice.ABORT))

    store.amend(ids[0], lambda task: (UndoCompleted(task.landed_commit, asked),))

    assert store.rows(RUN_ID)[1].open_needs == 1
    assert store.claim(Claimant("host:1", MINUTE), 9) == []
    assert store.audit(RUN_ID) == []
    events = [e.event for e in store.journal(task_id=ids[0])]
    assert events[-2:] == ["TASK_UNDONE", "TASK_BLOCKED"]


@pytest.mark.spec("8.5")
def test_an_answer_journals_the_dependents_that_it_revives(store: SqlStore) -> None:
    ids = submit(store, *plan(a=[], b=["a"], c=["b"]))
    stuck = escalate(store, claim_one(store))

    store.amend(stuck.id, lambda _: (Answered(Choice.RETRY),))

    notice = store.journal(task_id=ids[0])[-1]
    assert (notice.event, notice.data["tasks"]) == ("TASK_REVIVED", ids[1:])


@pytest.mark.spec("11.8")
def test_a_returned_claim_stays_at_its_stage(store: SqlStore) -> None:
    submit(store, a_spec("a"))
    task = store.record(lease_of(claim_one(store)), lambda _: to_land()[:1])

    back = store.record(lease_of(task), lambda _: (LeaseReleased("host:1", 1),))

    assert back == replace(task, state=State.WAITING, lease=None)
    assert claim_one(store).stage is task.stage
