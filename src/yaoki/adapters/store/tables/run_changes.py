"""Changes in a run since a journal entry, for screens that poll."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from yaoki.adapters.store.rows import as_mappings
from yaoki.adapters.store.tables.dependencies import DEPENDENCY_EVENTS
from yaoki.adapters.store.task_rows import to_screen_row
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.machine.events import Submitted
from yaoki.core.model import RunId, TaskId

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Database, Transaction
    from yaoki.ports import TaskRow

# These events add tasks or change dependencies.
GRAPH_EVENTS = frozenset({Submitted.NAME, *(event.NAME for event in DEPENDENCY_EVENTS)})
# Numbers of tasks that one statement names: few different statements, so that they stay prepared.
SIZES = (4, 32, 256)

CHANGED = """
SELECT seq, task_id, event FROM journal WHERE run_id = :run_id AND seq > :after
ORDER BY seq LIMIT :limit
"""
ACTIVE = "SELECT * FROM tasks WHERE run_id = :run_id AND state = 'ACTIVE'"


@dataclass(frozen=True, slots=True)
class ChangedTasks:
    """The tasks that changed; with `reload_all` any task of the run may have."""

    ids: frozenset[TaskId] = frozenset()
    seq: int = 0
    reload_all: bool = False


def find_changed_tasks(database: Database, run_id: RunId, after: int, most: int) -> ChangedTasks:
    """Read up to `most` entries; a row changes by an entry of its task or of one of its needs."""

    def read() -> ChangedTasks:
        database.wait_for_pending_entries()
        with database.read() as tx:
            params = {"run_id": run_id, "after": after, "limit": most}
            entries = tx.rows(CHANGED, params)
            ids = frozenset(TaskId(row["task_id"]) for row in entries if row["task_id"])
            graph_changed = any(row["event"] in GRAPH_EVENTS for row in entries)
            last = entries[-1]["seq"] if entries else after
            return ChangedTasks(ids, last, len(entries) == most or graph_changed)

    return database.retry_read(read)


def reload_rows(database: Database, run_id: RunId, ids: Iterable[TaskId]) -> list[TaskRow]:
    """The rows of `ids` and of active tasks: heartbeats extend a lease without an entry."""
    task_ids = sorted(ids)

    def read() -> list[TaskRow]:
        with database.read() as tx:
            active = tx.rows(ACTIVE, {"run_id": run_id})
            rows = [to_screen_row(row) for row in as_mappings(active)]
            for first in range(0, len(task_ids), SIZES[-1]):
                rows += _rows_by_ids(tx, task_ids[first : first + SIZES[-1]])
            return rows

    return database.retry_read(read)


def _rows_by_ids(tx: Transaction, ids: list[TaskId]) -> list[TaskRow]:
    size = next(size for size in SIZES if size >= len(ids))
    params = {f"id{n}": ids[min(n, len(ids) - 1)] for n in range(size)}
    rows = tx.rows(select_by_ids(size), params)
    return [to_screen_row(row) for row in as_mappings(rows)]


def select_by_ids(size: int) -> str:
    names = ", ".join(f":id{n}" for n in range(size))
    return f"SELECT * FROM tasks WHERE id IN ({names})"
