"""Screens that reload changed rows see the same as a screen that reads all rows."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.adapters.store.store_actions import claim_one, finish, lease_of, plan, submit
from tests.builders import MINUTE, RUN_ID, a_spec
from yaoki.adapters.store import SqlStore
from yaoki.adapters.store.tables import journal_pages, run_changes
from yaoki.core.model import RunId
from yaoki.ports import Claimant

RUN = RunId(RUN_ID)


@pytest.mark.spec("12.5")
def test_reloaded_rows_are_the_current_rows_of_the_tasks_that_changed(
    store: SqlStore,
) -> None:
    first, second, third = submit(store, *plan(one=[], two=["one"], three=[]))
    seq = store.last_seq()
    task, other = claim_one(store), claim_one(store)
    store.heartbeat([lease_of(other)], timedelta(hours=1))

    result = run_changes.find_changed_tasks(store.database, RUN, seq, 100)
    rows = {row.id: row for row in run_changes.reload_rows(store.database, RUN, [first, second])}

    assert result.ids == {first, third}
    assert not result.reload_all
    assert rows == {row.id: row for row in store.rows(RUN)}, "active tasks are always reloaded"
    finish(store, task)
    landed = run_changes.find_changed_tasks(store.database, RUN, result.seq, 100)
    assert (landed.ids, landed.seq) == (frozenset({first}), store.last_seq())
    again = run_changes.reload_rows(store.database, RUN, [second])
    assert {row.open_needs for row in again if row.id == second} == {0}


@pytest.mark.spec("12.5")
def test_after_new_tasks_or_too_many_entries_all_rows_must_be_read(store: SqlStore) -> None:
    submit(store, *plan(one=[]))
    seq = store.last_seq()

    store.add_tasks(RUN, [a_spec("more")], event="PLAN_EXTENDED")

    assert run_changes.find_changed_tasks(store.database, RUN, seq, 100).reload_all
    assert run_changes.find_changed_tasks(store.database, RUN, 0, 2).reload_all
    assert run_changes.find_changed_tasks(
        store.database, RUN, store.last_seq(), 2
    ) == run_changes.ChangedTasks(seq=store.last_seq())


@pytest.mark.spec("12.5")
def test_many_rows_are_read_in_few_different_statements(store: SqlStore) -> None:
    ids = submit(store, *(a_spec(f"t{n}") for n in range(300)))

    for count in (0, 1, 4, 5, 33, 256, 257, 300):
        result = run_changes.reload_rows(store.database, RUN, ids[:count])
        assert {row.id for row in result} == set(ids[:count])


@pytest.mark.spec("12.5")
def test_a_page_of_a_task_has_only_entries_of_that_task(store: SqlStore) -> None:
    first, _ = submit(store, *plan(one=[], two=["one"]))
    finish(store, claim_one(store))
    store.claim(Claimant("host:1", MINUTE), 1)
    all_seqs = [entry.seq for entry in journal_pages.read_forward(store.database, task_id=first)]

    def seqs(run: str, after: int = 0, before: int = 0) -> list[int]:
        result = journal_pages.read_forward(
            store.database, run_id=run, task_id=first, after=after, before=before, limit=50
        )
        return [entry.seq for entry in result]

    assert len(all_seqs) > 3
    assert (seqs(RUN), seqs("another")) == (all_seqs, [])
    assert seqs(RUN, all_seqs[0], all_seqs[-1]) == all_seqs[1:-1]
    back = journal_pages.read_newest(
        store.database, run_id=RUN, task_id=first, after=all_seqs[0], limit=50
    )
    assert [entry.seq for entry in back] == all_seqs[:0:-1]
