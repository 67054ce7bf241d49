"""What the answer of a webhook's receiver means: try again, when, or not at all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.error import HTTPError

from yaoki.core.text import one_line, strip_terminal_codes
from yaoki.errors import NoticeFailed

RETRYABLE_STATUSES = frozenset({408, 425, 429})
WAIT_MAX = timedelta(days=1)


def interpret_http_error(shown: str, said: HTTPError, now: datetime) -> NoticeFailed:
    """Everything but 2xx is a failure; busy and broken receivers may be asked again."""
    reason = one_line(strip_terminal_codes(str(said.reason)), 100)
    words = f"{shown} answered {said.code} {reason}".rstrip()
    if 300 <= said.code < 400:
        hint = "redirects are not followed: put the final address into notify.webhook"
        return NoticeFailed(words, permanent=True, hint=hint)
    later = said.code in RETRYABLE_STATUSES or said.code >= 500
    wait = parse_retry_after(said.headers.get("Retry-After", ""), now) if later else None
    hint = "the receiver is at fault; it is asked again" if later else "look at the receiver's log"
    return NoticeFailed(words, permanent=not later, retry_after=wait, hint=hint)


def parse_retry_after(value: str, now: datetime) -> timedelta | None:
    """Seconds or a date, as the header may hold either; nonsense is none, a long wait is cut."""
    value = value.strip()[:64]
    if value.isascii() and value.isdigit():
        return min(timedelta(seconds=int(value[:9])), WAIT_MAX)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return min(max(at - now, timedelta(0)), WAIT_MAX)
