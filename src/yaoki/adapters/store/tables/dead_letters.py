"""Dead letters: tasks whose workers died again and again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from yaoki.adapters.store.database import Database, Transaction
from yaoki.adapters.store.rows import SqlRow, from_ms
from yaoki.core.lazy_dataclass import dataclass
from yaoki.errors import FatalCode

ESCALATED = """
SELECT t.id, t.run_id, t.name, t.n, t.doc FROM tasks t JOIN runs r ON r.id = t.run_id
WHERE t.state = 'ESCALATED' ORDER BY r.created_ms, r.id, t.n
"""
ENTRIES = """
SELECT at_ms, event, data FROM journal WHERE task_id = :id
AND event IN ('DEAD_LETTERED', 'LEASE_EXPIRED') ORDER BY seq
"""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A worker that claimed the task and never returned it."""

    at: datetime
    holder: str
    reason: str


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A task that no worker gets until a person says so."""

    task_id: str
    run_id: str
    name: str
    at: datetime
    reason: str
    deliveries: tuple[Delivery, ...]


def find_dead_letters(database: Database) -> list[DeadLetter]:
    """Dead letters of all runs, the oldest run first."""
    with database.read() as tx:
        return [_letter(tx, row) for row in tx.rows(ESCALATED) if _is_undelivered(row)]


def _is_undelivered(row: SqlRow) -> bool:
    failure = json.loads(row["doc"]).get("failure") or {}
    return bool(failure.get("code") == FatalCode.UNDELIVERED)


def _letter(tx: Transaction, row: SqlRow) -> DeadLetter:
    """The DEAD_LETTERED entry gives date and reason; counted expiries are the deliveries."""
    deliveries: list[Delivery] = []
    at, reason = from_ms(0), ""
    for entry in tx.rows(ENTRIES, {"id": row["id"]}):
        data = json.loads(entry["data"])
        if entry["event"] == "DEAD_LETTERED":
            at, reason = from_ms(entry["at_ms"]), str(data.get("message", ""))
        elif data.get("counted"):
            deliveries.append(_delivery(entry, data))
    return DeadLetter(row["id"], row["run_id"], row["name"], at, reason, tuple(deliveries))


def _delivery(entry: SqlRow, data: Mapping[str, Any]) -> Delivery:
    return Delivery(from_ms(entry["at_ms"]), str(data.get("holder", "")), str(data.get("why", "")))
