"""What screens read again: exactly the rows that somebody who just came would read."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import MINUTE, RUN_ID, a_spec
from tests.store.acts import finish, lease_of, plan, submit, take
from yaoki.adapters.store import SqlStore
from yaoki.adapters.store.tables import journal_pages, run_changes
from yaoki.core.model import RunId

RUN = RunId(RUN_ID)


@pytest.mark.spec("12.5")
def test_the_lines_since_then_name_what_changed_and_the_rows_are_those_of_now(
    store: SqlStore,
) -> None:
    first, second, third = submit(store, *plan(one=[], two=["one"], three=[]))
    seq = store.last_seq()
    task, other = take(store), take(store)
    store.heartbeat([lease_of(other)], timedelta(hours=1))

    found = run_changes.find_changed_tasks(store.database, RUN, seq, 100)
    rows = {row.id: row for row in run_changes.reload_rows(store.database, RUN, [first, second])}

    assert found.ids == {first, third}
    assert not found.reload_all
    assert rows == {row.id: row for row in store.rows(RUN)}, "whoever is at work comes unasked"
    finish(store, task)
    landed = run_changes.find_changed_tasks(store.database, RUN, found.seq, 100)
    assert (landed.ids, landed.seq) == (frozenset({first}), store.last_seq())
    again = run_changes.reload_rows(store.database, RUN, [second])
    assert {row.open_needs for row in again if row.id == second} == {0}


@pytest.mark.spec("12.5")
def test_after_more_tasks_or_too_many_lines_everything_must_be_read(store: SqlStore) -> None:
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
        found = run_changes.reload_rows(store.database, RUN, ids[:count])
        assert {row.id for row in found} == set(ids[:count])


@pytest.mark.spec("12.5")
def test_a_page_of_a_task_within_its_run_has_its_lines_alone(store: SqlStore) -> None:
    first, _ = submit(store, *plan(one=[], two=["one"]))
    finish(store, take(store))
    store.claim("host:1", MINUTE, 1)
    whole = [entry.seq for entry in journal_pages.read_forward(store.database, task_id=first)]

    def seqs(run: str, after: int = 0, before: int = 0) -> list[int]:
        found = journal_pages.read_forward(
            store.database, run_id=run, task_id=first, after=after, before=before, limit=50
        )
        return [entry.seq for entry in found]

    assert len(whole) > 3
    assert (seqs(RUN), seqs("another")) == (whole, [])
    assert seqs(RUN, whole[0], whole[-1]) == whole[1:-1]
    back = journal_pages.read_newest(
        store.database, run_id=RUN, task_id=first, after=whole[0], limit=50
    )
    assert [entry.seq for entry in back] == whole[:0:-1]
