"""The webhook channel: one signed POST, no redirects, bounded in time.

The signature covers the time and the body, so a receiver can reject forged and old requests.
"""

from __future__ import annotations

import hashlib
import hmac
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.request import (
    BaseHandler,
    HTTPRedirectHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

from yaoki.adapters.notify.message import encode_notice, prepare_notice
from yaoki.adapters.notify.time_limit import run_with_timeout
from yaoki.core.redact import mask
from yaoki.core.settings.addresses import (
    address_secrets,
    is_loopback_address,
    mask_web_address,
    web_defect,
)
from yaoki.core.settings.settings import NotificationSettings
from yaoki.core.text import format_duration, one_line, strip_terminal_codes
from yaoki.errors import NoticeFailed
from yaoki.ports import Clock, Notice

SECRET_CHARS_MIN = 16
RETRYABLE_STATUSES = frozenset({408, 425, 429})
WAIT_MAX = timedelta(days=1)
HINT = "check notify.webhook and its receiver, then: yaoki notify test"


def sign_body(secret: str, timestamp: str, body: bytes) -> str:
    """`sha256=…` over `timestamp.body`; the guide shows how a receiver verifies it."""
    key = secret.encode("utf-8", "surrogateescape")
    return "sha256=" + hmac.new(key, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


class NoRedirects(HTTPRedirectHandler):
    """A notice is never sent to the address that a redirect names."""

    def redirect_request(self, *_: object) -> None:
        return None


class WebhookChannel:
    """A status from 200 to 299 means delivered."""

    def __init__(
        self,
        settings: NotificationSettings,
        timeout: timedelta,
        environ: Mapping[str, str],
        clock: Clock,
    ) -> None:
        self._address, self._variable = settings.webhook, settings.webhook_secret_env
        self._http = settings.webhook_http
        self._timeout, self._environ, self._clock = timeout, environ, clock

    def send(self, notice: Notice) -> None:
        if reason := web_defect(self._address, http=self._http):
            raise NoticeFailed(f"notify.webhook: {reason}", permanent=True, hint=HINT)
        now, secret = self._clock.now(), self._secret()
        request = self._request(prepare_notice(notice, self._environ), secret, now)
        try:
            run_with_timeout(self._timeout, lambda: self._post(request))
        except HTTPError as error:
            with error:
                raise _interpret_http_error(self._display_address, error, now) from None
        except TimeoutError:
            limit = format_duration(self._timeout.total_seconds())
            message = f"{self._display_address} did not answer within {limit}"
            raise NoticeFailed(message, hint=HINT) from None
        except (OSError, HTTPException) as fault:
            # Not chained: its message may contain the address.
            raise self._make_failure(fault, secret) from None

    @property
    def _display_address(self) -> str:
        return mask_web_address(self._address)

    def _secret(self) -> str:
        secret = self._environ.get(self._variable, "")
        if len(secret) >= SECRET_CHARS_MIN:
            return secret
        state = f"is shorter than {SECRET_CHARS_MIN} characters" if secret else "is not set"
        raise NoticeFailed(
            f"the variable {self._variable}, the secret of notify.webhook, {state}",
            permanent=True,
            hint=f'export {self._variable}="$(openssl rand -hex 32)", the same at the receiver',
        )

    def _request(self, notice: Notice, secret: str, now: datetime) -> Request:
        body, timestamp = encode_notice(notice), str(int(now.timestamp()))
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": "yaoki",
            "X-Yaoki-Notice": str(notice.id),
            "X-Yaoki-Timestamp": timestamp,
            "X-Yaoki-Signature": sign_body(secret, timestamp, body),
        }
        return Request(self._address, data=body, headers=headers, method="POST")

    def _post(self, request: Request) -> None:
        """Only the status counts; the body is not read."""
        self._opener().open(request, timeout=self._timeout.total_seconds()).close()

    def _opener(self) -> OpenerDirector:
        """A loopback address is never sent through a proxy."""
        direct: tuple[BaseHandler, ...] = (
            (ProxyHandler({}),) if is_loopback_address(self._address) else ()
        )
        return build_opener(NoRedirects, *direct)

    def _make_failure(self, fault: Exception, secret: str) -> NoticeFailed:
        reason = fault.reason if isinstance(fault, URLError) else fault
        if isinstance(reason, TimeoutError):
            message = f"did not answer within {format_duration(self._timeout.total_seconds())}"
        else:
            secrets = (secret, *address_secrets((self._address,)))
            message = "cannot be reached: " + mask(
                one_line(strip_terminal_codes(str(reason)), 200), secrets
            )
        is_untrusted = isinstance(reason, ssl.SSLCertVerificationError)
        return NoticeFailed(f"{self._display_address} {message}", permanent=is_untrusted, hint=HINT)


def _interpret_http_error(address: str, error: HTTPError, now: datetime) -> NoticeFailed:
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
