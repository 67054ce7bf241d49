"""The system clock and random numbers."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta


class SystemClock:
    """Implements `ports.Clock`."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, duration: timedelta) -> None:
        time.sleep(max(duration.total_seconds(), 0.0))

    def chance(self) -> float:
        import random

        return random.random()
