"""Pages of the journal for screens: newest first or onward, and sieved by the database."""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.ports import Entry
from yaoki.store.database import Database
from yaoki.store.rows import entry_of


def newest(
    database: Database,
    *,
    run_id: str = "",
    task_id: str = "",
    events: Sequence[str] = (),
    before: int = 0,
    limit: int = 100,
) -> list[Entry]:
    """The last lines before `before`, the newest first; all of them when it is zero."""
    edge = ("seq < :edge", before) if before else ("", 0)
    return _page(database, run_id, task_id, events, edge, "DESC", limit)


def onward(
    database: Database,
    *,
    run_id: str = "",
    task_id: str = "",
    events: Sequence[str] = (),
    after: int = 0,
    limit: int = 1000,
) -> list[Entry]:
    """The lines after `after`, the oldest first."""
    return _page(database, run_id, task_id, events, ("seq > :edge", after), "ASC", limit)


def line(database: Database, seq: int) -> Entry | None:
    found = _page(database, "", "", (), ("seq = :edge", seq), "ASC", 1)
    return found[0] if found else None


def _page(
    database: Database,
    run_id: str,
    task_id: str,
    events: Sequence[str],
    edge: tuple[str, int],
    order: str,
    limit: int,
) -> list[Entry]:
    named = {f"event{n}": event for n, event in enumerate(events)}
    sieves = [
        edge[0],
        "run_id = :run_id" if run_id else "",
        "task_id = :task_id" if task_id else "",
        f"event IN ({', '.join(f':{name}' for name in named)})" if named else "",
    ]
    where = " AND ".join(filter(None, sieves)) or "1 = 1"
    statement = f"SELECT * FROM journal WHERE {where} ORDER BY seq {order} LIMIT :limit"
    params = {"edge": edge[1], "run_id": run_id, "task_id": task_id, "limit": limit, **named}

    def look() -> list[Entry]:
        database.settle()
        with database.read() as link:
            return [entry_of(row) for row in link.rows(statement, params)]

    return database.patiently(look)
