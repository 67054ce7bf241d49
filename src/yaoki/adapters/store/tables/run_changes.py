"""What changed in a run since a line of its journal, for screens that look again and again."""

from __future__ import annotations

from collections.abc import Iterable

from yaoki.adapters.store.database import Database, Transaction
from yaoki.adapters.store.rows import as_mappings, to_screen_row
from yaoki.adapters.store.tables.dependencies import DEPENDENCY_EVENTS
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.machine.events import Submitted
from yaoki.core.model import RunId, TaskId
from yaoki.ports import TaskRow

# After these there are other tasks, or others wait for them.
GRAPH_EVENTS = frozenset({Submitted.NAME, *(event.NAME for event in DEPENDENCY_EVENTS)})
# How many tasks one statement names: few different statements, so that databases know them.
SIZES = (4, 32, 256)

TOUCHED = """
SELECT seq, task_id, event FROM journal WHERE run_id = :run_id AND seq > :after
ORDER BY seq LIMIT :limit
"""
ACTIVE = "SELECT * FROM tasks WHERE run_id = :run_id AND state = 'ACTIVE'"


@dataclass(frozen=True, slots=True)
class ChangedTasks:
    """Which tasks the lines name.  `whole`: all of the run must be read to know."""

    ids: frozenset[TaskId] = frozenset()
    seq: int = 0
    reload_all: bool = False


def find_changed_tasks(database: Database, run_id: RunId, after: int, most: int) -> ChangedTasks:
    """Up to `most` lines; a row changes by a line of its own or of one it needs."""

    def look() -> ChangedTasks:
        database.wait_for_pending_entries()
        with database.read() as link:
            asked = {"run_id": run_id, "after": after, "limit": most}
            found = link.rows(TOUCHED, asked)
            ids = frozenset(TaskId(row["task_id"]) for row in found if row["task_id"])
            whole = len(found) == most or any(row["event"] in GRAPH_EVENTS for row in found)
            return ChangedTasks(ids, found[-1]["seq"] if found else after, whole)

    return database.retry_read(look)


def reload_rows(database: Database, run_id: RunId, ids: Iterable[TaskId]) -> list[TaskRow]:
    """These, and whatever is at work: heartbeats extend a lease without a line."""
    wanted = sorted(ids)

    def look() -> list[TaskRow]:
        with database.read() as link:
            found = [
                to_screen_row(row) for row in as_mappings(link.rows(ACTIVE, {"run_id": run_id}))
            ]
            for first in range(0, len(wanted), SIZES[-1]):
                found += _named(link, wanted[first : first + SIZES[-1]])
            return found

    return database.retry_read(look)


def _named(link: Transaction, ids: list[TaskId]) -> list[TaskRow]:
    size = next(size for size in SIZES if size >= len(ids))
    params = {f"id{n}": ids[min(n, len(ids) - 1)] for n in range(size)}
    found = link.rows(select_by_ids(size), params)
    return [to_screen_row(row) for row in as_mappings(found)]


def select_by_ids(size: int) -> str:
    names = ", ".join(f":id{n}" for n in range(size))
    return f"SELECT * FROM tasks WHERE id IN ({names})"
