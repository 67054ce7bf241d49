"""Pages of the journal: from either end, filtered, and complete together."""

from __future__ import annotations

import pytest

from tests.adapters.store.store_actions import plan, submit
from tests.builders import a_spec
from yaoki.adapters.store import SqlStore
from yaoki.adapters.store.tables import journal_pages


@pytest.mark.spec("12.5", "10.1")
def test_pages_from_either_end_have_every_entry_once(store: SqlStore) -> None:
    submit(store, *(a_spec(f"t{n}") for n in range(10)))
    database, entries = store.database, store.journal()

    back = journal_pages.read_newest(database, limit=4)
    while more := journal_pages.read_newest(database, before=back[-1].seq, limit=4):
        back += more
    forth = journal_pages.read_forward(database, limit=4)
    while more := journal_pages.read_forward(database, after=forth[-1].seq, limit=4):
        forth += more

    assert forth == entries
    assert back == entries[::-1]
    assert journal_pages.read_entry(database, entries[3].seq) == entries[3]
    assert journal_pages.read_entry(database, entries[-1].seq + 1) is None


@pytest.mark.spec("12.5", "10.1")
def test_a_page_has_only_entries_that_match(store: SqlStore) -> None:
    submit(store, a_spec("a"), run="run00001")
    submit(store, *plan(a=[], b=[]), run="run00002")
    database = store.database

    submitted = journal_pages.read_newest(database, run_id="run00002", events=("TASK_SUBMITTED",))
    task = journal_pages.read_forward(
        database, task_id="run00002-2", events=("TASK_SUBMITTED", "NONE")
    )
    both = journal_pages.read_forward(database, events=("USER_REQUEST", "PLAN_SUBMITTED"))

    assert [entry.task_id for entry in submitted] == ["run00002-2", "run00002-1"]
    assert [entry.task_id for entry in task] == ["run00002-2"]
    assert [entry.run_id for entry in both] == ["run00001"] * 2 + ["run00002"] * 2
    assert journal_pages.read_newest(database, run_id="nothere") == []
