"""Codex: `codex exec --json`."""

from __future__ import annotations

import re
from datetime import timedelta

from yaoki.adapters.agents.limits import classify_error_text
from yaoki.adapters.agents.reset_times import find_wait
from yaoki.adapters.agents.structured_output.summary import (
    AgentEvent,
    AgentOutput,
    OutputSummary,
    first_text,
    last_event,
    text_at,
)
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import AgentLimit

_CUT = lazy_compile(r"incomplete response returned", re.IGNORECASE)
_USAGE = lazy_compile(r"hit your usage limit", re.IGNORECASE)
_RETRY = lazy_compile(r"^reconnecting\.\.\.", re.IGNORECASE)


def read(output: AgentOutput) -> OutputSummary:
    session = first_text(output.events, "thread_id")
    final = last_event(output.events, "turn.completed", "turn.failed")
    if final.get("type") == "turn.completed":
        return _summarize_completed(output, session)
    message = text_at(final, "error", "message") or text_at(
        last_event(output.events, "error"), "message"
    )
    if not message:
        return OutputSummary(AgentLimit.UNFINISHED, "its output has no final event", session)
    limit = _classify(message)
    wait = find_wait(message, output.now) if limit.is_temporary else None
    return OutputSummary(limit, message, session, wait)


def _summarize_completed(output: AgentOutput, session: str) -> OutputSummary:
    has_answer = any(text_at(event, "item", "type") == "agent_message" for event in output.events)
    if has_answer:
        return OutputSummary(session=session, claims_success=True)
    return OutputSummary(AgentLimit.UNFINISHED, "its turn ended without an answer", session)


def _classify(message: str) -> AgentLimit:
    if _CUT.search(message):
        return AgentLimit.TURNS
    return (
        AgentLimit.RATE
        if _USAGE.search(message)
        else classify_error_text(message) or AgentLimit.UNKNOWN
    )


def read_retry_notice(event: AgentEvent) -> tuple[AgentLimit, timedelta | None]:
    message = text_at(event, "message")
    if event.get("type") != "error" or not _RETRY.match(message):
        return AgentLimit.NONE, None
    return classify_error_text(message) or AgentLimit.OVERLOADED, None
