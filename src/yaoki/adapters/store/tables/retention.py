"""Runs that leave the store: how far each has come, all its rows, and how they go.

Rows go in one transaction that leaves one line behind, RUN_ARCHIVED; a replay of the journal file
that meets this line lets them go again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from yaoki.adapters.store.database import Database, Transaction
from yaoki.adapters.store.journal_file.checksummed_line import RUN_ARCHIVED
from yaoki.adapters.store.rows import SqlRow, dump_json, from_ms, to_ms
from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.tables.totals import SHARDS_OF_TOTAL, run_total_name
from yaoki.core.model import RunId
from yaoki.core.retention import RunLifetime

LIVES = """
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
OPEN: Mapping[str, str] = {
    "asking": "tasks ask a person",
    "working": "tasks are at work",
    "ready": "tasks wait for a worker",
    "unsettled": "tasks wait for a re-run or an undo",
    "unsent": "notices are not sent",
}

# What belongs to one run, in an order in which it may go: nothing points to what went before.
OWNED: Mapping[str, str] = {
    "needs": "task_id IN (SELECT id FROM tasks WHERE run_id = :id)",
    "leased_ports": "task_id IN (SELECT id FROM tasks WHERE run_id = :id)",
    "run_tags": "run_id = :id",
    "tasks": "run_id = :id",
    "outbox": "run_id = :id",
    "totals": SHARDS_OF_TOTAL,
    "runs": "id = :id",
}
DROP_LINES = f"DELETE FROM journal WHERE run_id = :id AND event <> '{RUN_ARCHIVED}'"
LAST_LINE = f"SELECT max(seq) AS seq FROM journal WHERE run_id = :id AND event <> '{RUN_ARCHIVED}'"
ARCHIVED = f"""
SELECT run_id, data FROM journal WHERE run_id >= :text AND run_id < :end
AND event = '{RUN_ARCHIVED}' ORDER BY seq
"""
LAST_CHARACTER = "\U0010ffff"


def read_lifetimes(database: Database) -> list[RunLifetime]:
    """Every run, oldest first."""
    with database.read() as link:
        return [_life(row) for row in link.rows(LIVES, {"id": ""})]


def _life(row: SqlRow) -> RunLifetime:
    finished = from_ms(row["summed_ms"]) if row["summed_ms"] else None
    return RunLifetime(
        RunId(row["id"]), row["goal"], from_ms(row["created_ms"]), finished, _open(row)
    )


def _open(row: SqlRow) -> str:
    """What is still open of a run, in words; nothing when it is over."""
    if row["paused"] and not row["cancel_wanted"]:
        return f"it is paused: {row['paused']}"
    found = [f"{row[name]} {words}" for name, words in OPEN.items() if row[name]]
    return ", ".join(found)


def last_seq_of_run(link: Transaction, run_id: str) -> int:
    row = link.row(LAST_LINE, {"id": run_id})
    return int(row["seq"] or 0) if row else 0


def read_run_rows(database: Database, run_id: str) -> list[tuple[str, dict[str, Any]]]:
    """Every row that belongs to a run, with the table it stands in, but for the journal."""
    with database.read() as link:
        return [
            (table, dict(row))
            for table, where in OWNED.items()
            for row in link.rows(f"SELECT * FROM {table} WHERE {where}", _named(run_id))
        ]


def journal_bytes(database: Database, run_id: str) -> int:
    """How much the run's journal holds, about."""
    with database.read() as link:
        words = "SELECT sum(length(data)) AS n FROM journal WHERE run_id = :id"
        row = link.row(words, {"id": run_id})
        return int(row["n"] or 0) if row else 0


def delete_archived_run(
    database: Database,
    run_id: str,
    now: datetime,
    *,
    last_seq: int,
    data: Mapping[str, Any],
) -> bool:
    """Let the rows of an archived run go; false, and nothing changed, if it is not as archived.

    `last` is the last line of its journal that the archive holds.
    """

    def work(link: Transaction) -> bool:
        # A line that comes between the look and the deletion would be in neither place.
        link.lock_table("journal")
        row = link.row(LIVES, {"id": run_id})
        if (
            row is None
            or not row["summed_ms"]
            or _open(row)
            or last_seq_of_run(link, run_id) != last_seq
        ):
            return False
        delete_run_rows(link, run_id)
        entry = {"run_id": run_id, "task_id": "", "attempt": 0, "event": RUN_ARCHIVED}
        link.run(sql.INSERT_ENTRY, {**entry, "at_ms": to_ms(now), "data": dump_json(dict(data))})
        return True

    return database.write(work)


def delete_run_rows(link: Transaction, run_id: str) -> None:
    """What RUN_ARCHIVED means for the rows, live and in a replay alike."""
    for table, where in OWNED.items():
        link.run(f"DELETE FROM {table} WHERE {where}", _named(run_id))
    link.run(DROP_LINES, {"id": run_id})


def find_archive_files(database: Database, text: str) -> dict[str, str]:
    """The files of archived runs whose id begins so, by id."""
    with database.read() as link:
        found = link.rows(ARCHIVED, {"text": text, "end": text + LAST_CHARACTER})
        return {row["run_id"]: str(json.loads(row["data"]).get("file", "")) for row in found}


def _named(run_id: str) -> dict[str, str]:
    return {"id": run_id, "name": run_total_name(run_id)}
