"""Notices to people, written with the change they tell of; sent later, marked once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from yaoki.adapters.store.database import Transaction
from yaoki.adapters.store.rows import SqlRow, from_ms, to_ms
from yaoki.core.text import format_count
from yaoki.ports import Notice

# The line of the journal that a notice tells of, and the sort of notice it is.
NOTICE_KINDS: Mapping[str, str] = {
    "ESCALATE_EXECUTED": "escalated",
    "RUN_PAUSED": "paused",
    "FINAL_SUMMARY": "finished",
    "BUDGET_WARNING": "warning",
    "PHASE_TIMED_OUT": "warning",
}
BODY_MAX = 1000

INSERT = """
INSERT INTO outbox (at_ms, run_id, task_id, event, channel, subject, body, ready, due_ms)
VALUES (:at_ms, :run_id, :task_id, :event, :channel, :subject, :body, :ready, :at_ms)
"""
DUE = """
SELECT * FROM outbox WHERE sent_ms = 0 AND ready = 1 AND due_ms <= :now ORDER BY due_ms, id
LIMIT :limit
"""
TAKE = "UPDATE outbox SET tries = tries + 1, due_ms = :due_ms WHERE id = :id"
RELEASE = "UPDATE outbox SET ready = 1 WHERE run_id = :run_id AND ready = 0 AND sent_ms = 0"
SENT = "UPDATE outbox SET sent_ms = :now, error = '' WHERE id = :id AND sent_ms = 0"
FAILED = """
UPDATE outbox SET error = :error, due_ms = :due_ms, sent_ms = :given_up WHERE id = :id
AND sent_ms = 0
"""
WAITING = "SELECT count(*) AS n FROM outbox WHERE sent_ms = 0"
ONE = "SELECT * FROM outbox WHERE id = :id"

# Nobody else takes a notice that somebody is sending; if that one dies, it is due again after this.
SENDING_LEASE = timedelta(minutes=2)
RETRY_FIRST = timedelta(seconds=5)
RETRY_MAX = timedelta(hours=1)
# A receiver may ask for a wait of its own, up to this.
RETRY_AFTER_MAX = timedelta(days=1)
TRIES_MAX = 20


@dataclass(frozen=True, slots=True)
class NoticeSelection:
    """Which notices are wanted, by which channels, and whether at once."""

    channels: tuple[str, ...] = ()
    kinds: frozenset[str] = frozenset(NOTICE_KINDS.values())
    immediately: bool = True


def enqueue_notices(
    link: Transaction, lines: Iterable[Mapping[str, Any]], posting: NoticeSelection
) -> None:
    """The notices of these lines of the journal."""
    rows = [
        {**row, "channel": channel}
        for line in lines
        if NOTICE_KINDS.get(line["event"]) in posting.kinds and (row := _row(line, posting))
        for channel in posting.channels
    ]
    if rows:
        link.many(INSERT, rows)
    if any(line["event"] in {"FINAL_SUMMARY", "RUN_PAUSED"} for line in lines):
        for run_id in {line["run_id"] for line in lines}:
            link.run(RELEASE, {"run_id": run_id})


def _row(line: Mapping[str, Any], posting: NoticeSelection) -> dict[str, Any]:
    data = json.loads(line["data"])
    subject, body = _words(line, data)
    return {
        "at_ms": line["at_ms"],
        "run_id": line["run_id"],
        "task_id": line["task_id"],
        "event": line["event"],
        "subject": subject[:200],
        "body": body[:BODY_MAX],
        "ready": int(posting.immediately or line["event"] != "ESCALATE_EXECUTED"),
    }


def _words(line: Mapping[str, Any], data: Mapping[str, Any]) -> tuple[str, str]:
    run, task = line["run_id"], line["task_id"]
    match line["event"]:
        case "ESCALATE_EXECUTED":
            return f"yaoki: {task} needs you", str(data.get("user_message", ""))
        case "RUN_PAUSED":
            why = str(data.get("why", ""))
            return f"yaoki: run {run} is paused", f"{why}\nyaoki answer {run} go"
        case "FINAL_SUMMARY":
            ended = str(data.get("status", ""))
            done = format_count(data.get("tasks", {}).get("DONE", 0), "task")
            return f"yaoki: run {run} is {ended}", f"{done} landed.\nyaoki status {run}"
        case "PHASE_TIMED_OUT":
            phase = data.get("phase", "")
            return f"yaoki: phase {phase} timed out", f"yaoki status {run}"
        case _:
            return f"yaoki: run {run}", f"{data.get('message', '')}\nyaoki status {run}"


def notice_from_row(row: SqlRow) -> Notice:
    return Notice(
        id=row["id"],
        channel=row["channel"],
        at=from_ms(row["at_ms"]),
        run_id=row["run_id"],
        task_id=row["task_id"],
        event=row["event"],
        subject=row["subject"],
        body=row["body"],
        tries=row["tries"],
    )


def take_due(link: Transaction, now: datetime, limit: int) -> list[Notice]:
    """What is due, marked as being sent: two workers do not send the same at the same time."""
    rows: Sequence[SqlRow] = link.rows(
        DUE + link.for_update_skip_locked, {"now": to_ms(now), "limit": limit}
    )
    for row in rows:
        link.run(TAKE, {"id": row["id"], "due_ms": to_ms(now + SENDING_LEASE)})
    found = [link.row(ONE, {"id": row["id"]}) for row in rows]
    return [notice_from_row(row) for row in found if row is not None]


def next_try_at(tries: int, now: datetime, asked: timedelta | None = None) -> datetime:
    """As long as the receiver asked, within bounds; else twice as long after each try."""
    if asked is not None:
        return now + min(max(asked, RETRY_FIRST), RETRY_AFTER_MAX)
    wait: timedelta = min(RETRY_FIRST * int(2 ** min(tries, 20)), RETRY_MAX)
    return now + wait
