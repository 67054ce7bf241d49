"""What changed in a run since a line of its journal, for screens that look again and again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from yaoki.adapters.store.database import Database, Link
from yaoki.adapters.store.tables.dependencies import REWIRING
from yaoki.adapters.store.tables.rows import by_name, screen_row
from yaoki.core.machine.events import Submitted
from yaoki.core.model import RunId, TaskId
from yaoki.ports import Row

# After these there are other tasks, or others wait for them.
SHAPING = frozenset({Submitted.NAME, *(event.NAME for event in REWIRING)})
# How many tasks one statement names: few different statements, so that databases know them.
SIZES = (4, 32, 256)

TOUCHED = """
SELECT seq, task_id, event FROM journal WHERE run_id = :run_id AND seq > :after
ORDER BY seq LIMIT :limit
"""
ACTIVE = "SELECT * FROM tasks WHERE run_id = :run_id AND state = 'ACTIVE'"


@dataclass(frozen=True, slots=True)
class Changes:
    """Which tasks the lines name.  `whole`: all of the run must be read to know."""

    ids: frozenset[TaskId] = frozenset()
    seq: int = 0
    whole: bool = False


def since(database: Database, run_id: RunId, after: int, most: int) -> Changes:
    """Up to `most` lines; a row changes by a line of its own or of one it needs."""

    def look() -> Changes:
        database.settle()
        with database.read() as link:
            asked = {"run_id": run_id, "after": after, "limit": most}
            found = link.rows(TOUCHED, asked)
            ids = frozenset(TaskId(row["task_id"]) for row in found if row["task_id"])
            whole = len(found) == most or any(row["event"] in SHAPING for row in found)
            return Changes(ids, found[-1]["seq"] if found else after, whole)

    return database.patiently(look)


def rows_again(database: Database, run_id: RunId, ids: Iterable[TaskId]) -> list[Row]:
    """These, and whatever is at work: heartbeats extend a lease without a line."""
    wanted = sorted(ids)

    def look() -> list[Row]:
        with database.read() as link:
            found = [screen_row(row) for row in by_name(link.rows(ACTIVE, {"run_id": run_id}))]
            for first in range(0, len(wanted), SIZES[-1]):
                found += _named(link, wanted[first : first + SIZES[-1]])
            return found

    return database.patiently(look)


def _named(link: Link, ids: list[TaskId]) -> list[Row]:
    size = next(size for size in SIZES if size >= len(ids))
    params = {f"id{n}": ids[min(n, len(ids) - 1)] for n in range(size)}
    found = link.rows(named(size), params)
    return [screen_row(row) for row in by_name(found)]


def named(size: int) -> str:
    names = ", ".join(f":id{n}" for n in range(size))
    return f"SELECT * FROM tasks WHERE id IN ({names})"
