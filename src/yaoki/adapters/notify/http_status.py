"""Interprets the response of a webhook receiver: retry or not, and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.error import HTTPError

from yaoki.core.text import one_line, strip_terminal_codes
from yaoki.errors import NoticeFailed

RETRYABLE_STATUSES = frozenset({408, 425, 429})
WAIT_MAX = timedelta(days=1)


def interpret_http_error(address: str, error: HTTPError, now: datetime) -> NoticeFailed:
    """Every status but 2xx is a failure; a busy or broken receiver is retried."""
    reason = one_line(strip_terminal_codes(str(error.reason)), 100)
    message = f"{address} answered {error.code} {reason}".rstrip()
    if 300 <= error.code < 400:
        hint = "redirects are not followed: put the final address into notify.webhook"
        return NoticeFailed(message, permanent=True, hint=hint)
    is_retryable = error.code in RETRYABLE_STATUSES or error.code >= 500
    wait = parse_retry_after(error.headers.get("Retry-After", ""), now) if is_retryable else None
    hint = (
        "the receiver has a problem; yaoki will retry"
        if is_retryable
        else "check the receiver's log"
    )
    return NoticeFailed(message, permanent=not is_retryable, retry_after=wait, hint=hint)


def parse_retry_after(value: str, now: datetime) -> timedelta | None:
    """Seconds or a date; None if neither, and at most `WAIT_MAX`."""
    value = value.strip()[:64]
    if value.isascii() and value.isdigit():
        return min(timedelta(seconds=int(value[:9])), WAIT_MAX)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return min(max(at - now, timedelta(0)), WAIT_MAX)
