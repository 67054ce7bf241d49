"""Notices to people: written in the transaction of the change they report, sent later."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.rows import SqlRow, from_ms, to_ms
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.settings.settings import NoticeKind
from yaoki.core.text import format_count
from yaoki.ports import Notice

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Transaction

# The journal event that a notice reports, and the kind of the notice.
NOTICE_KINDS: Mapping[str, NoticeKind] = {
    "ESCALATE_EXECUTED": NoticeKind.ESCALATED,
    "RUN_PAUSED": NoticeKind.PAUSED,
    "FINAL_SUMMARY": NoticeKind.FINISHED,
    "BUDGET_WARNING": NoticeKind.WARNING,
    "PHASE_TIMED_OUT": NoticeKind.WARNING,
}
SUBJECT_CHARS_MAX = 200
BODY_CHARS_MAX = 1000

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

# No other worker takes a notice that is being sent; if its sender dies, it is due again after this.
SENDING_LEASE = timedelta(minutes=2)
RETRY_FIRST = timedelta(seconds=5)
RETRY_MAX = timedelta(hours=1)
# The longest wait that a receiver may ask for.
RETRY_AFTER_MAX = timedelta(days=1)
TRIES_MAX = 20


@dataclass(frozen=True, slots=True)
class NoticeSelection:
    """The kinds of notices for each channel, and whether questions go at once."""

    channels: tuple[str, ...] = ()
    kinds: frozenset[str] = frozenset(NoticeKind)
    immediately: bool = True


def enqueue_notices(
    tx: Transaction, entries: Iterable[Mapping[str, Any]], selection: NoticeSelection
) -> None:
    """Write the notices of these journal entries."""
    rows = [
        {**row, "channel": channel}
        for entry in entries
        if NOTICE_KINDS.get(entry["event"]) in selection.kinds and (row := _row(entry, selection))
        for channel in selection.channels
    ]
    if rows:
        tx.many(INSERT, rows)
    if any(entry["event"] in {"FINAL_SUMMARY", "RUN_PAUSED"} for entry in entries):
        for run_id in {entry["run_id"] for entry in entries}:
            tx.run(RELEASE, {"run_id": run_id})


def _row(entry: Mapping[str, Any], selection: NoticeSelection) -> dict[str, Any]:
    data = json.loads(entry["data"])
    subject, body = _subject_and_body(entry, data)
    return {
        "at_ms": entry["at_ms"],
        "run_id": entry["run_id"],
        "task_id": entry["task_id"],
        "event": entry["event"],
        "subject": subject[:SUBJECT_CHARS_MAX],
        "body": body[:BODY_CHARS_MAX],
        "ready": int(selection.immediately or entry["event"] != "ESCALATE_EXECUTED"),
    }


def _subject_and_body(entry: Mapping[str, Any], data: Mapping[str, Any]) -> tuple[str, str]:
    run, task = entry["run_id"], entry["task_id"]
    match entry["event"]:
        case "ESCALATE_EXECUTED":
            return f"yaoki: {task} needs you", str(data.get("user_message", ""))
        case "RUN_PAUSED":
            reason = str(data.get("why", ""))
            return f"yaoki: run {run} is paused", f"{reason}\nyaoki answer {run} go"
        case "FINAL_SUMMARY":
            status = str(data.get("status", ""))
            done = format_count(data.get("tasks", {}).get("DONE", 0), "task")
            return f"yaoki: run {run} is {status}", f"{done} landed.\nyaoki status {run}"
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


def take_due(tx: Transaction, now: datetime, limit: int) -> list[Notice]:
    """The notices that are due, marked as being sent so that no second worker sends them."""
    rows: Sequence[SqlRow] = tx.rows(
        DUE + tx.for_update_skip_locked, {"now": to_ms(now), "limit": limit}
    )
    for row in rows:
        tx.run(TAKE, {"id": row["id"], "due_ms": to_ms(now + SENDING_LEASE)})
    taken_rows = [tx.row(ONE, {"id": row["id"]}) for row in rows]
    return [notice_from_row(row) for row in taken_rows if row is not None]


def next_try_at(tries: int, now: datetime, retry_after: timedelta | None = None) -> datetime:
    """After the wait that the receiver asked for, within bounds; else exponential backoff."""
    if retry_after is not None:
        return now + min(max(retry_after, RETRY_FIRST), RETRY_AFTER_MAX)
    wait: timedelta = min(RETRY_FIRST * int(2 ** min(tries, 20)), RETRY_MAX)
    return now + wait
