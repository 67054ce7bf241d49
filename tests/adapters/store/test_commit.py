"""Transactions: alone or in a batch, all or nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.adapters.store.store_actions import (
    StoreLocation,
    claim_one,
    events_of,
    finish,
    lease_of,
    open_test_store,
    submit,
)
from tests.builders import MINUTE, RUN_ID, HandClock, a_run, a_spec, to_land
from yaoki.adapters.store import SqlStore, open_store
from yaoki.adapters.store.database import Database, Transaction
from yaoki.adapters.store.sqlite.database import SqliteDatabase
from yaoki.core.machine.events import Event
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.model import State, Task
from yaoki.errors import RowInvalid, StoreError, StoreFull, YaokiError
from yaoki.ports import Claimant


class Boom(Exception):
    """A rule that raises."""


def break_down(_: Task) -> Sequence[Event]:
    raise Boom


def at_once(works: Sequence[Callable[[], object]]) -> list[BaseException | None]:
    """Run all at the same time, each in a thread; returns what each raised."""
    raised: list[BaseException | None] = [None] * len(works)

    def run(n: int) -> None:
        try:
            works[n]()
        except (YaokiError, Boom) as error:
            raised[n] = error

    threads = [threading.Thread(target=run, args=(n,)) for n in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return raised


class CommitBlocker:
    """Occupies the writer, so that all transactions that arrive meanwhile share the next commit.

    Where writers do not take turns, all start at once.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._inside, self._open = threading.Event(), threading.Event()

    def _wait(self, _: Transaction) -> None:
        self._inside.set()
        self._open.wait(30)

    def together(self, works: Sequence[Callable[[], object]]) -> list[BaseException | None]:
        if not isinstance(self._database, SqliteDatabase):
            return at_once(works)
        holder = threading.Thread(target=self._database.write, args=(self._wait,))
        holder.start()
        self._inside.wait(30)
        opener = threading.Thread(target=self._release, args=(len(works),))
        opener.start()
        raised = at_once(works)
        opener.join(30)
        holder.join(30)
        return raised

    def _release(self, waiting: int) -> None:
        deadline = time.monotonic() + 30
        while self._database.waiting_count < waiting and time.monotonic() < deadline:
            time.sleep(0.005)
        self._open.set()


# ------------------------------------------------------------------ one by one


@pytest.mark.spec("0.3", "10.1")
def test_a_rule_that_raises_changes_nothing(store: SqlStore) -> None:
    (task_id,) = submit(store, a_spec("a"))
    task = claim_one(store)
    before = store.journal()

    with pytest.raises(Boom):
        store.record(lease_of(task), break_down)

    assert (store.task(task_id), store.journal()) == (task, before)


@pytest.mark.spec("0.1", "0.3")
def test_an_illegal_event_refuses_the_whole_transaction(store: SqlStore) -> None:
    """The first two events are legal, the third skips the judgment: none is stored."""
    (task_id,) = submit(store, a_spec("a"))
    task = claim_one(store)
    started, finished, _, landed = to_land()

    with pytest.raises(RowInvalid):
        store.record(lease_of(task), lambda _: (started, finished, landed))

    assert store.task(task_id) == task
    assert events_of(store, task_id) == ["TASK_SUBMITTED", "TASK_CLAIMED"]


@pytest.mark.spec("10.1")
def test_a_change_and_its_journal_entry_are_one_transaction(store: SqlStore) -> None:
    (task_id,) = submit(store, a_spec("a"))

    done = finish(store, claim_one(store))

    assert done == store.task(task_id)
    assert events_of(store, task_id) == [
        "TASK_SUBMITTED",
        "TASK_CLAIMED",
        "ATTEMPT_STARTED",
        "AGENT_FINISHED",
        "QUALITY_JUDGMENT",
        "TASK_LANDED",
    ]


# ------------------------------------------------------------------ together


@pytest.mark.sqlite
@pytest.mark.spec("13.1", "0.3")
def test_waiting_transactions_share_one_commit(store: SqlStore) -> None:
    submit(store, *(a_spec(f"t{n}") for n in range(40)))
    tasks = store.claim(Claimant("host:1", MINUTE), 40)
    before = store.database.commit_count

    raised = CommitBlocker(store.database).together([lambda t=t: finish(store, t) for t in tasks])  # type: ignore[misc]

    assert raised == [None] * 40
    assert store.count_by_state(RUN_ID) == {(State.DONE, True): 40}
    assert store.database.commit_count - before == 2, "the gate's own, and one for all forty"


@pytest.mark.sqlite
@pytest.mark.spec("13.1")
def test_concurrent_threads_share_commits(path: Path, clock: HandClock) -> None:
    """With real syncs the disk is slow enough that other transactions queue up.

    Now and then threads may come one after the other; they do not do so every time.
    """
    store, rounds = open_store(path, clock), 10
    submit(store, *(a_spec(f"t{n}") for n in range(64 * rounds)))
    commits = [64]
    while commits[-1] >= 48 and len(commits) <= rounds:
        tasks = store.claim(Claimant("host:1", MINUTE), 64)
        before = store.database.commit_count
        works = [lambda t=tasks[n::16]: [finish(store, task) for task in t] for n in range(16)]

        assert at_once(works) == [None] * 16

        commits.append(store.database.commit_count - before)
        assert store.count_by_state(RUN_ID)[State.DONE, True] == 64 * (len(commits) - 1)

    assert commits[-1] < 48, commits
    store.close()


@pytest.mark.spec("0.3", "0.6")
def test_a_failed_transaction_does_not_affect_others_in_its_batch(store: SqlStore) -> None:
    ids = submit(store, *(a_spec(f"t{n}") for n in range(6)))
    tasks = store.claim(Claimant("host:1", MINUTE), 6)
    works: list[Callable[[], object]] = [
        lambda t=t: finish(store, t)  # type: ignore[misc]
        for t in tasks[:5]
    ]
    works.insert(2, lambda: store.record(lease_of(tasks[5]), break_down))

    raised = CommitBlocker(store.database).together(works)

    assert [type(error) for error in raised if error] == [Boom]
    assert [store.task(i).state for i in ids] == [State.DONE] * 5 + [State.ACTIVE]
    assert store.audit(RUN_ID) == []


@pytest.mark.spec("0.3", "0.6")
def test_a_transaction_that_the_database_refuses_does_not_affect_others(store: SqlStore) -> None:
    """The same run is submitted a second time: only that caller gets the error."""
    submit(store, a_spec("a"))
    task = claim_one(store)

    raised = CommitBlocker(store.database).together(
        [
            lambda: submit(store, a_spec("a")),
            lambda: finish(store, task),
            lambda: store.note(RUN_ID, "WARNING", {"message": "careful"}),
        ]
    )

    assert [isinstance(error, StoreError) for error in raised] == [True, False, False]
    assert raised[1:] == [None, None]
    assert store.count_by_state(RUN_ID) == {(State.DONE, True): 1}


# ------------------------------------------------------------------ a full disk


def pages_left(store: SqlStore, pages: int) -> None:
    """Let the database grow by this many pages at most."""

    def bound(tx: Transaction) -> None:
        row = tx.row("PRAGMA page_count")
        assert row is not None
        most = 2**30 if pages < 0 else row["page_count"] + pages
        tx.row(f"PRAGMA max_page_count = {most}")

    store.database.write(bound)


BIG = {"message": "x" * 200_000}


@pytest.mark.sqlite
@pytest.mark.spec("0.2", "0.6", "11.5")
def test_a_full_disk_is_reported_and_nothing_is_stored(store: SqlStore) -> None:
    submit(store, a_spec("a"))
    before = store.journal()
    pages_left(store, 2)

    with pytest.raises(StoreFull, match="full") as full:
        store.note(RUN_ID, "WARNING", BIG)

    assert "free some space" in full.value.hint
    assert store.journal() == before


@pytest.mark.sqlite
@pytest.mark.spec("0.2", "0.6")
def test_a_full_disk_is_reported_to_every_caller_of_the_commit(store: SqlStore) -> None:
    (task_id,) = submit(store, a_spec("a"))
    task = claim_one(store)
    before = store.journal()
    pages_left(store, 2)

    raised = CommitBlocker(store.database).together(
        [
            lambda: store.note(RUN_ID, "WARNING", {"message": "small"}),
            lambda: store.note(RUN_ID, "WARNING", BIG),
            lambda: finish(store, task),
        ]
    )

    assert [type(error) for error in raised] == [StoreFull] * 3
    assert (store.journal(), store.task(task_id)) == (before, task)


@pytest.mark.sqlite
@pytest.mark.spec("0.2")
def test_the_store_works_again_when_there_is_space(store: SqlStore) -> None:
    submit(store, a_spec("a"))
    task = claim_one(store)
    pages_left(store, 2)
    with pytest.raises(StoreFull):
        store.note(RUN_ID, "WARNING", BIG)

    pages_left(store, -1)
    store.note(RUN_ID, "WARNING", BIG)
    finish(store, task)

    assert store.count_by_state(RUN_ID) == {(State.DONE, True): 1}
    assert store.audit(RUN_ID) == []


@pytest.mark.sqlite
@pytest.mark.spec("0.2")
def test_a_submit_on_a_full_disk_stores_nothing(store: SqlStore) -> None:
    pages_left(store, 3)

    with pytest.raises(StoreFull):
        submit(store, *(a_spec(f"t{n}", goal="g" * 5000) for n in range(50)))

    assert store.runs() == []
    pages_left(store, -1)
    assert len(submit(store, a_spec("a"))) == 1


# ------------------------------------------------------------------ readers


@pytest.mark.spec("13.1")
def test_a_reader_does_not_wait_for_a_writer(store: SqlStore) -> None:
    (task_id,) = submit(store, a_spec("a"))
    seen: list[State] = []

    def slow(tx: Transaction) -> None:
        tx.run("UPDATE tasks SET state = 'DONE'")
        seen.append(store.task(task_id).state)
        tx.run("UPDATE tasks SET state = 'WAITING'")

    store.database.write(slow)

    assert seen == [State.WAITING], "the last committed state, read while another is being made"


@pytest.mark.spec("13.1")
def test_a_reader_cannot_write(store: SqlStore) -> None:
    with pytest.raises(StoreError), store.database.read() as tx:
        tx.run("DELETE FROM journal")


@pytest.mark.sqlite
@pytest.mark.spec("13.1")
def test_the_file_is_in_wal_mode_with_full_sync(path: Path, clock: HandClock) -> None:
    store = open_store(path, clock)

    def look(tx: Transaction) -> tuple[str, int, int]:
        pragmas = ("journal_mode", "synchronous", "foreign_keys")
        rows = [(name, tx.row(f"PRAGMA {name}")) for name in pragmas]
        mode, sync, keys = (row[name] for name, row in rows if row is not None)
        return mode, sync, keys

    assert store.database.write(look) == ("wal", 2, 1)
    store.close()


@pytest.mark.spec("13.1")
def test_every_commit_changes_the_version(store: SqlStore) -> None:
    seen = [store.version()]
    submit(store, a_spec("a"))
    seen.append(store.version())
    store.note(RUN_ID, "WARNING", {})
    seen.append(store.version())

    assert len(set(seen)) == 3
    assert store.version() == seen[-1]


def test_a_closed_store_can_be_opened_again(
    store_location: StoreLocation, clock: HandClock
) -> None:
    store = open_test_store(store_location, clock)
    store.submit(a_run(), [a_spec("a")], {})
    store.close()

    again = open_test_store(store_location, clock, create=False)

    assert len(again.rows(RUN_ID)) == 1
    again.close()


def test_an_event_without_effect_does_not_change_the_row(store: SqlStore) -> None:
    (task_id,) = submit(store, a_spec("a"))
    task = claim_one(store)

    assert (
        store.record(lease_of(task), lambda _: (JournalNote("WARNING", {"message": "m"}),)) == task
    )

    assert events_of(store, task_id)[-1] == "WARNING"


@pytest.mark.postgres
@pytest.mark.spec("0.3", "13.1")
def test_a_commit_that_the_server_turned_into_a_rollback_is_an_error(store: SqlStore) -> None:
    """A failure inside the transaction was ignored, so the server answers COMMIT with ROLLBACK and
    no error.  Only an assertion noticed it once, and `python -O` has none.
    """
    submit(store, a_spec("a"))
    before = store.journal()

    def work(tx: Transaction) -> None:
        with suppress(Exception):
            tx.rows("SELECT 1 / 0")

    with pytest.raises(StoreError, match="ended with ROLLBACK"):
        store.database.write(work)

    assert store.journal() == before
    store.note(RUN_ID, "WARNING", {"message": "the store goes on"})
    assert len(store.journal()) == len(before) + 1
