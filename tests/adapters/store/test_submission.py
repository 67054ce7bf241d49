"""Submitted runs: all or nothing, within limits, unchangeable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.adapters.store.store_actions import (
    StoreLocation,
    claim_one,
    finish,
    names,
    open_test_store,
    plan,
    submit,
)
from tests.builders import NOW, RUN_ID, HandClock, a_check, a_run, a_spec
from yaoki.adapters.store import SqlStore
from yaoki.core.model import RunId, State, TaskId
from yaoki.errors import OverLimit, StoreCorrupt, StoreError, Unknown
from yaoki.ports import Claimant


def open_with_limits(
    store_location: StoreLocation, clock: HandClock, limits: Mapping[str, Any]
) -> SqlStore:
    return open_test_store(store_location, clock, limits=limits)


@pytest.mark.spec("1.4", "2.6", "10.1")
def test_a_run_is_stored_completely(store: SqlStore) -> None:
    ids = submit(store, *plan(a=[], b=["a"]), done_when=("tests",), parallel=3)

    assert ids == [f"{RUN_ID}-1", f"{RUN_ID}-2"]
    assert store.run(RUN_ID) == replace(a_run(), done_when=("tests",), parallel=3)
    assert store.needs(RUN_ID) == {ids[0]: (), ids[1]: (ids[0],)}
    assert [e.event for e in store.journal()] == [
        "USER_REQUEST",
        "PLAN_SUBMITTED",
        "TASK_SUBMITTED",
        "TASK_SUBMITTED",
    ]


@pytest.mark.spec("2.6")
def test_a_task_is_read_with_its_specification(
    store: SqlStore, store_location: StoreLocation
) -> None:
    spec = a_spec(scope=("src/**",), checks=(a_check(argv=("own",)),), priority=2)
    (task_id,) = submit(store, spec)
    other = open_test_store(store_location)

    read = other.task(task_id)
    other.close()

    assert read == store.task(task_id)
    assert (read.spec, read.state, read.n) == (spec, State.WAITING, 1)


@pytest.mark.spec("1.4")
def test_tasks_are_sorted_by_number_not_by_text(store: SqlStore) -> None:
    submit(store, *(a_spec(f"t{n}") for n in range(1, 13)))

    assert [row.n for row in store.rows(RUN_ID)] == list(range(1, 13))
    assert list(store.needs(RUN_ID)) == [f"{RUN_ID}-{n}" for n in range(1, 13)]


BAD_PLANS = {
    "an unknown need": [a_spec("a"), a_spec("b", needs=("nobody",))],
    "a name twice": [a_spec("a"), a_spec("a")],
    "a value that is not JSON": [a_spec("a"), a_spec("b", budget={"x": object()})],
}


@pytest.mark.spec("0.3", "11.5")
@pytest.mark.parametrize("specs", BAD_PLANS.values(), ids=list(BAD_PLANS))
def test_a_failed_submit_stores_nothing(store: SqlStore, specs: list[Any]) -> None:
    with pytest.raises((KeyError, TypeError, StoreError)):
        submit(store, *specs)

    assert (store.runs(), store.journal()) == ([], [])
    assert submit(store, a_spec("a")) == [f"{RUN_ID}-1"]


@pytest.mark.spec("0.3")
def test_the_same_run_is_not_stored_twice(store: SqlStore) -> None:
    submit(store, a_spec("a"))
    before = store.journal()

    with pytest.raises(StoreError, match=r"(?i)unique") as refused:
        submit(store, a_spec("a"))

    assert not isinstance(refused.value, StoreCorrupt), "the file is whole"
    assert store.journal() == before


@pytest.mark.spec("11.5", "0.6")
def test_too_many_tasks_are_refused_with_the_numbers(
    store_location: StoreLocation, clock: HandClock
) -> None:
    store = open_with_limits(store_location, clock, {"pending_tasks_max": 3})

    with pytest.raises(OverLimit, match="4 is over the limit of 3") as refused:
        submit(store, *(a_spec(f"t{n}") for n in range(4)))

    assert (refused.value.number, refused.value.limit) == (4, 3)
    assert refused.value.hint
    assert (store.runs(), store.journal()) == ([], [])
    store.close()


@pytest.mark.spec("11.5", "0.6")
def test_too_many_runs_are_refused_until_one_is_finished(
    store_location: StoreLocation, clock: HandClock
) -> None:
    store = open_with_limits(store_location, clock, {"pending_runs_max": 2})
    submit(store, a_spec("a"), run="run00001")
    submit(store, a_spec("a"), run="run00002")
    before = store.journal()

    with pytest.raises(OverLimit, match="3 is over the limit of 2"):
        submit(store, a_spec("a"), run="run00003")

    assert store.journal() == before
    finish(store, claim_one(store, runs=[RunId("run00001")]))
    store.update_run(RunId("run00001"), "FINAL_SUMMARY", {}, summed_ms=1)
    assert submit(store, a_spec("a"), run="run00003")
    store.close()


@pytest.mark.spec("11.5")
def test_tasks_added_later_count_too(store_location: StoreLocation, clock: HandClock) -> None:
    store = open_with_limits(store_location, clock, {"pending_tasks_max": 3})
    submit(store, a_spec("a"), a_spec("b"))

    with pytest.raises(OverLimit, match="4 is over the limit of 3"):
        store.add_tasks(RUN_ID, [a_spec("c"), a_spec("d")])

    assert len(store.rows(RUN_ID)) == 2
    assert len(store.add_tasks(RUN_ID, [a_spec("c")])) == 1
    store.close()


# ------------------------------------------------------------------ adding to a run


@pytest.mark.spec("9.3", "0.3")
def test_a_task_is_added_once(store: SqlStore) -> None:
    submit(store, a_spec("a"))

    first = store.add_tasks(RUN_ID, [a_spec("done_when")], unless="done_when")
    second = store.add_tasks(RUN_ID, [a_spec("done_when")], unless="done_when")

    assert (first, second) == ([TaskId(f"{RUN_ID}-2")], [])


@pytest.mark.spec("9.2")
def test_an_added_task_waits_for_its_unfinished_needs(store: SqlStore) -> None:
    submit(store, *plan(a=[], b=[]))
    finish(store, claim_one(store))

    store.add_tasks(RUN_ID, plan(c=["a"], d=["b"], e=["c"]))

    assert [row.open_needs for row in store.rows(RUN_ID)] == [0, 0, 0, 1, 1]
    assert names(store.claim(Claimant("host:1", NOW - NOW), 9)) == ["b", "c"]
    assert store.audit(RUN_ID) == []


@pytest.mark.spec("9.3")
def test_adding_a_task_to_a_finished_run_reopens_it(store: SqlStore) -> None:
    submit(store, a_spec("a"))
    store.update_run(RUN_ID, "FINAL_SUMMARY", {"status": "DONE"}, summed_ms=1)

    store.add_tasks(RUN_ID, [a_spec("b")])

    assert store.run(RUN_ID).finished_at is None


@pytest.mark.spec("0.6", "11.2")
def test_an_unknown_run_or_task_is_named_in_the_error(store: SqlStore) -> None:
    with pytest.raises(Unknown, match="no run nothere"):
        store.run("nothere")
    with pytest.raises(Unknown, match="no task nothere-1"):
        store.task("nothere-1")
    with pytest.raises(Unknown):
        store.add_tasks(RunId("nothere"), [a_spec()])
    with pytest.raises(Unknown):
        store.cancel_run(RunId("nothere"), "enough")
    with pytest.raises(Unknown):
        store.update_run(RunId("nothere"), "MERGED", {})


def test_a_file_name_that_is_not_utf_8_is_stored(store: SqlStore) -> None:
    """A file name in another encoding must not stop its task."""
    submit(store, a_spec("a"))

    store.note(RUN_ID, "WARNING", {"message": "conflict in \udcff.py"})

    assert store.journal()[-1].data == {"message": "conflict in \udcff.py"}


def test_a_merge_is_stored_with_its_run(store: SqlStore) -> None:
    submit(store, a_spec("a"))

    store.update_run(RUN_ID, "RUN_MERGED", {"into": "main"}, merged="abc")

    assert store.run(RUN_ID).merged_commit == "abc"
    assert store.journal()[-1].event == "RUN_MERGED"
