"""Gemini CLI.  Its exit code is the HTTP status modulo 256, not 128 plus a signal."""

from __future__ import annotations

from yaoki.adapters.agents.limits import classify_error_text
from yaoki.adapters.agents.reset_times import find_wait
from yaoki.adapters.agents.structured_output.summary import (
    AgentOutput,
    OutputSummary,
    first_text,
    last_event,
    text_at,
)
from yaoki.core.model import AgentLimit


def read(output: AgentOutput) -> OutputSummary:
    session = first_text(output.events, "session_id")
    final = last_event(output.events, "result")
    message = text_at(final, "error", "message") or text_at(
        last_event(output.events, "error"), "message"
    )
    if final.get("status") == "success" and output.exit_code not in output.limit_by_exit_code:
        return OutputSummary(session=session, claims_success=True)
    if not output.events and output.exit_code not in output.limit_by_exit_code:
        return OutputSummary()
    limit = _classify(message, output, failed=bool(final))
    wait = find_wait(message, output.now) if limit.is_temporary else None
    return OutputSummary(
        limit, message or f"exit code {output.exit_code}" if limit else "", session, wait
    )


def _classify(message: str, output: AgentOutput, *, failed: bool) -> AgentLimit:
    text_limit = classify_error_text(message)
    if text_limit in {AgentLimit.CONTEXT, AgentLimit.SESSION, AgentLimit.MONEY}:
        return text_limit
    if exit_limit := output.limit_by_exit_code.get(output.exit_code or 0):
        return exit_limit
    # Exit code 0 but an error event: the answer was empty or cut off.
    return text_limit or (
        AgentLimit.UNFINISHED if output.exit_code == 0 or not failed else AgentLimit.UNKNOWN
    )
