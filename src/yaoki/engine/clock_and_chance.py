"""Clock and random number for one decision, read once."""

from __future__ import annotations

from yaoki.core.decide.failure_response import ClockAndChance
from yaoki.ports import Clock


def read_clock_and_chance(clock: Clock) -> ClockAndChance:
    """The time is cut to milliseconds, as rows store it, so a decision reads back unchanged."""
    now = clock.now()
    return ClockAndChance(now.replace(microsecond=now.microsecond // 1000 * 1000), clock.chance())
