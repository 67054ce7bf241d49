"""The clock and the dice."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The wall clock, aware, UTC."""

    def sleep(self, duration: timedelta) -> None: ...

    def chance(self) -> float:
        """A number in [0, 1); the dice of the backoff."""
