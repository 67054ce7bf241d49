"""Limits, refusals and waits, read from the error channel only.

A line counts when it begins as an error line does.  Prose about 429 does not, and
nothing an agent says on its standard output ever does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

LINES_READ = 40
LINE_CHARS_READ = 1000
WAIT_MAX = timedelta(days=30)

# Time stamps and levels that loggers put before the line itself.
_PREFIX = re.compile(
    r"^[\s>*✖✗×!⚠-]{0,8}(?:\[?\d{4}-\d\d-\d\d[T ][\d:.,]{5,15}(?:Z|[+-]\d\d:?\d\d)?\]?[\s:-]{0,4})?"
    r"(?:\[?(?:WARN(?:ING)?|CRITICAL)\]?[\s:-]{1,4})?",
    re.IGNORECASE,
)
_ERROR_LINE = re.compile(
    r"""(?:
      \[?(?:api|http|request|stream|server|provider|fatal|unexpected)[ _-]?(?:error|status)\b
    | \[?(?:error|fatal|panic)\b\]?[:\s(!]
    | (?:[A-Za-z_]\w{0,60}\.){0,6}
      (?:RateLimit|Quota|TerminalQuota|Authentication|PermissionDenied|API|Http|HTTP|Overloaded
        |InternalServer|ServiceUnavailable|BadGateway)\w{0,30}(?:Error|Exception)\b
    | http(?:/[\d.]{1,3})?\s\d{3}\b
    | \d{3}\s(?:too\smany\srequests|unauthorized|forbidden|service\sunavailable|bad\sgateway)
    | curl:\s\(\d
    | attempt\s\d{1,3}\sfailed\b
    | retrying\s(?:in|after)\s\d
    | retry[-_]after\b
    | rate[\s_-]?limit(?:ed|s)?\b(?:[:\s]*(?:exceeded|reached|hit|error)|:|$)
    | you(?:'|\u2019)ve\shit\syour\s
    | you\shave\sexhausted\syour\s
    | (?:[\w-]{1,20}\s){0,3}usage\slimit\sreached
    | quota\sexceeded
    | invalid\sapi\skey
    | not\slogged\sin\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
# A bare number proves nothing: "error: expected 401, got 200" is about the agent's own task.
_STATUS = r"(?:error|status|code|returned|response|failed:?|http[/\d.]{0,4})\D{0,6}"
_RATE = re.compile(
    _STATUS + r"429\b|\brate.?limit|too many requests|\bquota\b|usage limit|hit your limit",
    re.IGNORECASE,
)
_AUTH = re.compile(
    _STATUS + r"40[13]\b|invalid.{0,12}api.?key|api.?key.{0,12}invalid|\b40[13] (?:unauth|forbid)"
    r"|authentication.{0,12}(?:fail|error)|not logged in",
    re.IGNORECASE,
)
_OVERLOADED = re.compile(
    _STATUS + r"(?:500|502|503|504|529)\b|overloaded|service unavailable|bad gateway|high demand"
    r"|connection error|fetch failed|ECONN(?:RESET|REFUSED)|stream disconnected",
    re.IGNORECASE,
)

_RETRY_AFTER = re.compile(r"retry[-_]after\b", re.IGNORECASE)
_SECONDS = re.compile(r"retry[-_ ]after[\"']?\s{0,4}[:=]\s{0,4}[\"']?(\d{1,9})\s?(ms\b)?", re.I)
_HTTP_DATE = re.compile(r"retry[-_ ]after:\s{0,4}(\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT)", re.I)
_SPAN = re.compile(
    r"\b(?:retrying|try again|resets?|retry|wait)\s(?:in|after)\s{1,2}((?:\d{1,9}(?:\.\d{1,6})?\s?"
    r"(?:ms|d|h|m|s)[a-z]{0,7}\s?){1,4})",
    re.IGNORECASE,
)
_PART = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s?(ms|d|h|m|s)", re.IGNORECASE)
_INSTANT = re.compile(
    r"\b(?:resets?|try again) (?:at|after) (\d{4}-\d\d-\d\d[T ][\d:.]{5,15}(?:Z|[+-]\d\d:?\d\d))",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"limit reached\|(\d{10})\b", re.IGNORECASE)
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def error_lines(text: str) -> tuple[str, ...]:
    """The last lines of an error channel that are errors by their beginning."""
    lines = [line for line in text.splitlines() if line.strip()][-LINES_READ:]
    bare = (_PREFIX.sub("", line[:LINE_CHARS_READ], count=1) for line in lines)
    return tuple(line for line in bare if _ERROR_LINE.match(line))


def limit_of(lines: Sequence[str]) -> str:
    """`rate`, `auth`, `overloaded` or nothing: what the last telling line says."""
    for line in reversed(lines):
        for name, words in (("rate", _RATE), ("auth", _AUTH), ("overloaded", _OVERLOADED)):
            if words.search(line):
                return name
    # A wait asked for with no other word is a limit all the same.
    return "rate" if any(_RETRY_AFTER.match(line) for line in lines) else ""


def retry_after_of(lines: Sequence[str], now: datetime) -> timedelta | None:
    """The wait the service asked for, from the last line that names one."""
    for line in reversed(lines):
        wait = _wait(line, now)
        if wait is not None:
            return min(max(wait, timedelta(0)), WAIT_MAX)
    return None


def _wait(line: str, now: datetime) -> timedelta | None:
    if hit := _HTTP_DATE.search(line):
        return _until(parsedate_to_datetime(hit[1]), now)
    if hit := _SECONDS.search(line):
        return timedelta(seconds=int(hit[1]) * (0.001 if hit[2] else 1.0))
    if hit := _EPOCH.search(line):
        return _until(datetime.fromtimestamp(int(hit[1]), UTC), now)
    if hit := _INSTANT.search(line):
        return _until(_instant(hit[1]), now)
    if hit := _SPAN.search(line):
        parts = _PART.findall(hit[1])
        return timedelta(seconds=sum(float(n) * _UNIT_S[unit.lower()] for n, unit in parts))
    return None


def _until(instant: datetime | None, now: datetime) -> timedelta | None:
    return None if instant is None else instant - now


def _instant(words: str) -> datetime | None:
    try:
        return datetime.fromisoformat(words)
    except ValueError:
        return None
