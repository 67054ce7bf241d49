"""Times of the day as people write them: hours in which no agent starts, and a time to stop."""

from __future__ import annotations

from datetime import datetime, time, timedelta

from yaoki.core.lazy_dataclass import dataclass

DAY = timedelta(days=1)
FORM = "a time of the day such as 07:00"


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From `start` up to `end`, also across midnight."""

    start: time
    end: time

    def end_after(self, now: datetime) -> datetime | None:
        """The end of the quiet hours that `now` is in; None outside of them.

        `now` is the time of the clock on the wall.
        """
        for days in (0, 1):
            start = _at(now, self.start) - days * DAY
            end = _at(start, self.end)
            end = end if end > start else end + DAY
            if start <= now < end:
                return end
        return None

    def list_times(self, now: datetime, days: int) -> list[tuple[datetime, datetime]]:
        """Start and end of those that are not over at `now`, and of the following days."""
        starts = [_at(now, self.start) + day * DAY for day in range(-1, days)]
        times = [(start, self.end_after(start)) for start in starts]
        return [(start, end) for start, end in times if end is not None and end > now]


def parse_time_of_day(text: str) -> time:
    """Raises `ValueError` with the form that is expected."""
    hours, colon, minutes = text.strip().partition(":")
    if not (colon and hours.isdecimal() and minutes.isdecimal() and len(minutes) == 2):
        raise ValueError(f"{text.strip()[:40]!r} is not {FORM}")
    if int(hours) > 23 or int(minutes) > 59:
        raise ValueError(f"{text.strip()[:40]!r} is not {FORM}")
    return time(int(hours), int(minutes))


def parse_quiet_hours(text: str) -> QuietHours | None:
    """None for an empty text; raises `ValueError` with the form that is expected."""
    if not text.strip():
        return None
    start, dash, end = text.partition("-")
    if not dash:
        raise ValueError(f"{text.strip()[:40]!r} is not two times such as 09:00-18:00")
    hours = QuietHours(parse_time_of_day(start), parse_time_of_day(end))
    if hours.start == hours.end:
        raise ValueError(f"{text.strip()[:40]!r} begins and ends at the same time")
    return hours


def next_time(of_day: time, now: datetime) -> datetime:
    """The next moment after `now` at which a clock on the wall shows this time."""
    today = _at(now, of_day)
    return today if today > now else today + DAY


def _at(moment: datetime, of_day: time) -> datetime:
    return moment.replace(hour=of_day.hour, minute=of_day.minute, second=0, microsecond=0)
