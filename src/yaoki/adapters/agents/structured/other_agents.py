"""pi in JSON mode, mini-swe-agent by its trajectory, aider and others by their text."""

from __future__ import annotations

import re
from datetime import timedelta

from yaoki.adapters.agents.limits import classify_error_text, classify_http_status
from yaoki.adapters.agents.reset_times import find_wait
from yaoki.adapters.agents.structured.summary import (
    AgentEvent,
    AgentOutput,
    OutputSummary,
    last_event,
    milliseconds_at,
    text_at,
    value_at,
)
from yaoki.core.model import AgentLimit

_STATUS = re.compile(r'"exit_status"\s{0,4}:\s{0,4}"(\w{0,60})"')
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
    "RepeatedFormatError": AgentLimit.UNFINISHED,
    "": AgentLimit.UNFINISHED,
}
_VIBE = {"invalid_api_key": AgentLimit.AUTH, "rate_limit": AgentLimit.RATE}
LINES_READ = 30
_PI_STATUS = re.compile(r"([45]\d\d)\b")
_PI_CUT = re.compile(r"terminated$|could not parse message|unexpected token .{0,200}JSON$", re.I)
_AIDER = re.compile(r"^litellm\.(?:exceptions\.)?(\w{3,40}): ")
_AIDER_CUT = re.compile(r"possibly exceeded output limit|has hit a token limit", re.IGNORECASE)
_AIDER_EDIT = re.compile(r"^Applied edit to ", re.MULTILINE)


def read_pi(scene: AgentOutput) -> OutputSummary:
    session = text_at(last_event(scene.events, "session"), "id")
    final = last_event(scene.events, "agent_end")
    messages = value_at(final, "messages")
    message = messages[-1] if isinstance(messages, list) and messages else {}
    reason, said = text_at(message, "stopReason"), text_at(message, "errorMessage")
    if not final:
        notice = scene.events[-1] if scene.events else {}
        word, delay = read_pi_retry_notice(notice)
        return OutputSummary(
            word or AgentLimit.UNFINISHED, text_at(notice, "errorMessage"), session, delay
        )
    if reason == "error":
        word = _pi_word(said) or AgentLimit.UNKNOWN
        wait = find_wait(said, scene.now) if word.is_temporary else None
        return OutputSummary(word, said, session, wait)
    if reason == "length":
        return OutputSummary(AgentLimit.TURNS, "its answer was cut off by length", session)
    return OutputSummary(session=session, claims_success=reason == "stop")


def _pi_word(said: str) -> AgentLimit:
    """Its errors begin with the HTTP status when there was one."""
    if hit := _PI_STATUS.match(said):
        return classify_http_status(int(hit[1]), said)
    return AgentLimit.OVERLOADED if _PI_CUT.match(said) else classify_error_text(said)


def read_pi_retry_notice(event: AgentEvent) -> tuple[AgentLimit, timedelta | None]:
    if event.get("type") != "auto_retry_start":
        return AgentLimit.NONE, None
    return _pi_word(text_at(event, "errorMessage")) or AgentLimit.OVERLOADED, milliseconds_at(
        event, "delayMs"
    )


def read_mini(scene: AgentOutput) -> OutputSummary:
    """Only `Submitted` is an end; the trajectory is too long to be parsed as a whole."""
    hit = _STATUS.search(scene.trajectory)
    if hit is None:
        return OutputSummary()
    name = hit[1]
    if name == "Submitted":
        return OutputSummary(claims_success=True)
    return OutputSummary(_LITELLM.get(name, AgentLimit.UNKNOWN), f"exit_status: {name or 'none'}")


def read_vibe(scene: AgentOutput) -> OutputSummary:
    """By the export that it leaves; without one it did not come to its own end."""
    outcome, session = _field(scene.trajectory, "outcome"), _field(scene.trajectory, "session_id")
    if not outcome:
        return OutputSummary(AgentLimit.UNFINISHED, "it left no export", session)
    if outcome == "finished":
        return OutputSummary(session=session, claims_success=True)
    said = _field(scene.trajectory, "message") or outcome
    word = classify_error_text(said) or _VIBE.get(
        _field(scene.trajectory, "code"), AgentLimit.UNKNOWN
    )
    wait = find_wait(said, scene.now) if word.is_temporary else None
    return OutputSummary(word, said, session, wait)


def _field(text: str, name: str) -> str:
    """The first text of that name: the file may be too long to be parsed as a whole."""
    hit = re.search(rf'"{name}": "([^"\\]{{0,1000}})', text)
    return hit[1] if hit else ""


def read_aider(scene: AgentOutput) -> OutputSummary:
    """It has one channel and exits 0 whatever happens; an edit after an error takes it back."""
    lines = [line for line in scene.text.splitlines() if line.strip()][-LINES_READ:]
    for line in reversed(lines):
        if _AIDER_EDIT.match(line):
            return OutputSummary(claims_success=True)
        if _AIDER_CUT.search(line[:200]):
            return OutputSummary(AgentLimit.TURNS, line[:200])
        if hit := _AIDER.match(line):
            word = _aider_word(hit[1], line)
            return OutputSummary(
                word,
                line[:1000],
                "",
                find_wait(line, scene.now) if word == AgentLimit.RATE else None,
            )
    return OutputSummary()


def _aider_word(name: str, line: str) -> AgentLimit:
    refined = classify_error_text(line)
    return (
        refined
        if refined in {AgentLimit.CONTEXT, AgentLimit.MONEY}
        else _LITELLM.get(name, AgentLimit.UNKNOWN)
    )


def read_lines(scene: AgentOutput) -> OutputSummary:
    """An agent that only talks: what its description says of its exit code and its last lines."""
    if known := scene.limit_by_exit_code.get(scene.exit_code or 0):
        return OutputSummary(known, f"exit code {scene.exit_code}")
    lines = [line.strip() for line in scene.text.splitlines() if line.strip()][-LINES_READ:]
    for line in reversed(lines):
        for pattern, word in scene.limit_by_line.items():
            if re.match(pattern, line[:400]):
                wait = find_wait(line, scene.now) if word.is_temporary else None
                return OutputSummary(classify_error_text(line) or word, line[:1000], "", wait)
    return OutputSummary()
