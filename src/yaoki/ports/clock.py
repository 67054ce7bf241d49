"""The clock and the source of chance."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The wall clock in UTC, with its time zone."""

    def sleep(self, duration: timedelta) -> None: ...

    def chance(self) -> float:
        """A random number in [0, 1), for the jitter of a backoff."""
