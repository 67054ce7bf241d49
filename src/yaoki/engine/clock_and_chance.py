"""The clock and the dice of one decision, read once."""

from __future__ import annotations

from yaoki.core.decide.failure_response import Moment
from yaoki.ports import Clock


def moment(clock: Clock) -> Moment:
    """In whole milliseconds, as rows keep it: what is decided now reads back the same."""
    now = clock.now()
    return Moment(now.replace(microsecond=now.microsecond // 1000 * 1000), clock.chance())
