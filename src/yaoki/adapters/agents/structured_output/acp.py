"""Agents over the Agent Client Protocol, read from the event log of our own client.

The end of a turn is a claim; an error has a code, some adapters add a kind, and some report a
failed turn as a success with the error in `_meta`.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from yaoki.adapters.agents.limits import classify_error_text, classify_http_status
from yaoki.adapters.agents.reset_times import find_wait
from yaoki.adapters.agents.structured_output.summary import (
    AgentEvent,
    AgentOutput,
    OutputSummary,
    last_event,
    number_at,
    text_at,
    texts_at,
    value_at,
)
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import AgentLimit

AUTH_REQUIRED = -32000
_LIMIT_BY_KIND = {
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
# An object whose one key is the kind.
_KIND_OBJECT = "codexErrorInfo"
_CAPITAL = lazy_compile(r"(?=[A-Z])")
_STATUS_FIELDS = ("statusCode", "status_code", "httpStatusCode", "status", "code")
_BY_STOP_REASON = {
    "max_tokens": (AgentLimit.TURNS, "its answer was cut off by length"),
    "max_turn_requests": (AgentLimit.TURNS, "its turns are used up"),
    "refusal": (AgentLimit.REFUSAL, "it refused to continue"),
    "cancelled": (AgentLimit.UNFINISHED, "its turn was cancelled"),
}


def read(output: AgentOutput) -> OutputSummary:
    session_event = last_event(output.events, "acp.session")
    session = (
        text_at(session_event, "session_id") if value_at(session_event, "loads") is True else ""
    )
    final = last_event(output.events, "acp.end")
    if not final:
        return OutputSummary(AgentLimit.UNFINISHED, "its output has no final event", session)
    if value_at(final, "cut"):
        return OutputSummary(
            AgentLimit.UNFINISHED, f"it ended during {text_at(final, 'at')}", session
        )
    error = value_at(final, "error")
    if error is not None:
        return _summarize_error(error, text_at(final, "at"), session, output)
    faults = value_at(final, "faults")
    if isinstance(faults, list) and faults:
        return _summarize_error(faults[-1], text_at(final, "at"), session, output)
    return _summarize_end(final, session)


def _summarize_end(final: AgentEvent, session: str) -> OutputSummary:
    reason = text_at(final, "stop_reason")
    if reason in _BY_STOP_REASON:
        limit, message = _BY_STOP_REASON[reason]
        return OutputSummary(limit, message, session)
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
            AgentLimit.UNFINISHED, "its turn ended without a message or a tool call", session
        )
    return OutputSummary(session=session, claims_success=True)


def _summarize_error(error: Any, at: str, session: str, output: AgentOutput) -> OutputSummary:
    message = _error_message(error)
    limit = AgentLimit.SESSION if at == "session/load" else _classify(error, message)
    wait = _retry_after(error, message, output) if limit.is_temporary else None
    return OutputSummary(limit, message, session, wait)


def read_retry_notice(event: AgentEvent) -> tuple[AgentLimit, timedelta | None]:
    """Codex reports that it waits for its service, without naming a time."""
    error = value_at(event, "update", "_meta", "codex", "error")
    if value_at(error, "willRetry") is not True:
        return AgentLimit.NONE, None
    limit = _classify(error, _error_message(error))
    return AgentLimit.OVERLOADED if limit is AgentLimit.UNKNOWN else limit, None


def _classify(error: Any, message: str) -> AgentLimit:
    """Structured fields first: error kind, HTTP status, protocol code; text last."""
    for container in (value_at(error, "data"), error, _named_kind(error)):
        for name in _KIND_FIELDS:
            if limit := _LIMIT_BY_KIND.get(text_at(container, name).lower()):
                return limit
        for name in _STATUS_FIELDS:
            code = number_at(container, name)
            if code is not None and 400 <= code <= 599:
                return classify_http_status(int(code), message) or AgentLimit.UNKNOWN
    if number_at(error, "code") == AUTH_REQUIRED:
        return AgentLimit.AUTH
    return classify_error_text(message) or AgentLimit.UNKNOWN


def _named_kind(error: Any) -> Any:
    """`{"codexErrorInfo": {"responseStreamDisconnected": {"httpStatusCode": 429}}}` as fields; the
    status says more than the kind.
    """
    held = value_at(error, _KIND_OBJECT)
    if not isinstance(held, dict) or not held:
        return {}
    kind, details = next(iter(held.items()))
    status = number_at(details, "httpStatusCode")
    return {"status": status} if status else {"kind": _CAPITAL.sub("_", kind).lower()}


def _error_message(error: Any) -> str:
    """The message with the details of the adapter; an error may be a plain text."""
    if isinstance(error, str):
        return error
    details = value_at(error, "data")
    detail_text = (
        text_at(details, "details")
        or text_at(details, "message")
        or text_at(error, "details")
        or text_at(error, "additionalDetails")
    )
    detail = details if isinstance(details, str) else detail_text
    message = text_at(error, "message")
    parts = (message, detail if detail not in message else "")
    return ": ".join(filter(None, parts)) or json.dumps(error)[:500]


def _retry_after(error: Any, message: str, output: AgentOutput) -> timedelta | None:
    for container in (value_at(error, "data"), error):
        seconds = number_at(container, "retryAfter") or number_at(container, "retry_after")
        if seconds is not None and 0 <= seconds <= 30 * 24 * 3600:
            return timedelta(seconds=seconds)
    return find_wait(message, output.now)
