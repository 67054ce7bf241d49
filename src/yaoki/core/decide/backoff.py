"""The delay before a retry."""

from __future__ import annotations

from datetime import timedelta

from yaoki.core.model import AgentLimit, Backoff, BackoffType

FALLBACK_DELAY = timedelta(seconds=1)
# A service that asks for a longer wait than this is wrong.
RETRY_WAIT_MAX = timedelta(days=31)
FACTOR_MAX = 1e15
# After the last retry no date is known; the account is tried again after this long.
DEFAULT_LIMIT_WAIT = timedelta(minutes=1)
# With these limits the service refused or was away, or the agent could not continue its
# conversation and did not ask.
LIMITS_WITHOUT_ANSWER = frozenset(
    {*(limit for limit in AgentLimit if limit.account_problem), AgentLimit.SESSION}
)


def backoff_delay(backoff: Backoff, tries: int, chance: float) -> timedelta:
    """The wait before retry number `tries` (from 1): never negative, never above the maximum.

    If the calculation fails, one second.
    """
    try:
        return _delay(backoff, tries, chance)
    except (ValueError, OverflowError, ArithmeticError, TypeError):
        return FALLBACK_DELAY


def _delay(backoff: Backoff, tries: int, chance: float) -> timedelta:
    step = max(0, tries - 1)
    maximum = backoff.maximum.total_seconds()
    # Seconds as float: a large power overflows a timedelta long before the maximum applies.
    plain = min(backoff.initial.total_seconds() * _factor(backoff, step), maximum)
    jittered = timedelta(seconds=plain * (1 + backoff.jitter * (2 * chance - 1)))
    return max(timedelta(0), min(jittered, backoff.maximum))


def _factor(backoff: Backoff, step: int) -> float:
    match backoff.type:
        case BackoffType.FIXED:
            return 1
        case BackoffType.LINEAR:
            return step + 1
        case BackoffType.EXPONENTIAL:
            return _power(backoff.multiplier, step)


def _power(base: float, step: int) -> float:
    """A power that overflows is above every maximum."""
    try:
        return min(base**step, FACTOR_MAX)
    except OverflowError:
        return FACTOR_MAX
