"""What is read from the store.  Specifications never change, so they are kept once read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from yaoki.adapters.store.database import Database, Transaction, retries_reads
from yaoki.adapters.store.rows import (
    ROW_READ_ERRORS,
    SqlRow,
    as_mappings,
    entry_from_row,
    from_ms,
    run_from_row,
    tally_from_rows,
    task_from_row,
    to_screen_row,
)
from yaoki.adapters.store.sqlite.safety import ServerSafety, choose_safety
from yaoki.adapters.store.tables import accounts
from yaoki.adapters.store.tables import statements as sql
from yaoki.core.bounded_cache import BoundedCache
from yaoki.core.machine.codec import event_from_data, from_data, spec_from_data
from yaoki.core.machine.events import Submitted
from yaoki.core.machine.evolution import create_task, replay
from yaoki.core.model import Catalogue, Finding, Run, RunId, State, Task, TaskId, TaskSpec
from yaoki.errors import RowInvalid, Unknown
from yaoki.ports import JournalEntry, LimitedAccount, TaskRow

SPECS_KEPT = 4096
PAGE = 2000


class ReadQueries:
    """Readers; `SqlStore` adds the writers."""

    def __init__(self, database: Database, *, backups_kept: int = 5) -> None:
        self._db = database
        self._safety = choose_safety(database, backups_kept=backups_kept)
        self.backups = self._safety.backups
        self._specs: dict[str, TaskSpec] = {}
        self._catalogues: BoundedCache[str, Catalogue] = BoundedCache()

    @property
    def database(self) -> Database:
        """What lies beneath; for measurements and tests."""
        return self._db

    # -------------------------------------------------------------- inside a transaction

    def _run(self, link: Transaction, run_id: str, *, lock: bool = False) -> Run:
        """`keep` it when something of the run is decided by what it says."""
        end = link.for_update if lock else ""
        row = link.row(f"SELECT * FROM runs WHERE id = :id{end}", {"id": run_id})
        if row is None:
            raise Unknown(f"there is no run {run_id}", hint="yaoki status")
        return run_from_row(row)

    def _catalogue(self, link: Transaction, run_id: str) -> Catalogue:
        """Frozen at submit, so it is kept; the rest of a run changes and is always read."""
        kept = self._catalogues.get(run_id)
        if kept is None:
            kept = self._catalogues[run_id] = self._run(link, run_id).catalogue
        return kept

    def _task(self, link: Transaction, task_id: str) -> Task:
        """In a writing transaction nobody else changes it until we commit."""
        # Taken out: who asks again may have changed it meanwhile.
        row = link.prefetched_tasks.pop(task_id, None) if link.prefetched_tasks else None
        if row is None:
            row = link.row(sql.TASK + link.for_update, {"id": task_id})
        if row is None:
            raise Unknown(f"there is no task {task_id}", hint="yaoki status")
        return self._from_row(link, row)

    def _from_row(self, link: Transaction, row: SqlRow) -> Task:
        """Raise `RowInvalid` for a row that is not as yaoki writes it."""
        try:
            return self._read_row(link, row)
        except ROW_READ_ERRORS as error:
            raise RowInvalid(row["id"], str(error)) from error

    def _read_row(self, link: Transaction, row: SqlRow) -> Task:
        spec = self._specs.get(row["id"])
        if spec is None:
            if len(self._specs) >= SPECS_KEPT:
                self._specs.clear()
            found = link.row(sql.SPEC, {"id": row["id"]})
            assert found is not None, f"{row['id']} was never submitted"
            data = json.loads(found["data"])["spec"]
            spec = spec_from_data(data, self._catalogue(link, row["run_id"]))
            self._specs[row["id"]] = spec
        return task_from_row(row, spec)

    def _runs_with_ready_tasks(self, link: Transaction) -> list[RunId]:
        return [RunId(row["id"]) for row in link.rows(sql.RUNS_WITH_READY_TASKS)]

    def _has_task_named(self, link: Transaction, run_id: str, name: str) -> bool:
        params = {"run_id": run_id, "name": name}
        found = link.row("SELECT 1 FROM tasks WHERE run_id = :run_id AND name = :name", params)
        return found is not None

    def _ids_by_name(self, link: Transaction, run_id: str) -> dict[str, TaskId]:
        rows = link.rows("SELECT id, name FROM tasks WHERE run_id = :id", {"id": run_id})
        return {row["name"]: TaskId(row["id"]) for row in rows}

    def _done_among(self, link: Transaction, ids: set[TaskId]) -> set[TaskId]:
        # Kept, for a need that is done meanwhile would not know of who waits for it from now on.
        rows = (link.row(sql.TASK + link.for_update, {"id": task_id}) for task_id in sorted(ids))
        return {TaskId(row["id"]) for row in rows if row and _settled(row)}

    # -------------------------------------------------------------- public

    @retries_reads
    def run(self, run_id: str) -> Run:
        with self._db.read() as link:
            return self._run(link, run_id)

    @retries_reads
    def runs(self) -> list[Run]:
        with self._db.read() as link:
            return [
                run_from_row(r) for r in link.rows("SELECT * FROM runs ORDER BY created_ms, id")
            ]

    @retries_reads
    def task(self, task_id: str) -> Task:
        with self._db.read() as link:
            return self._task(link, task_id)

    @retries_reads
    def rows(self, run_id: RunId) -> list[TaskRow]:
        with self._db.read() as link:
            found = link.rows("SELECT * FROM tasks WHERE run_id = :id ORDER BY n", {"id": run_id})
            return [to_screen_row(row) for row in as_mappings(found)]

    @retries_reads
    def needs(self, run_id: RunId) -> dict[TaskId, tuple[TaskId, ...]]:
        with self._db.read() as link:
            ids = link.rows("SELECT id FROM tasks WHERE run_id = :id ORDER BY n", {"id": run_id})
            found: dict[TaskId, list[TaskId]] = {TaskId(row["id"]): [] for row in ids}
            for row in link.rows(sql.NEEDS_OF_RUN, {"run_id": run_id}):
                found[TaskId(row["task_id"])].append(TaskId(row["need_id"]))
            return {task_id: tuple(wanted) for task_id, wanted in found.items()}

    @retries_reads
    def count_by_state(self, run_id: RunId) -> dict[tuple[State, bool], int]:
        with self._db.read() as link:
            rows = link.rows(sql.TALLY, {"run_id": run_id})
            return tally_from_rows(rows)

    @retries_reads
    def is_idle(self, run_id: RunId) -> bool:
        with self._db.read() as link:
            return link.row(sql.UNFINISHED_WORK, {"run_id": run_id}) is None

    @retries_reads
    def next_due(self, runs: Sequence[RunId] = ()) -> datetime | None:
        with self._db.read() as link:
            found = [
                row["due"]
                for run_id in (runs or self._runs_with_ready_tasks(link))
                if (row := link.row(sql.NEXT_DUE, {"run_id": run_id})) and row["due"] is not None
            ]
            return from_ms(min(found)) if found else None

    @retries_reads
    def journal(
        self, *, run_id: str = "", task_id: str = "", after: int = 0, limit: int = 1000
    ) -> list[JournalEntry]:
        if not task_id:
            self._db.wait_for_pending_entries()
        with self._db.read() as link:
            params = {"run_id": run_id, "task_id": task_id, "after": after, "limit": limit}
            statement = sql.JOURNAL_OF_TASK if task_id else sql.JOURNAL
            return [entry_from_row(row) for row in link.rows(statement, params)]

    @retries_reads
    def last_seq(self) -> int:
        """Where the journal ends now; follow it from here."""
        self._db.wait_for_pending_entries()
        with self._db.read() as link:
            row = link.row("SELECT max(seq) AS seq FROM journal")
            return int(row["seq"] or 0) if row else 0

    def check_integrity(self) -> list[str]:
        """What is wrong with the file; nothing when it is whole.  The next opening repairs it."""
        return self._safety.check_integrity()

    def lines_missing_in_journal_file(self) -> list[int]:
        """Lines that the journal file lacks."""
        return self._safety.lines_missing_in_journal_file()

    @property
    def journal_source(self) -> str:
        """What `witnessed` reads, in words."""
        return "the journal" if isinstance(self._safety, ServerSafety) else "the journal file"

    def read_journal_source(
        self, run_id: RunId, events: Collection[str] = ()
    ) -> Iterator[JournalEntry]:
        """The lines of a run as the journal file holds them, oldest first.

        A store on a server has no such file: there the journal itself is read.
        """
        found = self._safety.journal_file_lines(run_id, events)
        if found is not None:
            return (entry_from_row(line) for line in found)
        return (line for line in self._all_lines(run_id) if not events or line.event in events)

    def _all_lines(self, run_id: RunId) -> Iterator[JournalEntry]:
        after = 0
        while entries := self.journal(run_id=run_id, after=after, limit=PAGE):
            yield from entries
            after = entries[-1].seq

    @retries_reads
    def journal_file_differences(self, run_id: RunId) -> list[str]:
        """Where the journal of a run and its journal file do not say the same."""
        with self._db.read() as link:
            return self._safety.journal_file_differences(link, run_id)

    @retries_reads
    def illegal_rows(self, run_id: RunId) -> list[RowInvalid]:
        """Rows whose state or stage is none that yaoki knows."""
        with self._db.read() as link:
            found = link.rows(sql.ILLEGAL, {"run_id": run_id})
            return [RowInvalid(row["id"], f"{row['state']}/{row['stage']}") for row in found]

    @retries_reads
    def tasks_to_stop(self) -> frozenset[TaskId]:
        """The tasks at work that a person wants cancelled."""
        with self._db.read() as link:
            return frozenset(TaskId(row["id"]) for row in link.rows(sql.ACTIVE_TO_STOP))

    @retries_reads
    def accounts(self) -> list[LimitedAccount]:
        """Those that were told to wait, the longest wait last."""
        with self._db.read() as link:
            rows = link.rows(f"{accounts.SELECT} ORDER BY a.until_ms")
            return [accounts.account_from_row(row) for row in rows]

    @retries_reads
    def baseline(self, commit: str, command: str) -> Finding | None:
        with self._db.read() as link:
            row = link.row(sql.BASELINE, {"commit_id": commit, "command": command})
            return from_data(Finding, json.loads(row["finding"])) if row else None

    def version(self) -> int:
        return self._db.version()

    @retries_reads
    def audit(self, run_id: RunId) -> list[str]:
        """Where the journal does not fold to the row, or the count of open needs is wrong."""
        with self._db.read() as link:
            catalogue = self._catalogue(link, run_id)
            wrong = [
                f"{row['id']}: {row['open_needs']} open needs stored, {row['counted']} counted"
                for row in link.rows(sql.MISCOUNTED, {"run_id": run_id})
            ]
            ids = link.rows("SELECT id FROM tasks WHERE run_id = :id", {"id": run_id})
            for found in ids:
                wrong.extend(self._misfolded(link, TaskId(found["id"]), catalogue))
            return wrong

    def _misfolded(self, link: Transaction, task_id: TaskId, catalogue: Catalogue) -> list[str]:
        """Whatever was done to a row or its journal, it is said and not stumbled over."""
        try:
            task = self._task(link, task_id)
            folded = fold_task_journal(link, task_id, task.run_id, catalogue)
        except RowInvalid as error:
            return [f"{task_id}: {error.sentence}"]
        except ROW_READ_ERRORS as error:
            return [f"{task_id}: its row or its journal cannot be read: {error}"]
        if _without_expiry(folded) == _without_expiry(task):
            return []
        return [f"{task_id}: its journal does not fold to its row"]

    def close(self) -> None:
        self._db.close()


def fold_task_journal(
    link: Transaction, task_id: TaskId, run_id: RunId, catalogue: Catalogue
) -> Task:
    """The task as its journal has it, whatever its row says."""
    params = {"task_id": task_id, "after": 0, "limit": 1_000_000}
    folded: Task | None = None
    for row in link.rows(sql.JOURNAL_OF_TASK, params):
        event = event_from_data(row["event"], json.loads(row["data"]), catalogue)
        if isinstance(event, Submitted):
            folded = create_task(task_id, run_id, event)
        elif folded is not None:
            folded = replay(folded, event)
    assert folded is not None, f"{task_id} was never submitted"
    return folded


def _without_expiry(task: Task) -> Task:
    """Heartbeats extend a lease without a line in the journal."""
    if task.lease is None:
        return task
    return replace(task, lease=replace(task.lease, expires_at=datetime.max.replace(tzinfo=UTC)))


def _settled(row: SqlRow) -> bool:
    return row["state"] == State.DONE and not row["undo_wanted"]
