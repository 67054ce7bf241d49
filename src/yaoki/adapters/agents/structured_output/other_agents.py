"""Gemini CLI and pi by their events, mini-swe-agent by its trajectory, aider and others by text."""

from __future__ import annotations

import re
from datetime import timedelta

from yaoki.adapters.agents.limits import classify_error_text, classify_http_status
from yaoki.adapters.agents.reset_times import find_wait
from yaoki.adapters.agents.structured_output.summary import (
    AgentEvent,
    AgentOutput,
    OutputSummary,
    first_text,
    last_event,
    milliseconds_at,
    parse_events,
    text_at,
    value_at,
)
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import AgentLimit

_STATUS = lazy_compile(r'"exit_status"\s{0,4}:\s{0,4}"(\w{0,60})"')
_LITELLM = {
    "RateLimitError": AgentLimit.RATE,
    "AuthenticationError": AgentLimit.AUTH,
    "PermissionDeniedError": AgentLimit.AUTH,
    "NotFoundError": AgentLimit.NOT_FOUND,
    "BadRequestError": AgentLimit.REQUEST,
    "ContextWindowExceededError": AgentLimit.CONTEXT,
    "InternalServerError": AgentLimit.OVERLOADED,
    "ServiceUnavailableError": AgentLimit.OVERLOADED,
    "BadGatewayError": AgentLimit.OVERLOADED,
    "APIConnectionError": AgentLimit.OVERLOADED,
    "Timeout": AgentLimit.OVERLOADED,
    "APIError": AgentLimit.OVERLOADED,
    "LimitsExceeded": AgentLimit.TURNS,
    "MaxIterationsReached": AgentLimit.TURNS,
    "ContextWindowExceedError": AgentLimit.CONTEXT,
    "TimeoutError": AgentLimit.OVERLOADED,
    "RepeatedFormatError": AgentLimit.UNFINISHED,
    "": AgentLimit.UNFINISHED,
}
_OPENHANDS_KINDS = frozenset(
    {"MessageEvent", "ActionEvent", "ObservationEvent", "ConversationErrorEvent"}
)
_VIBE = {"invalid_api_key": AgentLimit.AUTH, "rate_limit": AgentLimit.RATE}
LINES_READ = 30
_PI_STATUS = lazy_compile(r"([45]\d\d)\b")
_PI_CUT = lazy_compile(
    r"(?:terminated|aborted)$|could not parse message|unexpected token .{0,200}JSON$", re.I
)
_AIDER = lazy_compile(r"^litellm\.(?:exceptions\.)?(\w{3,40}): ")
_AIDER_CUT = lazy_compile(r"possibly exceeded output limit|has hit a token limit", re.IGNORECASE)
_AIDER_EDIT = lazy_compile(r"^Applied edit to ", re.MULTILINE)


def read_pi(output: AgentOutput) -> OutputSummary:
    session = text_at(last_event(output.events, "session"), "id")
    final = last_event(output.events, "agent_end")
    messages = value_at(final, "messages")
    message = messages[-1] if isinstance(messages, list) and messages else {}
    reason, error_text = text_at(message, "stopReason"), text_at(message, "errorMessage")
    if not final:
        notice = output.events[-1] if output.events else {}
        limit, delay = read_pi_retry_notice(notice)
        return OutputSummary(
            limit or AgentLimit.UNFINISHED, text_at(notice, "errorMessage"), session, delay
        )
    if reason == "error":
        limit = _classify_pi_error(error_text) or AgentLimit.UNKNOWN
        wait = find_wait(error_text, output.now) if limit.is_temporary else None
        return OutputSummary(limit, error_text, session, wait)
    if reason == "length":
        return OutputSummary(AgentLimit.TURNS, "its answer was cut off by length", session)
    return OutputSummary(session=session, claims_success=reason == "stop")


def _classify_pi_error(error_text: str) -> AgentLimit:
    """Errors of pi begin with the HTTP status, if there was one."""
    if hit := _PI_STATUS.match(error_text):
        return classify_http_status(int(hit[1]), error_text)
    return AgentLimit.OVERLOADED if _PI_CUT.match(error_text) else classify_error_text(error_text)


def read_pi_retry_notice(event: AgentEvent) -> tuple[AgentLimit, timedelta | None]:
    if event.get("type") != "auto_retry_start":
        return AgentLimit.NONE, None
    return _classify_pi_error(
        text_at(event, "errorMessage")
    ) or AgentLimit.OVERLOADED, milliseconds_at(event, "delayMs")


def read_mini(output: AgentOutput) -> OutputSummary:
    """Only `Submitted` is success; the trajectory is too long to be parsed completely."""
    hit = _STATUS.search(output.trajectory)
    if hit is None:
        return OutputSummary()
    name = hit[1]
    if name == "Submitted":
        return OutputSummary(claims_success=True)
    message = _text_field(output.trajectory, "exception_str") or f"exit_status: {name or 'none'}"
    return OutputSummary(_LITELLM.get(name, AgentLimit.UNKNOWN), message)


def read_vibe(output: AgentOutput) -> OutputSummary:
    """Read Vibe's export file; without one it did not finish."""
    outcome, session = (
        _text_field(output.trajectory, "outcome"),
        _text_field(output.trajectory, "session_id"),
    )
    if not outcome:
        return OutputSummary(AgentLimit.UNFINISHED, "it left no export", session)
    if outcome == "finished":
        return OutputSummary(session=session, claims_success=True)
    error_text = _text_field(output.trajectory, "message") or outcome
    limit = classify_error_text(error_text) or _VIBE.get(
        _text_field(output.trajectory, "code"), AgentLimit.UNKNOWN
    )
    wait = find_wait(error_text, output.now) if limit.is_temporary else None
    return OutputSummary(limit, error_text, session, wait)


def _text_field(text: str, name: str) -> str:
    """The first text field of that name: the file may be too long to be parsed completely."""
    hit = re.search(rf'"{name}": "([^"\\]{{0,1000}})', text)
    return hit[1] if hit else ""


def read_aider(output: AgentOutput) -> OutputSummary:
    """aider has one channel and always exits with 0; an edit after an error cancels the error."""
    lines = [line for line in output.text.splitlines() if line.strip()][-LINES_READ:]
    for line in reversed(lines):
        if _AIDER_EDIT.match(line):
            return OutputSummary(claims_success=True)
        if _AIDER_CUT.search(line[:200]):
            return OutputSummary(AgentLimit.TURNS, line[:200])
        if hit := _AIDER.match(line):
            limit = _classify_litellm_error(hit[1], line)
            return OutputSummary(
                limit,
                line[:1000],
                "",
                find_wait(line, output.now) if limit == AgentLimit.RATE else None,
            )
    return read_lines(output)


def _classify_litellm_error(name: str, words: str) -> AgentLimit:
    refined = classify_error_text(words)
    if refined in {AgentLimit.CONTEXT, AgentLimit.MONEY}:
        return refined
    return _LITELLM.get(name) or refined or AgentLimit.UNKNOWN


def read_lines(output: AgentOutput) -> OutputSummary:
    """An agent without events: the preset interprets its exit code and last lines."""
    if exit_limit := output.limit_by_exit_code.get(output.exit_code or 0):
        # Its error channel may have the words of the service.
        return OutputSummary(exit_limit)
    lines = [line.strip() for line in output.text.splitlines() if line.strip()][-LINES_READ:]
    for line in reversed(lines):
        for pattern, limit in output.limit_by_line.items():
            if re.match(pattern, line[:400]):
                wait = find_wait(line, output.now) if limit.is_temporary else None
                return OutputSummary(classify_error_text(line) or limit, line[:1000], "", wait)
    return OutputSummary()


def read_continue(output: AgentOutput) -> OutputSummary:
    """The last JSON object: the answer on its output, or the error on its error channel."""
    told = [event for event in parse_events(output.text) if text_at(event, "status")]
    final = told[-1] if told else {}
    if text_at(final, "status") == "success":
        return OutputSummary(claims_success=bool(text_at(final, "response").strip()))
    if text_at(final, "status") != "error":
        return read_lines(output)
    message = text_at(final, "message")
    limit = _classify_pi_error(message) or AgentLimit.UNKNOWN
    wait = find_wait(message, output.now) if limit.is_temporary else None
    return OutputSummary(limit, message, "", wait)


def read_openhands(output: AgentOutput) -> OutputSummary:
    """Events among banners; it exits with 0 also when its conversation failed."""
    told = [event for event in output.events if text_at(event, "kind") in _OPENHANDS_KINDS]
    final = told[-1] if told else {}
    if text_at(final, "kind") == "ConversationErrorEvent":
        name, message = text_at(final, "code").removeprefix("LLM"), text_at(final, "detail")
        limit = _classify_litellm_error(name, message)
        wait = find_wait(message, output.now) if limit.is_temporary else None
        return OutputSummary(limit, message, "", wait)
    ended = text_at(final, "kind") == "MessageEvent" or text_at(final, "tool_name") == "finish"
    if text_at(final, "source") == "agent" and ended:
        return OutputSummary(claims_success=True)
    return OutputSummary(AgentLimit.UNFINISHED, "its output has no final message")


def read_gemini(output: AgentOutput) -> OutputSummary:
    """The exit code of Gemini CLI is the HTTP status modulo 256, not 128 plus a signal."""
    session = first_text(output.events, "session_id")
    final = last_event(output.events, "result")
    message = text_at(final, "error", "message") or text_at(
        last_event(output.events, "error"), "message"
    )
    if final.get("status") == "success" and output.exit_code not in output.limit_by_exit_code:
        return OutputSummary(session=session, claims_success=True)
    if not output.events and output.exit_code not in output.limit_by_exit_code:
        return OutputSummary()
    limit = _classify_gemini_error(message, output, failed=bool(final))
    wait = find_wait(message, output.now) if limit.is_temporary else None
    return OutputSummary(
        limit, message or f"exit code {output.exit_code}" if limit else "", session, wait
    )


def _classify_gemini_error(message: str, output: AgentOutput, *, failed: bool) -> AgentLimit:
    text_limit = classify_error_text(message)
    # Google answers a wrong key with 400, so the words count more than the exit code.
    if text_limit in {AgentLimit.CONTEXT, AgentLimit.SESSION, AgentLimit.MONEY, AgentLimit.AUTH}:
        return text_limit
    if exit_limit := output.limit_by_exit_code.get(output.exit_code or 0):
        return exit_limit
    # Exit code 0 but an error event: the answer was empty or cut off.
    return text_limit or (
        AgentLimit.UNFINISHED if output.exit_code == 0 or not failed else AgentLimit.UNKNOWN
    )
