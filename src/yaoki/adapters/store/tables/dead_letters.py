"""Dead letters: tasks that were given to workers again and again, and never came back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from yaoki.adapters.store.database import Database, Transaction
from yaoki.adapters.store.rows import SqlRow, from_ms
from yaoki.core.decide.classification import UNDELIVERED
from yaoki.core.lazy_dataclass import dataclass

ASKING = """
SELECT t.id, t.run_id, t.name, t.n, t.doc FROM tasks t JOIN runs r ON r.id = t.run_id
WHERE t.state = 'ESCALATED' ORDER BY r.created_ms, r.id, t.n
"""
LINES = """
SELECT at_ms, event, data FROM journal WHERE task_id = :id
AND event IN ('DEAD_LETTERED', 'LEASE_EXPIRED') ORDER BY seq
"""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One worker that was given the task and never came back."""

    at: datetime
    holder: str
    reason: str


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A task that is no longer delivered until a person says so."""

    task_id: str
    run_id: str
    name: str
    at: datetime
    reason: str
    deliveries: tuple[Delivery, ...]


def find_dead_letters(database: Database) -> list[DeadLetter]:
    """Of all runs, the oldest run first."""
    with database.read() as link:
        return [_letter(link, row) for row in link.rows(ASKING) if _undelivered(row)]


def _undelivered(row: SqlRow) -> bool:
    failure = json.loads(row["doc"]).get("failure") or {}
    return bool(failure.get("code") == UNDELIVERED)


def _letter(link: Transaction, row: SqlRow) -> DeadLetter:
    """How often it was delivered is said by its last line; the deliveries are those before it."""
    given: list[Delivery] = []
    at, told = from_ms(0), dict[str, Any]()
    for line in link.rows(LINES, {"id": row["id"]}):
        data = json.loads(line["data"])
        if line["event"] == "DEAD_LETTERED":
            at, told = from_ms(line["at_ms"]), data
        elif data.get("counted"):
            given.append(_delivery(line, data))
    why = str(told.get("message", ""))
    return DeadLetter(row["id"], row["run_id"], row["name"], at, why, tuple(given))


def _delivery(line: SqlRow, data: Mapping[str, Any]) -> Delivery:
    return Delivery(from_ms(line["at_ms"]), str(data.get("holder", "")), str(data.get("why", "")))
