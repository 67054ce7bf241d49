"""The clock and the dice of one decision, read once."""

from __future__ import annotations

from yaoki.core.decide.failure_response import ClockAndChance
from yaoki.ports import Clock


def read_clock_and_chance(clock: Clock) -> ClockAndChance:
    """In whole milliseconds, as rows keep it: what is decided now reads back the same."""
    now = clock.now()
    return ClockAndChance(now.replace(microsecond=now.microsecond // 1000 * 1000), clock.chance())
