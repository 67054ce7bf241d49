"""Lines of interactive sessions: stored by session, read back whole, deleted when old."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from yaoki.adapters.store.database import Database, Transaction
from yaoki.adapters.store.rows import SqlRow, dump_json, from_ms, to_ms
from yaoki.core.lazy_dataclass import dataclass

# A session that was quiet for this long is over.
RETENTION = timedelta(days=30)
LINES_MAX = 1000

OF_SESSION = f"""
SELECT * FROM session_lines WHERE checkout = :checkout AND session = :session
ORDER BY seq DESC LIMIT {LINES_MAX}
"""
NEWEST = f"""
SELECT * FROM session_lines WHERE checkout = :checkout AND session <> ''
ORDER BY seq DESC LIMIT {LINES_MAX}
"""
INSERT = """
INSERT INTO session_lines (at_ms, checkout, session, event, data)
VALUES (:at_ms, :checkout, :session, :event, :data)
"""
DELETE_OLD = """
DELETE FROM session_lines WHERE checkout = :checkout AND session <> '' AND at_ms < :old
"""


@dataclass(frozen=True, slots=True)
class SessionLine:
    """An event of a session; the empty session name means the checkout itself."""

    seq: int
    at: datetime
    session: str
    event: str
    data: Mapping[str, Any]


SessionEvent = tuple[str, Mapping[str, Any]]
DecideSession = Callable[[Sequence[SessionLine], Sequence[SessionLine]], Iterable[SessionEvent]]


def read_session_lines(database: Database, checkout: str, session: str = "") -> list[SessionLine]:
    """The newest lines of one session, or of the checkout itself, oldest first."""
    with database.read() as tx:
        return _session_lines(tx, checkout, session)


def read_newest_lines(database: Database, checkout: str) -> list[SessionLine]:
    """The newest lines of all sessions of a checkout, oldest first."""
    with database.read() as tx:
        return [_line(row) for row in reversed(tx.rows(NEWEST, {"checkout": checkout}))]


def record_session(
    database: Database, checkout: str, session: str, now: datetime, decide: DecideSession
) -> list[SessionLine]:
    """Write what `decide` makes of the checkout's lines and the session's, in one transaction.

    Concurrent hooks take turns, so no count is lost.  Returns the session's lines after the write.
    """

    def work(tx: Transaction) -> list[SessionLine]:
        tx.lock_by_name(f"session {checkout} {session}")
        events = list(
            decide(_session_lines(tx, checkout, ""), _session_lines(tx, checkout, session))
        )
        key = {"at_ms": to_ms(now), "checkout": checkout, "session": session}
        for event, data in events:
            tx.run(INSERT, {**key, "event": event, "data": dump_json(dict(data))})
        tx.run(DELETE_OLD, {"checkout": checkout, "old": to_ms(now - RETENTION)})
        return _session_lines(tx, checkout, session)

    return database.write(work)


def _session_lines(tx: Transaction, checkout: str, session: str) -> list[SessionLine]:
    rows = tx.rows(OF_SESSION, {"checkout": checkout, "session": session})
    return [_line(row) for row in reversed(rows)]


def _line(row: SqlRow) -> SessionLine:
    at, data = from_ms(row["at_ms"]), json.loads(row["data"])
    return SessionLine(int(row["seq"]), at, row["session"], row["event"], data)
