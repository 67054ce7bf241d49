"""Rows of an archived run go in one transaction, or not at all."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.builders import HandClock
from tests.store.acts import escalate, finish, plan, submit, take
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
    """A run of two tasks that is summed up; returns its last line."""
    submit(store, *plan(a=[], b=["a"]), run=run)
    for _ in range(2):
        finish(store, take(store))
    now_ms = round(clock.now().timestamp() * 1000)
    store.update_run(run, "FINAL_SUMMARY", {"status": "DONE"}, summed_ms=now_ms)
    with store.database.read() as link:
        return last_seq_of_run(link, run)


@pytest.mark.spec("11.7")
def test_a_run_goes_whole_and_leaves_one_line(store: SqlStore, clock: HandClock) -> None:
    last = ended(store, clock, OLD)
    ended(store, clock, NEW)
    others = read_run_rows(store.database, NEW)
    told = {"file": f"{OLD}.tar.gz"}

    assert delete_archived_run(store.database, OLD, clock.now(), last_seq=last, data=told)

    assert read_run_rows(store.database, OLD) == []
    assert [entry.event for entry in store.journal(run_id=OLD)] == ["RUN_ARCHIVED"]
    assert read_run_rows(store.database, NEW) == others
    assert find_archive_files(store.database, "run0000") == {OLD: f"{OLD}.tar.gz"}
    assert store.audit(NEW) == []
    with pytest.raises(Unknown):
        store.run(OLD)


@pytest.mark.spec("11.7", "0.2")
def test_a_run_that_went_on_since_it_was_written_down_stays(
    store: SqlStore, clock: HandClock
) -> None:
    last = ended(store, clock, OLD)
    store.note(OLD, "WARNING", {"message": "late"})
    before = read_run_rows(store.database, OLD)

    assert not delete_archived_run(store.database, OLD, clock.now(), last_seq=last, data={})

    assert read_run_rows(store.database, OLD) == before


@pytest.mark.spec("11.7", "0.2")
def test_a_run_that_was_opened_again_stays(store: SqlStore, clock: HandClock) -> None:
    ended(store, clock, OLD)
    store.update_run(OLD, "RUN_REOPENED", {}, summed_ms=None)
    with store.database.read() as link:
        last = last_seq_of_run(link, OLD)

    assert not delete_archived_run(store.database, OLD, clock.now(), last_seq=last, data={})
    assert store.run(OLD).id == OLD


@pytest.mark.spec("11.7")
def test_what_is_open_of_a_run_is_said(store: SqlStore) -> None:
    submit(store, *plan(a=[]), run=OLD)
    waiting = read_lifetimes(store.database)[0].open_reason
    task = take(store)
    working = read_lifetimes(store.database)[0].open_reason
    escalate(store, task)
    asking = read_lifetimes(store.database)[0].open_reason
    store.pause(OLD, Pause(PauseCause.BUDGET, "all is used"))

    assert waiting == "1 tasks wait for a worker"
    assert working == "1 tasks are at work"
    assert asking == "1 tasks ask a person"
    assert read_lifetimes(store.database)[0].open_reason == "it is paused: budget: all is used"
    assert read_lifetimes(store.database)[0].finished_at is None


@pytest.mark.sqlite
@pytest.mark.spec("11.7", "8.7")
def test_a_store_made_again_from_its_journal_file_lets_the_run_go_again(
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
