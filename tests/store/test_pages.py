"""Pages of the journal: from either end, sieved by the database, and together all of it."""

from __future__ import annotations

import pytest

from tests.builders import a_spec
from tests.store.acts import plan, submit
from yaoki.adapters.store import SqlStore
from yaoki.adapters.store.tables import journal_pages


@pytest.mark.spec("12.5", "10.1")
def test_pages_from_either_end_hold_every_line_once(store: SqlStore) -> None:
    submit(store, *(a_spec(f"t{n}") for n in range(10)))
    database, whole = store.database, store.journal()

    back = journal_pages.read_newest(database, limit=4)
    while more := journal_pages.read_newest(database, before=back[-1].seq, limit=4):
        back += more
    forth = journal_pages.read_forward(database, limit=4)
    while more := journal_pages.read_forward(database, after=forth[-1].seq, limit=4):
        forth += more

    assert forth == whole
    assert back == whole[::-1]
    assert journal_pages.read_entry(database, whole[3].seq) == whole[3]
    assert journal_pages.read_entry(database, whole[-1].seq + 1) is None


@pytest.mark.spec("12.5", "10.1")
def test_a_page_holds_only_what_was_asked_for(store: SqlStore) -> None:
    submit(store, a_spec("a"), run="run00001")
    submit(store, *plan(a=[], b=[]), run="run00002")
    database = store.database

    made = journal_pages.read_newest(database, run_id="run00002", events=("TASK_SUBMITTED",))
    task = journal_pages.read_forward(
        database, task_id="run00002-2", events=("TASK_SUBMITTED", "NONE")
    )
    both = journal_pages.read_forward(database, events=("USER_REQUEST", "PLAN_SUBMITTED"))

    assert [entry.task_id for entry in made] == ["run00002-2", "run00002-1"]
    assert [entry.task_id for entry in task] == ["run00002-2"]
    assert [entry.run_id for entry in both] == ["run00001"] * 2 + ["run00002"] * 2
    assert journal_pages.read_newest(database, run_id="nothere") == []
