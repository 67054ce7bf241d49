"""opencode: `opencode run --format json`; its errors are not followed by a final event."""

from __future__ import annotations

from datetime import datetime, timedelta

from yaoki.adapters.agents.limits import classify_error_text, classify_http_status
from yaoki.adapters.agents.reset_times import find_wait
from yaoki.adapters.agents.structured.summary import (
    AgentEvent,
    AgentOutput,
    OutputSummary,
    first_text,
    http_status_at,
    text_at,
    value_at,
)
from yaoki.core.model import AgentLimit

_NAMES = {
    "ContextOverflowError": AgentLimit.CONTEXT,
    "MessageOutputLengthError": AgentLimit.TURNS,
    "MessageAbortedError": AgentLimit.UNFINISHED,
    "ProviderAuthError": AgentLimit.AUTH,
    "ProviderModelNotFoundError": AgentLimit.NOT_FOUND,
}


def read(scene: AgentOutput) -> OutputSummary:
    session = first_text(scene.events, "sessionID")
    for event in reversed(scene.events):
        if event.get("type") == "error":
            return _failed(event, session, scene.now)
        if event.get("type") == "step_finish":
            return _stepped(event, scene, session)
    return OutputSummary(AgentLimit.UNFINISHED, "its output has no final event", session)


def _failed(event: AgentEvent, session: str, now: datetime) -> OutputSummary:
    error = value_at(event, "error")
    code, message = http_status_at(error, "data", "statusCode"), text_at(error, "data", "message")
    name = text_at(error, "name")
    word = _NAMES.get(name) or (
        classify_http_status(code, message) if code else classify_error_text(message)
    )
    if not word:
        word = (
            AgentLimit.OVERLOADED
            if value_at(error, "data", "isRetryable") is True
            else AgentLimit.UNKNOWN
        )
    wait = _wait(error, message, now) if word.is_temporary else None
    return OutputSummary(word, f"{name}: {message}".strip(" :"), session, wait)


def _wait(error: object, message: str, now: datetime) -> timedelta | None:
    asked = text_at(error, "data", "responseHeaders", "retry-after")
    return find_wait(f"retry-after: {asked}", now) or find_wait(message, now)


def _stepped(event: AgentEvent, scene: AgentOutput, session: str) -> OutputSummary:
    reason = text_at(event, "part", "reason")
    if reason == "length":
        return OutputSummary(AgentLimit.TURNS, "its answer was cut off by length", session)
    spoke = any(
        e.get("type") == "text" and text_at(e, "part", "text").strip() for e in scene.events
    )
    if reason == "stop" and spoke:
        return OutputSummary(session=session, claims_success=True)
    return OutputSummary(
        AgentLimit.UNFINISHED, f"its last step ended with {reason or 'nothing'}", session
    )
