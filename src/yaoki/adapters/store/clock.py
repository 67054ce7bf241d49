"""The clock that leases are measured by: the server's, where there is one."""

from __future__ import annotations

from datetime import datetime, timedelta

from yaoki.adapters.store.database import Database
from yaoki.ports import Clock


class StoreClock:
    """What a date in the store is compared with; sleep and dice are the machine's."""

    def __init__(self, clock: Clock, database: Database) -> None:
        self._clock, self._database = clock, database

    def now(self) -> datetime:
        return self._clock.now() + self._database.clock_offset()

    def sleep(self, duration: timedelta) -> None:
        self._clock.sleep(duration)

    def chance(self) -> float:
        return self._clock.chance()
