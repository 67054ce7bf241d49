"""Notices on their way to people: take, mark as sent, mark as failed.  Each public method is one
transaction.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from yaoki.adapters.store.database import Database, Transaction, retries_reads
from yaoki.adapters.store.rows import to_ms
from yaoki.adapters.store.tables import outbox

if TYPE_CHECKING:
    from yaoki.adapters.store.clock import StoreClock
    from yaoki.adapters.store.tables.writes import EventWriter
    from yaoki.ports import Notice

ERROR_CHARS_MAX = 500


class NoticeQueries:
    """The outbox as the notifier uses it."""

    def __init__(self, database: Database, clock: StoreClock, writer: EventWriter) -> None:
        self._db, self._clock, self._writer = database, clock, writer

    @retries_reads
    def take_notices(self, limit: int = 20) -> list[Notice]:
        """The notices that are due, marked as being sent."""
        with self._db.read() as tx:
            if not tx.rows(outbox.DUE, {"now": to_ms(self._clock.row_time()), "limit": 1}):
                return []
        return self._db.write(lambda tx: outbox.take_due(tx, self._clock.row_time(), limit))

    def mark_notice_sent(self, notice: Notice) -> None:
        """Marked once, however often it was sent."""

        def work(tx: Transaction) -> None:
            if tx.run(outbox.SENT, {"id": notice.id, "now": to_ms(self._clock.row_time())}):
                data = {"notice": notice.id, "channel": notice.channel, "tells": notice.event}
                self._writer.append_event(tx, notice.run_id, "NOTICE_SENT", data, notice.task_id)

        self._db.write(work)

    def mark_notice_failed(
        self, notice: Notice, reason: str, *, permanent: bool, retry_after: timedelta | None = None
    ) -> None:
        """Retried later, after `retry_after` if the receiver asked for it; given up in the end."""

        def work(tx: Transaction) -> None:
            now = self._clock.row_time()
            given_up = permanent or notice.tries >= outbox.TRIES_MAX
            params = {
                "id": notice.id,
                "error": reason[:ERROR_CHARS_MAX],
                "due_ms": to_ms(outbox.next_try_at(notice.tries, now, retry_after)),
                "given_up": -to_ms(now) if given_up else 0,
            }
            changed = tx.run(outbox.FAILED, params)
            if changed and (given_up or notice.tries == 1):
                data = {
                    "notice": notice.id,
                    "channel": notice.channel,
                    "why": reason[:ERROR_CHARS_MAX],
                    "given_up": given_up,
                }
                self._writer.append_event(tx, notice.run_id, "NOTICE_FAILED", data, notice.task_id)

        self._db.write(work)

    @retries_reads
    def count_waiting_notices(self) -> int:
        with self._db.read() as tx:
            row = tx.row(outbox.WAITING)
            return int(row["n"]) if row else 0
