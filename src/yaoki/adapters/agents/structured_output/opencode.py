"""opencode: `opencode run --format json`; its errors are not followed by a final event."""

from __future__ import annotations

from datetime import datetime, timedelta

from yaoki.adapters.agents.limits import classify_error_text, classify_http_status
from yaoki.adapters.agents.reset_times import find_wait
from yaoki.adapters.agents.structured_output.summary import (
    AgentEvent,
    AgentOutput,
    OutputSummary,
    first_text,
    http_status_at,
    text_at,
    value_at,
)
from yaoki.core.model import AgentLimit

_LIMIT_BY_NAME = {
    "ContextOverflowError": AgentLimit.CONTEXT,
    "MessageOutputLengthError": AgentLimit.TURNS,
    "MessageAbortedError": AgentLimit.UNFINISHED,
    "ProviderAuthError": AgentLimit.AUTH,
    "ProviderModelNotFoundError": AgentLimit.NOT_FOUND,
}


def read(output: AgentOutput) -> OutputSummary:
    session = first_text(output.events, "sessionID")
    for event in reversed(output.events):
        if event.get("type") == "error":
            return _summarize_error(event, session, output.now)
        if event.get("type") == "step_finish":
            return _summarize_step(event, output, session)
    return OutputSummary(AgentLimit.UNFINISHED, "its output has no final event", session)


def _summarize_error(event: AgentEvent, session: str, now: datetime) -> OutputSummary:
    error = value_at(event, "error")
    code, message = http_status_at(error, "data", "statusCode"), text_at(error, "data", "message")
    name = text_at(error, "name")
    limit = _LIMIT_BY_NAME.get(name) or (
        classify_http_status(code, message) if code else classify_error_text(message)
    )
    if not limit:
        limit = (
            AgentLimit.OVERLOADED
            if value_at(error, "data", "isRetryable") is True
            else AgentLimit.UNKNOWN
        )
    wait = _retry_after(error, message, now) if limit.is_temporary else None
    return OutputSummary(limit, f"{name}: {message}".strip(" :"), session, wait)


def _retry_after(error: object, message: str, now: datetime) -> timedelta | None:
    header = text_at(error, "data", "responseHeaders", "retry-after")
    return find_wait(f"retry-after: {header}", now) or find_wait(message, now)


def _summarize_step(event: AgentEvent, output: AgentOutput, session: str) -> OutputSummary:
    reason = text_at(event, "part", "reason")
    if reason == "length":
        return OutputSummary(AgentLimit.TURNS, "its answer was cut off by length", session)
    has_text = any(
        e.get("type") == "text" and text_at(e, "part", "text").strip() for e in output.events
    )
    if reason == "stop" and has_text:
        return OutputSummary(session=session, claims_success=True)
    return OutputSummary(
        AgentLimit.UNFINISHED, f"its last step ended with {reason or 'nothing'}", session
    )
