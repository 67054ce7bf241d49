"""Gemini CLI.  Its exit code is the HTTP status modulo 256, so it is no signal's number."""

from __future__ import annotations

from yaoki.adapters.agents.limits import classify_error_text
from yaoki.adapters.agents.reset_times import find_wait
from yaoki.adapters.agents.structured.summary import (
    AgentOutput,
    OutputSummary,
    first_text,
    last_event,
    text_at,
)
from yaoki.core.model import AgentLimit


def read(scene: AgentOutput) -> OutputSummary:
    session = first_text(scene.events, "session_id")
    final = last_event(scene.events, "result")
    message = text_at(final, "error", "message") or text_at(
        last_event(scene.events, "error"), "message"
    )
    if final.get("status") == "success" and scene.exit_code not in scene.limit_by_exit_code:
        return OutputSummary(session=session, claims_success=True)
    if not scene.events and scene.exit_code not in scene.limit_by_exit_code:
        return OutputSummary()
    word = _word(message, scene, failed=bool(final))
    wait = find_wait(message, scene.now) if word.is_temporary else None
    return OutputSummary(
        word, message or f"exit code {scene.exit_code}" if word else "", session, wait
    )


def _word(message: str, scene: AgentOutput, *, failed: bool) -> AgentLimit:
    told = classify_error_text(message)
    if told in {AgentLimit.CONTEXT, AgentLimit.SESSION, AgentLimit.MONEY}:
        return told
    if known := scene.limit_by_exit_code.get(scene.exit_code or 0):
        return known
    # Ended well by its code but badly by its own word: an answer that was empty or cut off.
    return told or (
        AgentLimit.UNFINISHED if scene.exit_code == 0 or not failed else AgentLimit.UNKNOWN
    )
