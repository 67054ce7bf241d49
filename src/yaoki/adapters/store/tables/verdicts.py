"""Passed checks by the key of their verdict: an index of the journal.

A row alone proves nothing: a verdict counts only if the journal of the named task has it, so a row
that somebody wrote is not found.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.database import Database, retries_reads
from yaoki.adapters.store.tables import statements as sql
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.model.verdict_key import VerdictKey, VerdictOrigin

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Transaction
    from yaoki.core.machine.events import Event
    from yaoki.core.model import Task

CHECK_FINISHED = "CHECK_FINISHED"


def index_verdicts(tx: Transaction, task: Task, events: Sequence[Event]) -> None:
    """The first proof of a key stays: later ones say the same."""
    for event in events:
        if isinstance(event, JournalNote) and event.name == CHECK_FINISHED:
            key = _made_key(event.data)
            if key is not None:
                params = {"run_id": task.run_id, "task_id": task.id, "verdict_key": key.digest}
                tx.enqueue(sql.INSERT_VERDICT, {**params, "commit_id": event.data["commit"]})


def _made_key(data: Mapping[str, Any]) -> VerdictKey | None:
    """The key of a pass that this proof made itself."""
    parts = data.get("key")
    if data.get("outcome") != "PASSED" or data.get("reused") or not isinstance(parts, Mapping):
        return None
    return VerdictKey(**parts)


class VerdictRows:
    """Each public method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @retries_reads
    def find_verdict(self, key: VerdictKey) -> VerdictOrigin | None:
        with self._db.read() as tx:
            row = tx.row(sql.VERDICT, {"verdict_key": key.digest})
            if row is None:
                return None
            origin = VerdictOrigin(row["run_id"], row["task_id"], row["commit_id"])
            entries = tx.rows(sql.CHECKS_OF_TASK, {"task_id": origin.task_id})
            confirmed = any(
                _made_key(data) == key and data.get("commit") == origin.commit
                for data in (json.loads(entry["data"]) for entry in entries)
            )
            return origin if confirmed else None
