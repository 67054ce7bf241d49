"""Agents over the Agent Client Protocol, read from the event log of our own client.

The end of a turn is a claim; an error has a code, some adapters add a kind, and some tell a failed
turn as a good end with the fault beside it.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from yaoki.adapters.agents.limits import classify_error_text, classify_http_status
from yaoki.adapters.agents.reset_times import find_wait
from yaoki.adapters.agents.structured.summary import (
    AgentEvent,
    AgentOutput,
    OutputSummary,
    last_event,
    number_at,
    text_at,
    texts_at,
    value_at,
)
from yaoki.core.model import AgentLimit

AUTH_REQUIRED = -32000
_KINDS = {
    "rate_limit": AgentLimit.RATE,
    "rate_limit_exceeded": AgentLimit.RATE,
    "usage_limit_reached": AgentLimit.RATE,
    "usage_limit_exceeded": AgentLimit.RATE,
    "overloaded": AgentLimit.OVERLOADED,
    "server_overloaded": AgentLimit.OVERLOADED,
    "server_error": AgentLimit.OVERLOADED,
    "internal_server_error": AgentLimit.OVERLOADED,
    "response_stream_disconnected": AgentLimit.OVERLOADED,
    "http_connection_failed": AgentLimit.OVERLOADED,
    "authentication_failed": AgentLimit.AUTH,
    "unauthorized": AgentLimit.AUTH,
    "billing_error": AgentLimit.MONEY,
    "invalid_request": AgentLimit.REQUEST,
    "bad_request": AgentLimit.REQUEST,
    "context_window_exceeded": AgentLimit.CONTEXT,
}
_KIND_FIELDS = ("errorKind", "error_kind", "kind", "codex_error_info", "codexErrorInfo", "type")
_STATUS_FIELDS = ("statusCode", "status_code", "httpStatusCode", "status", "code")
_REASONS = {
    "max_tokens": (AgentLimit.TURNS, "its answer was cut off by length"),
    "max_turn_requests": (AgentLimit.TURNS, "its turns are used up"),
    "refusal": (AgentLimit.UNKNOWN, "it refused to go on"),
    "cancelled": (AgentLimit.UNFINISHED, "its turn was cancelled"),
}


def read(scene: AgentOutput) -> OutputSummary:
    opened = last_event(scene.events, "acp.session")
    session = text_at(opened, "session_id") if value_at(opened, "loads") is True else ""
    final = last_event(scene.events, "acp.end")
    if not final:
        return OutputSummary(AgentLimit.UNFINISHED, "its output has no final event", session)
    if value_at(final, "cut"):
        return OutputSummary(
            AgentLimit.UNFINISHED, f"it ended during {text_at(final, 'at')}", session
        )
    error = value_at(final, "error")
    if error is not None:
        return _failed(error, text_at(final, "at"), session, scene)
    faults = value_at(final, "faults")
    if isinstance(faults, list) and faults:
        return _failed(faults[-1], text_at(final, "at"), session, scene)
    return _ended(final, session)


def _ended(final: AgentEvent, session: str) -> OutputSummary:
    reason = text_at(final, "stop_reason")
    if reason in _REASONS:
        word, message = _REASONS[reason]
        return OutputSummary(word, message, session)
    if denied := texts_at(final, "denied"):
        return OutputSummary(
            AgentLimit.DENIED, f"the agent was not allowed to use {denied[-1]}", session
        )
    if reason != "end_turn":
        return OutputSummary(
            AgentLimit.UNKNOWN, f"its turn ended with {reason[:80] or 'nothing'}", session
        )
    if not number_at(final, "acts"):
        return OutputSummary(
            AgentLimit.UNFINISHED, "its turn ended without a word or an act", session
        )
    return OutputSummary(session=session, claims_success=True)


def _failed(error: Any, at: str, session: str, scene: AgentOutput) -> OutputSummary:
    message = _message(error)
    word = AgentLimit.SESSION if at == "session/load" else _word(error, message)
    wait = _wait(error, message, scene) if word.is_temporary else None
    return OutputSummary(word, message, session, wait)


def _word(error: Any, message: str) -> AgentLimit:
    """What is structured first: a named kind, an HTTP status, the protocol's code; text last."""
    for held in (value_at(error, "data"), error):
        for name in _KIND_FIELDS:
            if word := _KINDS.get(text_at(held, name).lower()):
                return word
        for name in _STATUS_FIELDS:
            code = number_at(held, name)
            if code is not None and 400 <= code <= 599:
                return classify_http_status(int(code), message) or AgentLimit.UNKNOWN
    if number_at(error, "code") == AUTH_REQUIRED:
        return AgentLimit.AUTH
    return classify_error_text(message) or AgentLimit.UNKNOWN


def _message(error: Any) -> str:
    """The sentence, and what the adapter put beside it; a fault may be a bare text."""
    if isinstance(error, str):
        return error
    details = value_at(error, "data")
    named = text_at(details, "details") or text_at(details, "message") or text_at(error, "details")
    more = details if isinstance(details, str) else named
    said = text_at(error, "message")
    parts = (said, more if more not in said else "")
    return ": ".join(filter(None, parts)) or json.dumps(error)[:500]


def _wait(error: Any, message: str, scene: AgentOutput) -> timedelta | None:
    for held in (value_at(error, "data"), error):
        seconds = number_at(held, "retryAfter") or number_at(held, "retry_after")
        if seconds is not None and 0 <= seconds <= 30 * 24 * 3600:
            return timedelta(seconds=seconds)
    return find_wait(message, scene.now)
