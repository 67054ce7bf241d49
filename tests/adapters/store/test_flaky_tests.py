"""Flaky tests in the store: counted in the transaction of their entry, of all runs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.adapters.store.store_actions import (
    StoreLocation,
    claim_one,
    lease_of,
    run_sql,
    submit,
)
from tests.builders import RUN_ID, HandClock, a_finding, a_spec
from yaoki.adapters.store import SqlStore
from yaoki.adapters.store.tables.flaky_tests import SIGHTINGS_KEPT
from yaoki.core.decide.quarantine import with_test_runs
from yaoki.core.machine.journal_notes import JournalNote, check_finished_note
from yaoki.core.model import Outcome
from yaoki.core.model.flaky_test import FlakyTest, SameCommitRuns

pytestmark = pytest.mark.spec("18.8")


def a_note(*observed: tuple[str, str, int, int], environment: str = "e1") -> JournalNote:
    """Each is a test, a commit, and how often it passed and failed there."""
    runs = [SameCommitRuns(*one) for one in observed]
    finding = with_test_runs(a_finding(Outcome.FLAKY, check="unit"), runs, environment)
    return check_finished_note(finding, "c1")


def record(store: SqlStore, *notes: JournalNote) -> str:
    (task_id,) = submit(store, a_spec("a"))
    task = claim_one(store)
    store.record(lease_of(task), lambda _: list(notes))
    return task_id


def only(store: SqlStore) -> FlakyTest:
    (test,) = store.flaky_tests()
    return test


def test_a_store_without_flaky_tests_knows_none(store: SqlStore) -> None:
    record(store, check_finished_note(a_finding(Outcome.PASSED, check="unit"), "c1"))

    assert store.known_flaky_tests() == frozenset()
    assert store.flaky_tests() == []


def test_the_failure_that_made_us_look_is_not_counted_and_all_others_are(store: SqlStore) -> None:
    task_id = record(
        store,
        a_note(("t", "c1", 2, 1)),
        a_note(("t", "c2", 1, 3), ("t", "c0", 2, 0)),
        a_note(("t", "c3", 1, 0), environment=""),
    )

    test = only(store)

    assert store.known_flaky_tests() == {"t"}
    assert (test.check, test.passed, test.failed, test.always_failed) == ("unit", 6, 3, 0)
    assert {one.commit: (one.passed, one.failed) for one in test.sightings} == {
        "c1": (2, 1),
        "c2": (1, 3),
    }
    assert {(one.run_id, one.task_id, one.environment) for one in test.sightings} == {
        (RUN_ID, task_id, "e1")
    }
    assert test.first_at <= test.last_at


def test_a_commit_on_which_every_run_failed_is_counted_apart(store: SqlStore) -> None:
    record(store, a_note(("t", "c1", 1, 1)), a_note(("t", "c2", 0, 6)))

    test = only(store)

    assert (test.passed, test.failed, test.always_failed) == (1, 0, 1)
    assert [one.commit for one in test.sightings] == ["c1"]


def test_passes_and_failures_of_an_unknown_test_are_not_counted(store: SqlStore) -> None:
    record(store, a_note(("t", "c1", 1, 0)), a_note(("u", "c2", 0, 2)))

    assert store.flaky_tests() == []


def test_the_same_commit_is_one_sighting_in_the_same_environment_only(store: SqlStore) -> None:
    record(
        store,
        a_note(("t", "c1", 1, 1)),
        a_note(("t", "c1", 2, 1)),
        a_note(("t", "c1", 1, 1), environment="e2"),
    )

    seen = {one.environment: (one.passed, one.failed) for one in only(store).sightings}

    assert seen == {"e1": (3, 2), "e2": (1, 1)}


def test_two_tests_of_one_check_are_counted_each(store: SqlStore) -> None:
    record(store, a_note(("t", "c1", 1, 1), ("u", "c1", 4, 1)))

    assert {one.test: (one.passed, one.failed) for one in store.flaky_tests()} == {
        "t": (1, 0),
        "u": (4, 0),
    }


@pytest.mark.full
def test_only_the_newest_commits_are_kept_as_evidence(store: SqlStore, clock: HandClock) -> None:
    submit(store, a_spec("a"))
    lease = lease_of(claim_one(store))
    for n in range(SIGHTINGS_KEPT + 3):
        clock.advance(timedelta(milliseconds=5))
        note = a_note(("t", f"c{n}", 1, 1))
        store.record(lease, lambda _, note=note: [note])  # type: ignore[misc]

    test = only(store)

    assert [one.commit for one in test.sightings] == [
        f"c{n}" for n in reversed(range(3, SIGHTINGS_KEPT + 3))
    ]
    assert test.failed == SIGHTINGS_KEPT + 2


@pytest.mark.parametrize("column", ["passed = -1", "last_ms = 9000000000000000000"])
@pytest.mark.parametrize("table", ["flaky_tests", "flaky_sightings"])
def test_a_row_with_an_impossible_count_is_left_out(
    store: SqlStore, store_location: StoreLocation, column: str, table: str
) -> None:
    record(store, a_note(("t", "c1", 2, 1)))
    name = column.replace("last_ms", "at_ms") if table == "flaky_sightings" else column
    run_sql(store_location, f"UPDATE {table} SET {name}")

    found = [(test.test, test.sightings) for test in store.flaky_tests()]
    assert found == ([] if table == "flaky_tests" else [("t", ())])
