"""The clock that leases are measured by: the server's, where the store is on a server."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Database
    from yaoki.ports import Clock


class StoreClock:
    """The time that dates in the store are compared with; sleep and chance are the machine's."""

    def __init__(self, clock: Clock, database: Database) -> None:
        self._clock, self._database = clock, database

    def now(self) -> datetime:
        return self._clock.now() + self._database.clock_offset()

    def row_time(self) -> datetime:
        """The present time, in whole milliseconds as rows store it."""
        now = self.now()
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    def sleep(self, duration: timedelta) -> None:
        self._clock.sleep(duration)

    def chance(self) -> float:
        return self._clock.chance()
