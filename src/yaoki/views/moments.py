"""Times as people say them: `at 15:00, in 11 h 56 min`."""

from __future__ import annotations

from datetime import datetime, timedelta

from yaoki.core.text import format_duration

# A shorter wait needs no clock.
CLOCK_FROM = timedelta(minutes=10)


def describe_moment(moment: datetime, now: datetime) -> str:
    """A moment to come, on the clock of the reader and as the time until then."""
    left = max(moment - now, timedelta(0))
    span = f"in {format_duration(round(left.total_seconds()))}"
    if left < CLOCK_FROM:
        return span
    here = moment.astimezone()
    days = (here.date() - now.astimezone().date()).days
    day = {0: "", 1: " tomorrow"}.get(days, f" on {here:%Y-%m-%d}")
    return f"at {here:%H:%M}{day}, {span}"


def describe_wait_end(moment: datetime, now: datetime) -> str:
    """The end of a wait: `until 15:00, in 11 h 56 min`, or `for 3 min`."""
    words = describe_moment(moment, now)
    if words.startswith("at "):
        return f"until {words.removeprefix('at ')}"
    return f"for {words.removeprefix('in ')}"
