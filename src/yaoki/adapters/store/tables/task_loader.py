"""Runs and tasks read inside a transaction, with caches of what never changes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from yaoki.adapters.store.rows import ROW_READ_ERRORS, SqlRow, run_from_row
from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.task_rows import task_from_row
from yaoki.core.bounded_cache import BoundedCache
from yaoki.core.machine.value_codec import spec_from_data
from yaoki.core.model import Catalogue, Run, RunId, State, Task, TaskId, TaskSpec
from yaoki.errors import RowInvalid, Unknown

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Transaction

SPECS_MAX = 4096


class TaskLoader:
    """Loads tasks.  A specification and a catalogue are fixed at submit, so both are cached."""

    def __init__(self) -> None:
        self._specs: dict[str, TaskSpec] = {}
        self._catalogues: BoundedCache[str, Catalogue] = BoundedCache()

    def catalogue(self, tx: Transaction, run_id: str) -> Catalogue:
        catalogue = self._catalogues.get(run_id)
        if catalogue is None:
            catalogue = self._catalogues[run_id] = load_run(tx, run_id).catalogue
        return catalogue

    def task(self, tx: Transaction, task_id: str) -> Task:
        """Load a task; a writing transaction locks its row until the commit."""
        # A prefetched row is used once: the transaction may change the task after that.
        row = tx.prefetched_tasks.pop(task_id, None) if tx.prefetched_tasks else None
        if row is None:
            row = tx.row(sql.TASK + tx.for_update, {"id": task_id})
        if row is None:
            raise unknown_task(task_id)
        return self.from_row(tx, row)

    def from_row(self, tx: Transaction, row: SqlRow) -> Task:
        """Raise `RowInvalid` for a row that yaoki did not write like this."""
        try:
            return task_from_row(row, self.spec(tx, row))
        except ROW_READ_ERRORS as error:
            raise RowInvalid(row["id"], str(error)) from error

    def spec(self, tx: Transaction, row: SqlRow) -> TaskSpec:
        """The specification as it was submitted."""
        spec = self._specs.get(row["id"])
        if spec is None:
            if len(self._specs) >= SPECS_MAX:
                self._specs.clear()
            entry = tx.row(sql.SPEC, {"id": row["id"]})
            assert entry is not None, f"{row['id']} was never submitted"
            data = json.loads(entry["data"])["spec"]
            spec = spec_from_data(data, self.catalogue(tx, row["run_id"]))
            self._specs[row["id"]] = spec
        return spec


def load_run(tx: Transaction, run_id: str, *, lock: bool = False) -> Run:
    """`lock` the row when a decision depends on what it says."""
    end = tx.for_update if lock else ""
    row = tx.row(f"SELECT * FROM runs WHERE id = :id{end}", {"id": run_id})
    if row is None:
        raise Unknown(f"there is no run {run_id}", hint="yaoki status")
    return run_from_row(row)


def unknown_task(task_id: str) -> Unknown:
    return Unknown(f"there is no task {task_id}", hint="yaoki status")


def runs_with_ready_tasks(tx: Transaction) -> list[RunId]:
    return [RunId(row["id"]) for row in tx.rows(sql.RUNS_WITH_READY_TASKS)]


def has_task_named(tx: Transaction, run_id: str, name: str) -> bool:
    params = {"run_id": run_id, "name": name}
    row = tx.row("SELECT 1 FROM tasks WHERE run_id = :run_id AND name = :name", params)
    return row is not None


def load_ids_by_name(tx: Transaction, run_id: str) -> dict[str, TaskId]:
    rows = tx.rows("SELECT id, name FROM tasks WHERE run_id = :id", {"id": run_id})
    return {row["name"]: TaskId(row["id"]) for row in rows}


def filter_done(tx: Transaction, ids: set[TaskId]) -> set[TaskId]:
    """The tasks of `ids` that are done."""
    # Locked: a need that ends during this transaction does not see its new dependents yet.
    rows = (tx.row(sql.TASK + tx.for_update, {"id": task_id}) for task_id in sorted(ids))
    return {TaskId(row["id"]) for row in rows if row and _is_done(row)}


def _is_done(row: SqlRow) -> bool:
    return row["state"] == State.DONE and not row["undo_wanted"]


def fold_task_journal(
    tx: Transaction, task_id: TaskId, run_id: RunId, catalogue: Catalogue
) -> Task:
    """The task as its journal describes it, whatever its row says."""
    # A reader of rows needs no events.
    from yaoki.core.machine.codec import event_from_data
    from yaoki.core.machine.events import Submitted
    from yaoki.core.machine.evolution import create_task, replay

    params = {"task_id": task_id, "after": 0, "limit": 1_000_000}
    task: Task | None = None
    for row in tx.rows(sql.JOURNAL_OF_TASK, params):
        event = event_from_data(row["event"], json.loads(row["data"]), catalogue)
        if isinstance(event, Submitted):
            task = create_task(task_id, run_id, event)
        elif task is not None:
            task = replay(task, event)
    assert task is not None, f"{task_id} was never submitted"
    return task
