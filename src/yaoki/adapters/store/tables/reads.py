"""Queries of the store.  Each public method is one transaction that changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from yaoki.adapters.store.database import Database, Transaction, retries_reads
from yaoki.adapters.store.rows import (
    ROW_READ_ERRORS,
    as_mappings,
    entry_from_row,
    from_ms,
    run_from_row,
)
from yaoki.adapters.store.tables import accounts, totals
from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.tables.task_loader import (
    TaskLoader,
    fold_task_journal,
    load_run,
    runs_with_ready_tasks,
)
from yaoki.adapters.store.task_rows import tally_from_rows, to_screen_row
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import Catalogue, Run, RunId, Spend, State, Task, TaskId
from yaoki.errors import RowInvalid

if TYPE_CHECKING:
    from yaoki.adapters.store.safety import StoreSafety
    from yaoki.ports import AccountRow, JournalEntry, TaskRow

PAGE_ENTRIES = 2000


class ReadQueries:
    """Runs, tasks, journal, and how far they agree."""

    def __init__(self, database: Database, loader: TaskLoader, safety: StoreSafety) -> None:
        self._db, self._loader, self._safety = database, loader, safety

    # -------------------------------------------------------------- runs

    @retries_reads
    def run(self, run_id: str) -> Run:
        with self._db.read() as tx:
            return load_run(tx, run_id)

    @retries_reads
    def runs(self) -> list[Run]:
        with self._db.read() as tx:
            rows = tx.rows("SELECT * FROM runs ORDER BY created_ms, id")
            return [run_from_row(row) for row in rows]

    @retries_reads
    def count_by_state(self, run_id: RunId) -> dict[tuple[State, bool], int]:
        with self._db.read() as tx:
            return tally_from_rows(tx.rows(sql.TALLY, {"run_id": run_id}))

    @retries_reads
    def is_idle(self, run_id: RunId) -> bool:
        with self._db.read() as tx:
            return tx.row(sql.UNFINISHED_WORK, {"run_id": run_id}) is None

    @retries_reads
    def next_due(self, runs: Sequence[RunId] = ()) -> datetime | None:
        with self._db.read() as tx:
            due_ms = [
                row["due"]
                for run_id in (runs or runs_with_ready_tasks(tx))
                if (row := tx.row(sql.NEXT_DUE, {"run_id": run_id})) and row["due"] is not None
            ]
            return from_ms(min(due_ms)) if due_ms else None

    @retries_reads
    def total_spend(self, run_id: RunId) -> Spend:
        """The usage of a run's agents so far."""
        with self._db.read() as tx:
            row = tx.row(totals.TOTAL, {"name": totals.run_total_name(run_id)})
            return totals.spend_from_row(row)

    # -------------------------------------------------------------- tasks

    @retries_reads
    def task(self, task_id: str) -> Task:
        with self._db.read() as tx:
            return self._loader.task(tx, task_id)

    @retries_reads
    def rows(self, run_id: RunId) -> list[TaskRow]:
        with self._db.read() as tx:
            rows = tx.rows("SELECT * FROM tasks WHERE run_id = :id ORDER BY n", {"id": run_id})
            return [to_screen_row(row) for row in as_mappings(rows)]

    @retries_reads
    def needs(self, run_id: RunId) -> dict[TaskId, tuple[TaskId, ...]]:
        with self._db.read() as tx:
            ids = tx.rows("SELECT id FROM tasks WHERE run_id = :id ORDER BY n", {"id": run_id})
            needs: dict[TaskId, list[TaskId]] = {TaskId(row["id"]): [] for row in ids}
            for row in tx.rows(sql.NEEDS_OF_RUN, {"run_id": run_id}):
                needs[TaskId(row["task_id"])].append(TaskId(row["need_id"]))
            return {task_id: tuple(each) for task_id, each in needs.items()}

    @retries_reads
    def tasks_to_stop(self) -> frozenset[TaskId]:
        """The active tasks that a person wants cancelled."""
        with self._db.read() as tx:
            return frozenset(TaskId(row["id"]) for row in tx.rows(sql.ACTIVE_TO_STOP))

    @retries_reads
    def tasks_awaiting_rerun(self, run_id: RunId) -> list[Task]:
        with self._db.read() as tx:
            rows = tx.rows(sql.AWAITING_RERUN, {"run_id": run_id})
            return [self._loader.from_row(tx, row) for row in rows]

    @retries_reads
    def tasks_to_undo(self, run_id: RunId) -> list[Task]:
        with self._db.read() as tx:
            rows = tx.rows(sql.UNDO_WANTED, {"run_id": run_id})
            return [self._loader.from_row(tx, row) for row in rows]

    @retries_reads
    def open_planning_tasks(self, run_id: RunId) -> list[tuple[Task, datetime]]:
        """Open plan tasks that can start and have a deadline, with the instant it passes."""
        with self._db.read() as tx:
            open_tasks = []
            for task_row in tx.rows(sql.OPEN_PLANNING_TASKS, {"run_id": run_id}):
                task = self._loader.from_row(tx, task_row)
                brief = task.spec.planning_brief
                row = tx.row(sql.READY_SINCE, {"id": task.id})
                if brief is not None and brief.deadline > timedelta(0) and row is not None:
                    open_tasks.append((task, from_ms(row["at"]) + brief.deadline))
            return open_tasks

    @retries_reads
    def accounts(self) -> list[AccountRow]:
        """The accounts that must wait, the longest wait last."""
        with self._db.read() as tx:
            rows = tx.rows(f"{accounts.SELECT} ORDER BY a.until_ms")
            return [accounts.account_from_row(row) for row in rows]

    # -------------------------------------------------------------- journal

    @retries_reads
    def journal(
        self, *, run_id: str = "", task_id: str = "", after: int = 0, limit: int = 1000
    ) -> list[JournalEntry]:
        if not task_id:
            self._db.wait_for_pending_entries()
        with self._db.read() as tx:
            params = {"run_id": run_id, "task_id": task_id, "after": after, "limit": limit}
            statement = sql.JOURNAL_OF_TASK if task_id else sql.JOURNAL
            return [entry_from_row(row) for row in tx.rows(statement, params)]

    @retries_reads
    def last_seq(self) -> int:
        """The number of the last entry; a reader follows the journal from here."""
        self._db.wait_for_pending_entries()
        with self._db.read() as tx:
            row = tx.row("SELECT max(seq) AS seq FROM journal")
            return int(row["seq"] or 0) if row else 0

    def version(self) -> int:
        return self._db.version()

    def watch_commits(self, callback: Callable[[], None]) -> None:
        self._db.watch_commits(callback)

    def read_journal_source(
        self, run_id: RunId, events: Collection[str] = ()
    ) -> Iterator[JournalEntry]:
        """The entries of a run as the journal file has them, oldest first.

        A store on a server has no such file: there the journal itself is read.
        """
        lines = self._safety.journal_file_lines(run_id, events)
        if lines is not None:
            return (entry_from_row(line) for line in lines)
        return (e for e in self._all_entries(run_id) if not events or e.event in events)

    def _all_entries(self, run_id: RunId) -> Iterator[JournalEntry]:
        after = 0
        while entries := self.journal(run_id=run_id, after=after, limit=PAGE_ENTRIES):
            yield from entries
            after = entries[-1].seq

    # -------------------------------------------------------------- integrity

    def check_integrity(self) -> list[str]:
        """Damage of the database file; the next opening repairs it."""
        return self._safety.check_integrity()

    def lines_missing_in_journal_file(self) -> list[int]:
        return self._safety.lines_missing_in_journal_file()

    @retries_reads
    def journal_file_differences(self, run_id: RunId) -> list[str]:
        """The differences between the journal of a run and its journal file."""
        with self._db.read() as tx:
            return self._safety.journal_file_differences(tx, run_id)

    @retries_reads
    def illegal_rows(self, run_id: RunId) -> list[RowInvalid]:
        """Rows with a state or stage that yaoki does not know."""
        with self._db.read() as tx:
            rows = tx.rows(sql.ILLEGAL, {"run_id": run_id})
            return [RowInvalid(row["id"], f"{row['state']}/{row['stage']}") for row in rows]

    @retries_reads
    def audit(self, run_id: RunId) -> list[str]:
        """Tasks whose journal does not fold to their row, or whose open needs are miscounted."""
        with self._db.read() as tx:
            catalogue = self._loader.catalogue(tx, run_id)
            defects = [
                f"{row['id']}: {row['open_needs']} open needs stored, {row['counted']} counted"
                for row in tx.rows(sql.MISCOUNTED, {"run_id": run_id})
            ]
            for row in tx.rows("SELECT id FROM tasks WHERE run_id = :id", {"id": run_id}):
                defects.extend(self._audit_task(tx, TaskId(row["id"]), catalogue))
            return defects

    def _audit_task(self, tx: Transaction, task_id: TaskId, catalogue: Catalogue) -> list[str]:
        """A row or a journal that cannot be read is a defect, not an error of the audit."""
        try:
            task = self._loader.task(tx, task_id)
            folded = fold_task_journal(tx, task_id, task.run_id, catalogue)
        except RowInvalid as error:
            return [f"{task_id}: {error.sentence}"]
        except ROW_READ_ERRORS as error:
            return [f"{task_id}: its row or its journal cannot be read: {error}"]
        if _without_expiry(folded) == _without_expiry(task):
            return []
        return [f"{task_id}: its journal does not fold to its row"]


def _without_expiry(task: Task) -> Task:
    """Heartbeats extend a lease without a journal entry."""
    if task.lease is None:
        return task
    return replace(task, lease=replace(task.lease, expires_at=datetime.max.replace(tzinfo=UTC)))
