"""The rows of an archived run are deleted in one transaction, or not at all."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.adapters.store.store_actions import claim_one, escalate, finish, plan, submit
from tests.builders import HandClock
from yaoki.adapters.store import SqlStore, open_store
from yaoki.adapters.store.tables.retention import (
    delete_archived_run,
    find_archive_files,
    last_seq_of_run,
    read_lifetimes,
    read_run_rows,
)
from yaoki.core.model import Pause, PauseCause, RunId
from yaoki.errors import Unknown

OLD, NEW = RunId("run00001"), RunId("run00002")


def ended(store: SqlStore, clock: HandClock, run: RunId) -> int:
    """A finished run of two tasks; returns the number of its last entry."""
    submit(store, *plan(a=[], b=["a"]), run=run)
    for _ in range(2):
        finish(store, claim_one(store))
    now_ms = round(clock.now().timestamp() * 1000)
    store.update_run(run, "FINAL_SUMMARY", {"status": "DONE"}, summed_ms=now_ms)
    with store.database.read() as tx:
        return last_seq_of_run(tx, run)


@pytest.mark.spec("11.7")
def test_deleting_an_archived_run_leaves_one_entry(store: SqlStore, clock: HandClock) -> None:
    last = ended(store, clock, OLD)
    ended(store, clock, NEW)
    others = read_run_rows(store.database, NEW)
    archive_data = {"file": f"{OLD}.tar.gz"}

    assert delete_archived_run(store.database, OLD, clock.now(), last_seq=last, data=archive_data)

    assert read_run_rows(store.database, OLD) == []
    assert [entry.event for entry in store.journal(run_id=OLD)] == ["RUN_ARCHIVED"]
    assert read_run_rows(store.database, NEW) == others
    assert find_archive_files(store.database, "run0000") == {OLD: f"{OLD}.tar.gz"}
    assert store.audit(NEW) == []
    with pytest.raises(Unknown):
        store.run(OLD)


@pytest.mark.spec("11.7", "0.2")
def test_a_run_that_changed_after_it_was_archived_is_not_deleted(
    store: SqlStore, clock: HandClock
) -> None:
    last = ended(store, clock, OLD)
    store.note(OLD, "WARNING", {"message": "late"})
    before = read_run_rows(store.database, OLD)

    assert not delete_archived_run(store.database, OLD, clock.now(), last_seq=last, data={})

    assert read_run_rows(store.database, OLD) == before


@pytest.mark.spec("11.7", "0.2")
def test_a_reopened_run_is_not_deleted(store: SqlStore, clock: HandClock) -> None:
    ended(store, clock, OLD)
    store.update_run(OLD, "RUN_REOPENED", {}, summed_ms=None)
    with store.database.read() as tx:
        last = last_seq_of_run(tx, OLD)

    assert not delete_archived_run(store.database, OLD, clock.now(), last_seq=last, data={})
    assert store.run(OLD).id == OLD


@pytest.mark.spec("11.7")
def test_the_open_work_of_a_run_is_described(store: SqlStore) -> None:
    submit(store, *plan(a=[]), run=OLD)
    waiting = read_lifetimes(store.database)[0].open_reason
    task = claim_one(store)
    working = read_lifetimes(store.database)[0].open_reason
    escalate(store, task)
    asking = read_lifetimes(store.database)[0].open_reason
    store.pause(OLD, Pause(PauseCause.BUDGET, "all is used"))

    assert waiting == "1 task waits for a worker"
    assert working == "1 task is active"
    assert asking == "1 task needs a person"
    assert read_lifetimes(store.database)[0].open_reason == "it is paused: budget: all is used"
    assert read_lifetimes(store.database)[0].finished_at is None


@pytest.mark.sqlite
@pytest.mark.spec("11.7", "8.7")
def test_a_replay_of_the_journal_file_deletes_the_archived_run_again(
    path: Path, clock: HandClock
) -> None:
    store = open_store(path, clock, durable=False)
    last = ended(store, clock, OLD)
    ended(store, clock, NEW)
    clock.advance(timedelta(days=8))
    assert delete_archived_run(store.database, OLD, clock.now(), last_seq=last, data={"file": "x"})
    entries, rows = store.journal(), read_run_rows(store.database, NEW)
    store.close()
    path.write_bytes(b"")

    again = open_store(path, clock, durable=False)
    try:
        assert [run.id for run in again.runs()] == [NEW]
        assert again.journal() == entries
        assert read_run_rows(again.database, NEW) == rows
    finally:
        again.close()
