"""Agents over the Agent Client Protocol, read from the event log of our own client.

The end of a turn is a claim; an error has a code, some adapters add a kind, and some tell a failed
turn as a good end with the fault beside it.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from yaoki.adapters.agents.limits import word_in, word_of
from yaoki.adapters.agents.reset_times import wait_in
from yaoki.adapters.agents.structured.summary import (
    Event,
    Scene,
    Told,
    last,
    number,
    part,
    text,
    texts,
)

AUTH_REQUIRED = -32000
_KINDS = {
    "rate_limit": "rate",
    "rate_limit_exceeded": "rate",
    "usage_limit_reached": "rate",
    "usage_limit_exceeded": "rate",
    "overloaded": "overloaded",
    "server_overloaded": "overloaded",
    "server_error": "overloaded",
    "internal_server_error": "overloaded",
    "response_stream_disconnected": "overloaded",
    "http_connection_failed": "overloaded",
    "authentication_failed": "auth",
    "unauthorized": "auth",
    "billing_error": "money",
    "invalid_request": "request",
    "bad_request": "request",
    "context_window_exceeded": "context",
}
_KIND_FIELDS = ("errorKind", "error_kind", "kind", "codex_error_info", "codexErrorInfo", "type")
_STATUS_FIELDS = ("statusCode", "status_code", "httpStatusCode", "status", "code")
_REASONS = {
    "max_tokens": ("turns", "its answer was cut off by length"),
    "max_turn_requests": ("turns", "its turns are used up"),
    "refusal": ("unknown", "it refused to go on"),
    "cancelled": ("unfinished", "its turn was cancelled"),
}


def read(scene: Scene) -> Told:
    opened = last(scene.events, "acp.session")
    session = text(opened, "session_id") if part(opened, "loads") is True else ""
    final = last(scene.events, "acp.end")
    if not final:
        return Told("unfinished", "its output has no final event", session)
    if part(final, "cut"):
        return Told("unfinished", f"it ended during {text(final, 'at')}", session)
    error = part(final, "error")
    if error is not None:
        return _failed(error, text(final, "at"), session, scene)
    faults = part(final, "faults")
    if isinstance(faults, list) and faults:
        return _failed(faults[-1], text(final, "at"), session, scene)
    return _ended(final, session)


def _ended(final: Event, session: str) -> Told:
    reason = text(final, "stop_reason")
    if reason in _REASONS:
        word, message = _REASONS[reason]
        return Told(word, message, session)
    if denied := texts(final, "denied"):
        return Told("denied", f"the agent was not allowed to use {denied[-1]}", session)
    if reason != "end_turn":
        return Told("unknown", f"its turn ended with {reason[:80] or 'nothing'}", session)
    if not number(final, "acts"):
        return Told("unfinished", "its turn ended without a word or an act", session)
    return Told(session=session, finished=True)


def _failed(error: Any, at: str, session: str, scene: Scene) -> Told:
    message = _message(error)
    word = "session" if at == "session/load" else _word(error, message)
    wait = _wait(error, message, scene) if word in {"rate", "overloaded"} else None
    return Told(word, message, session, wait)


def _word(error: Any, message: str) -> str:
    """What is structured first: a named kind, an HTTP status, the protocol's code; text last."""
    for held in (part(error, "data"), error):
        for name in _KIND_FIELDS:
            if word := _KINDS.get(text(held, name).lower()):
                return word
        for name in _STATUS_FIELDS:
            code = number(held, name)
            if code is not None and 400 <= code <= 599:
                return word_of(int(code), message) or "unknown"
    if number(error, "code") == AUTH_REQUIRED:
        return "auth"
    return word_in(message) or "unknown"


def _message(error: Any) -> str:
    """The sentence, and what the adapter put beside it; a fault may be a bare text."""
    if isinstance(error, str):
        return error
    details = part(error, "data")
    named = text(details, "details") or text(details, "message") or text(error, "details")
    more = details if isinstance(details, str) else named
    said = text(error, "message")
    parts = (said, more if more not in said else "")
    return ": ".join(filter(None, parts)) or json.dumps(error)[:500]


def _wait(error: Any, message: str, scene: Scene) -> timedelta | None:
    for held in (part(error, "data"), error):
        seconds = number(held, "retryAfter") or number(held, "retry_after")
        if seconds is not None and 0 <= seconds <= 30 * 24 * 3600:
            return timedelta(seconds=seconds)
    return wait_in(message, scene.now)
