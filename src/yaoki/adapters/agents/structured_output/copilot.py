"""GitHub Copilot CLI: `copilot --output-format json`; only its last event names the session."""

from __future__ import annotations

from datetime import timedelta

from yaoki.adapters.agents.limits import classify_http_status
from yaoki.adapters.agents.reset_times import find_wait
from yaoki.adapters.agents.structured_output.summary import (
    AgentEvent,
    AgentOutput,
    OutputSummary,
    http_status_at,
    last_event,
    number_at,
    parse_json_objects,
    text_at,
)
from yaoki.core.model import AgentLimit

_LIMIT_BY_ERROR = {
    "authentication": AgentLimit.AUTH,
    "authorization": AgentLimit.AUTH,
    "rate_limit": AgentLimit.RATE,
    "quota": AgentLimit.RATE,
    "context_limit": AgentLimit.CONTEXT,
}


def read(output: AgentOutput) -> OutputSummary:
    final = last_event(output.events, "result")
    session = text_at(final, "sessionId")
    # An answer after an error cancels it.
    told = last_event(output.events, "session.error", "assistant.message", "model.call_failure")
    if told.get("type") in {"session.error", "model.call_failure"}:
        return _summarize_error(told, session, output)
    if not final:
        return OutputSummary(AgentLimit.UNFINISHED, "its output has no final event", session)
    if number_at(final, "exitCode") != 0:
        return OutputSummary(AgentLimit.UNKNOWN, "it reports a failure without a reason", session)
    if not text_at(told, "data", "content").strip():
        return OutputSummary(AgentLimit.UNFINISHED, "its turn ended without an answer", session)
    return OutputSummary(session=session, claims_success=True)


def _summarize_error(event: AgentEvent, session: str, output: AgentOutput) -> OutputSummary:
    message = text_at(event, "data", "message") or _call_message(event)
    limit = _classify(event, message)
    wait = find_wait(message, output.now) if limit.is_temporary else None
    return OutputSummary(limit, message, session, wait)


def _call_message(event: AgentEvent) -> str:
    """The words of the service, which are a JSON object of their own."""
    message = text_at(event, "data", "errorMessage")
    said = parse_json_objects(message)
    return (text_at(said[0], "message") if said else "") or message


def _classify(event: AgentEvent, message: str) -> AgentLimit:
    by_status = classify_http_status(http_status_at(event, "data", "statusCode"), message)
    if by_status in {AgentLimit.CONTEXT, AgentLimit.MONEY}:
        return by_status
    named = _LIMIT_BY_ERROR.get(text_at(event, "data", "errorType"))
    return named or by_status or AgentLimit.UNKNOWN


def read_retry_notice(event: AgentEvent) -> tuple[AgentLimit, timedelta | None]:
    """A failed call of its model; it tries again without naming a time."""
    if event.get("type") != "model.call_failure":
        return AgentLimit.NONE, None
    limit = _classify(event, text_at(event, "data", "errorMessage"))
    return AgentLimit.OVERLOADED if limit is AgentLimit.UNKNOWN else limit, None
