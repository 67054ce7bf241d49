"""The journal file: every committed entry once, torn lines reported, and every row rebuilt."""

from __future__ import annotations

import sqlite3
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.store.store_actions import (
    claim_one,
    escalate,
    finish,
    lease_of,
    names,
    plan,
    submit,
)
from tests.builders import MINUTE, RUN_ID, HandClock, a_failure, a_retry, a_spec, an_agent
from yaoki.adapters.store import SqlStore, StorePaths, open_store
from yaoki.adapters.store.journal_file.checksummed_line import COLUMNS, decode_line, encode_lines
from yaoki.adapters.store.journal_file.journal_file import JournalFile
from yaoki.adapters.store.sqlite.database import SqliteDatabase
from yaoki.adapters.store.tables.outbox import NoticeSelection
from yaoki.adapters.store.tables.retention import delete_archived_run, last_seq_of_run
from yaoki.core.machine.request_events import Answered, UndoCompleted, UndoRequested
from yaoki.core.model import Choice, FailureKind, Pause, PauseCause, Question, RunId, TaskId
from yaoki.errors import StoreCorrupt
from yaoki.ports import Claimant

# About the file of a store, and the files beside it.
pytestmark = pytest.mark.sqlite

TABLES = ("runs", "tasks", "needs", "accounts", "totals", "journal")


def rows(path: Path, *tables: str) -> dict[str, list[tuple[Any, ...]]]:
    """All rows as they are in the file."""
    with closing(sqlite3.connect(path)) as connection:
        return {
            name: connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall()
            for name in tables or TABLES
        }


def lines(path: Path) -> list[dict[str, Any] | None]:
    return [line for _, line in JournalFile(StorePaths(path).journal).read_lines()]


def written(path: Path) -> list[tuple[Any, ...]]:
    return [tuple(line[name] for name in COLUMNS) for line in lines(path) if line is not None]


def journal(path: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        cursor = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM journal ORDER BY seq")
        return cursor.fetchall()


def segment(path: Path) -> Path:
    return JournalFile(StorePaths(path).journal).list_segments()[-1]


def make_every_change(store: SqlStore, clock: HandClock) -> None:
    """At least one of every kind of change to a row."""
    paid = an_agent("paid", account="shared", concurrency=2)
    submit(
        store,
        *plan(late=["early"], early=[], asked=[], gone=["asked"], last=["late", "gone"]),
        a_spec("limited", agents=(paid,), priority=3),
        a_spec("limited-too", agents=(paid,)),
    )
    limited = claim_one(store)
    wait = a_retry(a_failure(FailureKind.RATE_LIMIT), due_at=clock.now() + 5 * MINUTE)
    store.record(lease_of(limited), lambda _: (wait,))
    done = finish(store, claim_one(store), "c0ffee")
    store.record(lease_of(claim_one(store)), lambda _: (a_retry(due_at=clock.advance(MINUTE)),))
    store.claim(Claimant("dead:1", MINUTE), 1)
    clock.advance(6 * MINUTE)
    (probe, *_) = store.claim(Claimant("host:2", MINUTE), 9)
    assert names([probe]) == ["limited"]
    store.expire_claims(lambda holder: holder == "dead:1", counted=True)
    asked = store.task(f"{RUN_ID}-3")
    if asked.lease is not None:
        escalate(store, asked)
        store.amend(asked.id, lambda _: (Answered(Choice.RETRY, words="ほら, again"),))
    question = Question("Again?", (Choice.RETRY, Choice.ABORT))
    store.amend(
        done.id, lambda seen: (UndoRequested(seen.landed_commit), UndoCompleted("c1", question))
    )
    store.cancel_task(TaskId(f"{RUN_ID}-4"), "not needed")
    store.update_run(RUN_ID, "FINAL_SUMMARY", {"status": "DONE"}, summed_ms=12)
    store.add_tasks(RUN_ID, plan(more=["early", "last"], most=["more"]))
    store.update_run(RUN_ID, "RUN_MERGED", {"into": "main"}, merged="abc")
    store.note(RUN_ID, "WARNING", {"message": "conflict in \udcff.py\nand more"})
    submit(store, *plan(a=[], b=["a"]), run="run00002", done_when=("tests",), priority=2)
    store.cancel_run(store.run("run00002").id, "enough")


@pytest.mark.spec("8.7", "10.1")
def test_the_journal_file_has_every_committed_entry_once(
    store: SqlStore, path: Path, clock: HandClock
) -> None:
    make_every_change(store, clock)

    assert written(path) == journal(path)
    assert None not in lines(path)
    assert store.lines_missing_in_journal_file() == []


@pytest.mark.spec("8.7", "10.1")
def test_two_processes_write_one_file(store: SqlStore, path: Path, clock: HandClock) -> None:
    other = open_store(path, clock, durable=False)
    submit(store, a_spec("a"))

    def write_notes(writer: SqlStore, name: str) -> None:
        for n in range(40):
            writer.note(RUN_ID, name, {"n": n})

    threads = [
        threading.Thread(target=write_notes, args=(writer, name))
        for writer, name in ((store, "ONE"), (other, "TWO"), (store, "THREE"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert written(path) == journal(path)
    assert len(journal(path)) == 120 + 3
    other.close()


@pytest.mark.spec("8.7")
def test_a_rolled_back_transaction_is_not_in_the_journal_file(store: SqlStore, path: Path) -> None:
    submit(store, a_spec("a"))
    with pytest.raises(ZeroDivisionError):
        store.record(lease_of(claim_one(store)), lambda _: [1 // 0])  # type: ignore[list-item]

    assert written(path) == journal(path)


@pytest.mark.spec("8.7", "0.2")
@pytest.mark.parametrize("torn_bytes", [1, 40, 700])
def test_entries_missing_after_a_kill_are_appended_later(
    store: SqlStore, path: Path, clock: HandClock, torn_bytes: int
) -> None:
    """The commit was stored, the append cut off: the lines follow, and the torn one is reported."""
    make_every_change(store, clock)
    content = segment(path).read_bytes()
    segment(path).write_bytes(content[:-torn_bytes])

    open_store(path, clock, durable=False).close()

    assert written(path) == journal(path)
    torn = [
        project
        for project, line in JournalFile(StorePaths(path).journal).read_lines()
        if line is None
    ]
    assert len(torn) <= 1
    assert store.lines_missing_in_journal_file() == []


@pytest.mark.spec("8.7", "0.2")
def test_another_process_appends_missing_entries_with_its_next_commit(
    store: SqlStore, path: Path, clock: HandClock
) -> None:
    other = open_store(path, clock, durable=False)
    submit(store, a_spec("a"))
    other.note(RUN_ID, "WARNING", {})
    segment(path).write_bytes(segment(path).read_bytes()[:-30])

    other.note(RUN_ID, "WARNING", {})

    assert written(path) == journal(path)
    other.close()


@pytest.mark.spec("8.7")
def test_a_deleted_journal_file_is_written_again(
    store: SqlStore, path: Path, clock: HandClock
) -> None:
    make_every_change(store, clock)
    segment(path).unlink()

    open_store(path, clock, durable=False).close()

    assert written(path) == journal(path)


@pytest.mark.spec("8.7")
def test_full_segments_are_compressed_and_new_ones_started(path: Path, clock: HandClock) -> None:
    store = open_store(path, clock, durable=False)
    witness = JournalFile(StorePaths(path).journal, segment_bytes=2000)
    assert isinstance(store.database, SqliteDatabase)
    store.database.journal_file = witness
    make_every_change(store, clock)
    plain = len(witness.list_segments())

    witness.compress_old_segments()
    store.note(RUN_ID, "WARNING", {"message": "after"})

    kinds = [segment.suffix for segment in witness.list_segments()]
    assert plain > 3
    assert kinds[: plain - 1] == [".gz"] * (plain - 1)
    assert set(kinds[plain - 1 :]) == {".jsonl"}
    assert written(path) == journal(path)
    store.close()
    before = rows(path)
    path.unlink()
    open_store(path, clock, durable=False).close()
    assert rows(path, "tasks", "needs") == {k: before[k] for k in ("tasks", "needs")}


@pytest.mark.spec("8.7", "0.2")
def test_a_plain_segment_is_deleted_after_its_archive_is_synced(
    path: Path, clock: HandClock
) -> None:
    """The archive was once renamed into place unsynced and the plain segment deleted: a power loss
    could take 16 MB of the very file that repairs a corrupt store.
    """
    store = open_store(path, clock, durable=False)
    witness = JournalFile(StorePaths(path).journal, segment_bytes=2000)
    assert isinstance(store.database, SqliteDatabase)
    store.database.journal_file = witness
    make_every_change(store, clock)
    store.close()
    many = len(witness.list_segments()) - 1
    calls: list[str] = []

    def listen(_: object, event: str, function: object) -> None:
        name = getattr(function, "__name__", "")
        if event == "c_call" and name in {"fsync", "replace", "unlink"}:
            calls.append(name)

    sys.setprofile(listen)
    try:
        witness.compress_old_segments()
    finally:
        sys.setprofile(None)

    assert calls == ["fsync", "replace", "fsync", "unlink"] * many


@pytest.mark.spec("8.7", "0.6")
def test_a_damaged_line_is_not_decoded() -> None:
    row = (7, 1000, "run00001", "run00001-1", "", 2, "WARNING", '{"message":"ほら"}')
    (line,) = encode_lines([row]).splitlines()
    assert decode_line(line) == dict(zip(COLUMNS, row, strict=True))

    for project in range(len(line)):
        changed = line[:project] + bytes([line[project] ^ 1]) + line[project + 1 :]
        assert decode_line(changed) is None, changed
        assert decode_line(line[:project]) is None


# ------------------------------------------------------------------ replay


@pytest.mark.spec("8.7", "10.2", "0.2")
def test_the_journal_file_alone_rebuilds_every_row(
    store: SqlStore, path: Path, clock: HandClock
) -> None:
    """Runs, tasks with rank and claim, needs, accounts with probe, and the journal."""
    make_every_change(store, clock)
    before = rows(path)
    assert before["accounts"]
    for file in StorePaths(path).files:
        file.unlink(missing_ok=True)
    said: list[str] = []

    again = open_store(path, clock, create=False, durable=False, warn=said.append)

    after = rows(path)
    new_entries = after["journal"][len(before["journal"]) :]
    assert {**after, "journal": after["journal"][: len(before["journal"])]} == before
    assert [line[6] for line in new_entries] == ["RECONCILED"] * 2
    assert [again.audit(run.id) for run in again.runs()] == [[], []]
    assert "it is missing" in said[0]
    assert "the journal file alone" in said[0]
    assert written(path) == journal(path)
    again.close()


@pytest.mark.spec("8.7", "10.2", "10.5", "9.2")
def test_a_replay_rebuilds_replacements_pauses_and_notices(path: Path, clock: HandClock) -> None:
    """Sent notices are not sent again; unsent ones are not forgotten."""
    limits = {"notices": NoticeSelection(("desktop", "webhook"))}
    store = open_store(path, clock, durable=False, limits=limits)
    submit(store, *plan(a=[], b=["a"], c=["b"]))
    escalate(store, claim_one(store))
    store.add_tasks(RUN_ID, plan(again=[]), replaces={"again": f"{RUN_ID}-1"})
    store.pause(RUN_ID, Pause(PauseCause.BUDGET, "all of it is used"))
    store.unpause(RUN_ID, "go on")
    store.pause(RUN_ID, Pause(PauseCause.FAILURE, "three in a row"))
    (first, *_) = store.take_notices()
    store.mark_notice_sent(first)
    store.close()
    before = rows(path)
    notices = unsent(path)
    assert len(notices) >= 3
    path.unlink()

    open_store(path, clock, durable=False, limits=limits).close()

    after = rows(path)
    assert {k: after[k] for k in TABLES[:-1]} == {k: before[k] for k in TABLES[:-1]}
    assert after["journal"][: len(before["journal"])] == before["journal"]
    assert unsent(path) == notices


@pytest.mark.spec("8.7", "10.2", "9.8")
def test_an_archived_run_stays_archived(path: Path, clock: HandClock) -> None:
    store = open_store(path, clock, durable=False)
    submit(store, a_spec("a"), run="run00007")
    finish(store, claim_one(store))
    store.update_run(RunId("run00007"), "FINAL_SUMMARY", {"status": "DONE"}, summed_ms=12)
    submit(store, a_spec("b"))
    with store.database.read() as connection:
        last = last_seq_of_run(connection, "run00007")
    assert delete_archived_run(
        store.database, "run00007", clock.now(), last_seq=last, data={"file": "x.tar.gz"}
    )
    store.close()
    before = rows(path)
    path.unlink()

    open_store(path, clock, durable=False).close()

    after = rows(path)
    assert {k: after[k] for k in TABLES[:-1]} == {k: before[k] for k in TABLES[:-1]}
    assert after["journal"][: len(before["journal"])] == before["journal"]


def unsent(path: Path) -> list[tuple[Any, ...]]:
    asked = "SELECT run_id, task_id, event, channel, body FROM outbox WHERE sent_ms = 0 ORDER BY id"
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(asked).fetchall()


@pytest.mark.spec("8.7", "10.2")
def test_a_restored_backup_is_completed_from_the_journal_file(path: Path, clock: HandClock) -> None:
    store = open_store(path, clock, durable=False)
    submit(store, *plan(one=[], two=["one"]), run="run00009")
    backup = store.backups.take(clock.now())
    count = len(journal(path))
    make_every_change(store, clock)
    before = rows(path)
    store.close()
    path.write_bytes(b"\0" * 20_000)
    said: list[str] = []

    open_store(path, clock, durable=False, warn=said.append).close()

    after = rows(path)
    assert {k: after[k] for k in TABLES[:-1]} == {k: before[k] for k in TABLES[:-1]}
    assert after["journal"][: len(before["journal"])] == before["journal"]
    assert str(backup) in said[0]
    assert f"{len(before['journal']) - count} lines of the journal replayed" in said[0]


@pytest.mark.spec("8.7", "0.6")
def test_a_lost_line_is_counted_and_dependent_lines_become_notes(
    path: Path, clock: HandClock
) -> None:
    """Its attempt never started, as far as the file knows; so what the attempt did is not guessed,
    and the task goes on from before it."""
    store = open_store(path, clock, durable=False)
    submit(store, a_spec("a"), a_spec("b"))
    finish(store, claim_one(store))
    store.close()
    content = segment(path).read_bytes()
    assert content.count(b'"ATTEMPT_STARTED"') == 1
    segment(path).write_bytes(content.replace(b'"ATTEMPT_STARTED"', b'"ATTEMPT_STRATED"'))
    path.unlink()
    said: list[str] = []

    again = open_store(path, clock, durable=False, warn=said.append)

    events = [entry.event for entry in again.journal()]
    assert events.count("LINE_NOT_REPLAYED") == 3
    assert "4 lines are lost" in said[0]
    (report,) = (entry.data for entry in again.journal() if entry.event == "RECONCILED")
    assert report["lost"] == 4
    assert report["skipped"][-1] == "0001.jsonl:6"
    assert again.audit(RUN_ID) == []
    clock.advance(2 * MINUTE)
    assert set(names(again.claim(Claimant("host:3", MINUTE), 2))) == {"a", "b"}
    again.close()


@pytest.mark.spec("8.7", "0.1", "0.6")
@pytest.mark.parametrize("event", ["TASK_SUBMITTED", "PLAN_SUBMITTED"])
def test_a_run_with_an_incomplete_plan_is_refused(path: Path, clock: HandClock, event: str) -> None:
    """Without one of its tasks the run would end as done."""
    store = open_store(path, clock, durable=False)
    submit(store, a_spec("a"), a_spec("b"))
    store.close()
    content = segment(path).read_bytes()
    first = content.index(f'"{event}"'.encode())
    segment(path).write_bytes(content[:first] + b"#" + content[first + 1 :])
    path.write_bytes(b"garbage " * 900)

    with pytest.raises(StoreCorrupt, match=f"run {RUN_ID} cannot be rebuilt") as refused:
        open_store(path, clock, durable=False)

    assert "start over" in refused.value.hint
    assert path.read_bytes() == b"garbage " * 900, "nothing was moved"
    assert not StorePaths(path).quarantine.exists()


@pytest.mark.spec("8.7", "13.1")
def test_stores_in_one_folder_do_not_share_their_journals(tmp_path: Path, clock: HandClock) -> None:
    stores = [open_store(tmp_path / f"{name}.db", clock, durable=False) for name in ("a", "b")]
    for store in stores:
        submit(store, a_spec("a"))
        store.note(RUN_ID, "WARNING", {})
        store.close()

    for name in ("a", "b"):
        path = tmp_path / f"{name}.db"
        assert written(path) == journal(path)


@pytest.mark.spec("8.7", "0.2")
def test_a_journal_file_that_cannot_be_written_warns_and_is_completed_later(
    path: Path, clock: HandClock
) -> None:
    said: list[str] = []
    store = open_store(path, clock, durable=False, warn=said.append)
    folder = StorePaths(path).journal
    folder.write_text("in the way")

    submit(store, a_spec("a"))
    store.note(RUN_ID, "WARNING", {"message": "committed all the same"})
    folder.unlink()
    store.backups.take(clock.now())
    store.note(RUN_ID, "WARNING", {"message": "now both"})

    assert len(said) == 1, said
    assert "could not be written" in said[0]
    assert written(path) == journal(path)
    store.close()
