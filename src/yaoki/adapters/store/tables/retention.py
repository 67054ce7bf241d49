"""Runs that leave the store: their lifetime, their rows, and how the rows are deleted.

Deleting a run is one transaction that leaves one journal entry, RUN_ARCHIVED; a replay of the
journal file deletes the rows again at this entry.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.journal_file.checksummed_line import RUN_ARCHIVED
from yaoki.adapters.store.rows import SqlRow, dump_json, from_ms, to_ms
from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.tables.totals import SHARDS_OF_TOTAL, run_total_name
from yaoki.core.model import RunId
from yaoki.core.retention import RunLifetime
from yaoki.core.text import format_count

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Database, Transaction

LIFETIMES = """
SELECT r.id, r.goal, r.created_ms, r.summed_ms, r.paused, r.cancel_wanted,
       (SELECT count(*) FROM tasks t WHERE t.run_id = r.id AND t.state = 'ESCALATED') AS asking,
       (SELECT count(*) FROM tasks t WHERE t.run_id = r.id
        AND (t.state = 'ACTIVE' OR t.holder <> '')) AS working,
       (SELECT count(*) FROM tasks t WHERE t.run_id = r.id AND t.state = 'WAITING'
        AND (t.open_needs = 0 OR t.cancel_wanted = 1)) AS ready,
       (SELECT count(*) FROM tasks t WHERE t.run_id = r.id
        AND (t.held = 1 OR t.undo_wanted = 1)) AS unsettled,
       (SELECT count(*) FROM outbox o WHERE o.run_id = r.id AND o.sent_ms = 0) AS unsent
FROM runs r WHERE :id = '' OR r.id = :id ORDER BY r.created_ms, r.id
"""
# By column: the words for one and for several.
OPEN_ITEMS: Mapping[str, tuple[str, str]] = {
    "asking": ("task needs a person", "tasks need a person"),
    "working": ("task is active", "tasks are active"),
    "ready": ("task waits for a worker", "tasks wait for a worker"),
    "unsettled": ("task waits for a re-run or an undo", "tasks wait for a re-run or an undo"),
    "unsent": ("notice is not sent", "notices are not sent"),
}

# The rows of one run, in an order in which they may be deleted: no foreign key points backwards.
OWNED: Mapping[str, str] = {
    "needs": "task_id IN (SELECT id FROM tasks WHERE run_id = :id)",
    "leased_ports": "task_id IN (SELECT id FROM tasks WHERE run_id = :id)",
    "run_tags": "run_id = :id",
    "tasks": "run_id = :id",
    "outbox": "run_id = :id",
    "totals": SHARDS_OF_TOTAL,
    "runs": "id = :id",
}
DELETE_ENTRIES = f"DELETE FROM journal WHERE run_id = :id AND event <> '{RUN_ARCHIVED}'"
LAST_ENTRY = f"SELECT max(seq) AS seq FROM journal WHERE run_id = :id AND event <> '{RUN_ARCHIVED}'"
ARCHIVED = f"""
SELECT run_id, data FROM journal WHERE run_id >= :text AND run_id < :end
AND event = '{RUN_ARCHIVED}' ORDER BY seq
"""
LAST_CHARACTER = "\U0010ffff"


def read_lifetimes(database: Database) -> list[RunLifetime]:
    """Every run, oldest first."""
    with database.read() as tx:
        return [_lifetime(row) for row in tx.rows(LIFETIMES, {"id": ""})]


def _lifetime(row: SqlRow) -> RunLifetime:
    finished = from_ms(row["summed_ms"]) if row["summed_ms"] else None
    return RunLifetime(
        RunId(row["id"]),
        row["goal"],
        from_ms(row["created_ms"]),
        finished,
        _open_work(row),
    )


def _open_work(row: SqlRow) -> str:
    """The open work of a run, in words; empty when it is finished."""
    if row["paused"] and not row["cancel_wanted"]:
        return f"it is paused: {row['paused']}"
    counts = ((row[name], words) for name, words in OPEN_ITEMS.items())
    return ", ".join(format_count(count, *words) for count, words in counts if count)


def last_seq_of_run(tx: Transaction, run_id: str) -> int:
    row = tx.row(LAST_ENTRY, {"id": run_id})
    return int(row["seq"] or 0) if row else 0


def read_run_rows(database: Database, run_id: str) -> list[tuple[str, dict[str, Any]]]:
    """Every row of a run with the name of its table, except the journal."""
    with database.read() as tx:
        return [
            (table, dict(row))
            for table, where in OWNED.items()
            for row in tx.rows(f"SELECT * FROM {table} WHERE {where}", _run_params(run_id))
        ]


def journal_bytes(database: Database, run_id: str) -> int:
    """The approximate size of the run's journal."""
    with database.read() as tx:
        statement = "SELECT sum(length(data)) AS n FROM journal WHERE run_id = :id"
        row = tx.row(statement, {"id": run_id})
        return int(row["n"] or 0) if row else 0


def delete_archived_run(
    database: Database,
    run_id: str,
    now: datetime,
    *,
    last_seq: int,
    data: Mapping[str, Any],
) -> bool:
    """Delete the rows of an archived run; false, and no change, if the run changed since.

    `last_seq` is the number of the last journal entry in the archive.
    """

    def work(tx: Transaction) -> bool:
        # An entry written between this check and the deletion would be in neither place.
        tx.lock_table("journal")
        row = tx.row(LIFETIMES, {"id": run_id})
        if (
            row is None
            or not row["summed_ms"]
            or _open_work(row)
            or last_seq_of_run(tx, run_id) != last_seq
        ):
            return False
        delete_run_rows(tx, run_id)
        entry = {"run_id": run_id, "task_id": "", "attempt": 0, "event": RUN_ARCHIVED}
        tx.run(sql.INSERT_ENTRY, {**entry, "at_ms": to_ms(now), "data": dump_json(dict(data))})
        return True

    return database.write(work)


def delete_run_rows(tx: Transaction, run_id: str) -> None:
    """Delete the rows of a run, as RUN_ARCHIVED requires, live and in a replay."""
    for table, where in OWNED.items():
        tx.run(f"DELETE FROM {table} WHERE {where}", _run_params(run_id))
    tx.run(DELETE_ENTRIES, {"id": run_id})


def find_archive_files(database: Database, text: str) -> dict[str, str]:
    """The archive files of runs whose id starts with `text`, by id."""
    with database.read() as tx:
        rows = tx.rows(ARCHIVED, {"text": text, "end": text + LAST_CHARACTER})
        return {row["run_id"]: str(json.loads(row["data"]).get("file", "")) for row in rows}


def _run_params(run_id: str) -> dict[str, str]:
    return {"id": run_id, "name": run_total_name(run_id)}
