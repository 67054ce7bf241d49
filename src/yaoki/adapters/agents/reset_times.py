"""Parses when a service may be asked again: durations, dates, epochs and times of day.

The clock is an argument; a time of day without a zone is in the zone of that clock.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from yaoki.core.lazy_pattern import lazy_compile

WAIT_MAX = timedelta(days=30)
# "Resets at 3pm", read at one second past three, does not mean tomorrow.
JUST_PASSED = timedelta(minutes=10)
MINUTE = timedelta(minutes=1)

_AFTER = (
    r"retry[-_ ]?(?:after|delay)(?:[-_ ]?(?:(?P<ms>ms|millis\w{0,8})|s|secs?|seconds))?"
    r"[\"']?\s{0,4}[:=]\s{0,4}[\"']?"
)
_SECONDS = lazy_compile(_AFTER + r"(?P<n>\d{1,12}(?:\.\d{1,9})?)\s?(?P<unit>ms|[dhms])?", re.I)
_HTTP_DATE = lazy_compile(
    _AFTER + r"(?P<date>\w{3,9}, \d\d[ -]\w{3}[ -]\d{2,4} [\d:]{8} GMT|"
    r"\w{3} \w{3} [ \d]\d [\d:]{8} \d{4})",
    re.I,
)
_EPOCH = lazy_compile(
    r"(?:limit reached\||resets?[-_ ]?at[\"']?\s{0,4}[:=]\s{0,4}[\"']?"
    r"|ratelimit-reset\w{0,20}[\"']?\s{0,4}[:=]\s{0,4}[\"']?)(?P<n>\d{13}|\d{10})(?!\d)",
    re.I,
)
_BEFORE_INSTANT = r"(?:resets?|again|retry|until|ratelimit[a-z-]{0,30}-reset)"
# The seconds may be missing, and the zone as well.
_INSTANT = lazy_compile(
    rf"\b{_BEFORE_INSTANT}[-_ \"':=]{{0,6}}(?:at|after|on)?[-_ \"':=]{{0,6}}"
    r"(?P<at>\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?P<seconds>:\d\d(?:\.\d{1,9})?)?)"
    r" ?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)?",
    re.I,
)
# Compact forms such as 5h12m3s have no word boundary between their parts.
_PART = lazy_compile(r"(\d{1,9}(?:\.\d{1,9})?)\s?(ms|d|h|m|s)", re.I)
_SPAN = lazy_compile(
    r"(?:\b(?:retry(?:ing)?|again|resets?|wait(?:ing)?|available)(?: (?:in|after|for))?[\s\"']{1,3}"
    r"|(?:retry[-_]?(?:delay|after)[\"']?\s{0,4}[:=]|ratelimit-reset[a-z-]{0,20}\s{0,4}:)"
    r"[\s\"']{0,3})"
    r"(?P<span>(?:\d{1,9}(?:\.\d{1,9})?\s?(?:ms|[dhms])[a-z]{0,11}(?:,? and |, |\s)?){1,4})",
    re.I,
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_CLOCK = lazy_compile(
    r"\b(?:resets?|again|until)(?: (?:at|on|after))? "
    rf"(?:(?:(?P<month>{_MONTH}) (?P<day>{_DAY})|(?P<day_first>{_DAY}) (?P<month_last>{_MONTH}))"
    r"(?:,? (?P<year>\d{4}))?,? (?:at )?|(?P<tomorrow>tomorrow),? (?:at )?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::(?P<second>\d\d))?)?"
    r"(?: ?(?P<half>[ap])\.?m\b\.?)?"
    r"(?: ?(?:\((?P<named>[A-Za-z][\w/+:-]{1,40})\)"
    r"|(?P<bare>(?:UTC|GMT)(?:[+-]\d{1,2}(?::?\d\d)?)?|[A-Z][A-Za-z_]{2,20}/[A-Za-z_/+-]{2,30}"
    r"|[PMCE][SD]T|CES?T|BST|JST|[+-]\d\d:?\d\d)\b))?",
    re.I,
)
_OFFSET = lazy_compile(
    r"(?:UTC|GMT)?(?P<sign>[+-])(?P<hours>\d{1,2})(?::?(?P<minutes>\d\d))?", re.I
)
# Abbreviations that services print; others mean several zones.
_ZONE_HOURS = {
    "UTC": 0,
    "GMT": 0,
    "Z": 0,
    "BST": 1,
    "CET": 1,
    "CEST": 2,
    "JST": 9,
    "PST": -8,
    "PDT": -7,
    "MST": -7,
    "MDT": -6,
    "CST": -6,
    "CDT": -5,
    "EST": -5,
    "EDT": -4,
}
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def find_wait(line: str, now: datetime) -> timedelta | None:
    """The wait that the line names; None if there is none or the time has passed.

    Exact forms first: epoch, `Retry-After`, instant, duration, time of day.
    """
    for read in _FORMS:
        wait = read(line, now)
        if wait is not None:
            return min(wait, WAIT_MAX) if wait >= timedelta(0) else None
    return None


def remaining_until_epoch(number: float, now: datetime) -> timedelta | None:
    """The time left until an epoch in seconds or milliseconds; None if it is invalid or
    has passed.
    """
    seconds = number / 1000 if number > 1e11 else number
    if not 1e9 <= seconds < 1e11:
        return None
    wait = datetime.fromtimestamp(seconds, UTC) - now
    return min(wait, WAIT_MAX) if wait > timedelta(0) else None


def _parse_epoch(line: str, now: datetime) -> timedelta | None:
    hit = _EPOCH.search(line)
    return remaining_until_epoch(int(hit["n"]), now) if hit else None


def _parse_http_date(line: str, now: datetime) -> timedelta | None:
    hit = _HTTP_DATE.search(line)
    if hit is None:
        return None
    from email.utils import parsedate_to_datetime  # slow to import

    try:
        date = parsedate_to_datetime(hit["date"])
    except (ValueError, OverflowError):
        return None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)) - now


def _parse_seconds(line: str, _now: datetime) -> timedelta | None:
    hit = _SECONDS.search(line)
    unit = hit["unit"].lower() if hit and hit["unit"] else ""
    if hit is None or unit not in {"", "s", "ms"}:
        return None  # 2m30s is a duration
    milliseconds = unit == "ms" or (hit["ms"] and not unit)
    return timedelta(seconds=float(hit["n"]) * (0.001 if milliseconds else 1.0))


def _parse_instant(line: str, now: datetime) -> timedelta | None:
    hit = _INSTANT.search(line)
    try:
        if hit is None:
            return None
        zone = _parse_zone(hit["zone"]) if hit["zone"] else now.tzinfo
        then = datetime.fromisoformat(hit["at"]).replace(tzinfo=zone)
    except (ValueError, KeyError):
        return None
    return then + (MINUTE if hit["seconds"] is None else timedelta(0)) - now


def _parse_duration(line: str, _now: datetime) -> timedelta | None:
    hit = _SPAN.search(line)
    if hit is None:
        return None
    parts = _PART.findall(hit["span"])
    seconds = sum(float(n) * _UNIT_S[unit.lower()] for n, unit in parts)
    return timedelta(seconds=min(seconds, WAIT_MAX.total_seconds()))


def _parse_time_of_day(line: str, now: datetime) -> timedelta | None:
    """A time to the minute means the end of that minute: the exact second was left out."""
    hit = _CLOCK.search(line)
    if hit is None or (hit["minute"] is None and hit["half"] is None):
        return None
    hour = int(hit["hour"])
    if hit["half"]:
        hour = hour % 12 + (12 if hit["half"].lower() == "p" else 0)
    try:
        zone = hit["named"] or hit["bare"]
        here = now.astimezone(_parse_zone(zone) if zone else now.tzinfo)
        then = here.replace(
            hour=hour,
            minute=int(hit["minute"] or 0),
            second=int(hit["second"] or 0),
            microsecond=0,
        )
        wait = _on_its_day(then, hit, here) - here
    except (ValueError, KeyError, OSError):
        return None  # invalid time or zone: our own backoff is better than a guess
    return wait if hit["second"] else wait + MINUTE


def _on_its_day(then: datetime, hit: re.Match[str], here: datetime) -> datetime:
    if hit["month"] or hit["month_last"]:
        return _with_date(then, hit, here)
    return then + timedelta(days=1) if hit["tomorrow"] else _next_occurrence(then, here)


def _next_occurrence(then: datetime, here: datetime) -> datetime:
    """The next time with this time of day; a moment ago counts as just passed."""
    return then if here - then <= JUST_PASSED else then + timedelta(days=1)


def _with_date(then: datetime, hit: re.Match[str], here: datetime) -> datetime:
    month = _MONTHS.index((hit["month"] or hit["month_last"])[:3].lower()) + 1
    day = int((hit["day"] or hit["day_first"]).rstrip("stndrhSTNDRH"))
    dated = then.replace(month=month, day=day, year=int(hit["year"] or here.year))
    late = hit["year"] is None and here - dated > timedelta(days=180)
    return dated.replace(year=dated.year + 1) if late else dated


def _parse_zone(name: str) -> tzinfo:
    """Raises `KeyError` for an unknown zone."""
    if hit := _OFFSET.fullmatch(name):
        offset = timedelta(hours=int(hit["hours"]), minutes=int(hit["minutes"] or 0))
        return timezone(offset if hit["sign"] == "+" else -offset)
    hours = _ZONE_HOURS.get(name.upper())
    if hours is not None:
        return timezone(timedelta(hours=hours))
    from zoneinfo import ZoneInfo  # slow to import

    return ZoneInfo(name)


_FORMS: tuple[Callable[[str, datetime], timedelta | None], ...] = (
    _parse_epoch,
    _parse_http_date,
    _parse_seconds,
    _parse_instant,
    _parse_duration,
    _parse_time_of_day,
)
