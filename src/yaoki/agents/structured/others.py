"""pi in JSON mode, mini-swe-agent by its trajectory, aider by its text."""

from __future__ import annotations

import re
from datetime import timedelta

from yaoki.agents.limits import word_in
from yaoki.agents.resets import wait_in
from yaoki.agents.structured.told import Event, Scene, Told, last, millis, part, text

_STATUS = re.compile(r'"exit_status"\s{0,4}:\s{0,4}"(\w{0,60})"')
_LITELLM = {
    "RateLimitError": "rate",
    "AuthenticationError": "auth",
    "PermissionDeniedError": "auth",
    "NotFoundError": "notfound",
    "BadRequestError": "request",
    "ContextWindowExceededError": "context",
    "InternalServerError": "overloaded",
    "ServiceUnavailableError": "overloaded",
    "BadGatewayError": "overloaded",
    "APIConnectionError": "overloaded",
    "Timeout": "overloaded",
    "APIError": "overloaded",
    "LimitsExceeded": "turns",
    "RepeatedFormatError": "unfinished",
    "": "unfinished",
}
AIDER_LINES_READ = 30
_AIDER = re.compile(r"^litellm\.(?:exceptions\.)?(\w{3,40}): ")
_AIDER_CUT = re.compile(r"possibly exceeded output limit|has hit a token limit", re.IGNORECASE)
_AIDER_EDIT = re.compile(r"^Applied edit to ", re.MULTILINE)


def read_pi(scene: Scene) -> Told:
    session = text(last(scene.events, "session"), "id")
    final = last(scene.events, "agent_end")
    messages = part(final, "messages")
    message = messages[-1] if isinstance(messages, list) and messages else {}
    reason, said = text(message, "stopReason"), text(message, "errorMessage")
    if not final:
        notice = scene.events[-1] if scene.events else {}
        word, delay = pi_waits(notice)
        return Told(word or "unfinished", text(notice, "errorMessage"), session, delay)
    if reason == "error":
        word = word_in(said) or "unknown"
        wait = wait_in(said, scene.now) if word in {"rate", "overloaded"} else None
        return Told(word, said, session, wait)
    if reason == "length":
        return Told("turns", "its answer was cut off by length", session)
    return Told(session=session, finished=reason == "stop")


def pi_waits(event: Event) -> tuple[str, timedelta | None]:
    if event.get("type") != "auto_retry_start":
        return "", None
    return word_in(text(event, "errorMessage")) or "overloaded", millis(event, "delayMs")


def read_mini(scene: Scene) -> Told:
    """Only `Submitted` is an end; the trajectory is too long to be parsed as a whole."""
    hit = _STATUS.search(scene.trajectory)
    if hit is None:
        return Told()
    name = hit[1]
    if name == "Submitted":
        return Told(finished=True)
    return Told(_LITELLM.get(name, "unknown"), f"exit_status: {name or 'none'}")


def read_aider(scene: Scene) -> Told:
    """It has one channel and exits 0 whatever happens; an edit after an error takes it back."""
    lines = [line for line in scene.text.splitlines() if line.strip()][-AIDER_LINES_READ:]
    for line in reversed(lines):
        if _AIDER_EDIT.match(line):
            return Told(finished=True)
        if _AIDER_CUT.search(line[:200]):
            return Told("turns", line[:200])
        if hit := _AIDER.match(line):
            word = _aider_word(hit[1], line)
            return Told(word, line[:1000], "", wait_in(line, scene.now) if word == "rate" else None)
    return Told()


def _aider_word(name: str, line: str) -> str:
    refined = word_in(line)
    return refined if refined in {"context", "money"} else _LITELLM.get(name, "unknown")
