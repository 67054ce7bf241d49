"""pi in JSON mode, mini-swe-agent by its trajectory, aider and others by their text."""

from __future__ import annotations

import re
from datetime import timedelta

from yaoki.adapters.agents.limits import word_in, word_of
from yaoki.adapters.agents.reset_times import wait_in
from yaoki.adapters.agents.structured.summary import Event, Scene, Told, last, millis, part, text

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
_VIBE = {"invalid_api_key": "auth", "rate_limit": "rate"}
LINES_READ = 30
_PI_STATUS = re.compile(r"([45]\d\d)\b")
_PI_CUT = re.compile(r"terminated$|could not parse message|unexpected token .{0,200}JSON$", re.I)
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
        word = _pi_word(said) or "unknown"
        wait = wait_in(said, scene.now) if word in {"rate", "overloaded"} else None
        return Told(word, said, session, wait)
    if reason == "length":
        return Told("turns", "its answer was cut off by length", session)
    return Told(session=session, finished=reason == "stop")


def _pi_word(said: str) -> str:
    """Its errors begin with the HTTP status when there was one."""
    if hit := _PI_STATUS.match(said):
        return word_of(int(hit[1]), said)
    return "overloaded" if _PI_CUT.match(said) else word_in(said)


def pi_waits(event: Event) -> tuple[str, timedelta | None]:
    if event.get("type") != "auto_retry_start":
        return "", None
    return _pi_word(text(event, "errorMessage")) or "overloaded", millis(event, "delayMs")


def read_mini(scene: Scene) -> Told:
    """Only `Submitted` is an end; the trajectory is too long to be parsed as a whole."""
    hit = _STATUS.search(scene.trajectory)
    if hit is None:
        return Told()
    name = hit[1]
    if name == "Submitted":
        return Told(finished=True)
    return Told(_LITELLM.get(name, "unknown"), f"exit_status: {name or 'none'}")


def read_vibe(scene: Scene) -> Told:
    """By the export that it leaves; without one it did not come to its own end."""
    outcome, session = _field(scene.trajectory, "outcome"), _field(scene.trajectory, "session_id")
    if not outcome:
        return Told("unfinished", "it left no export", session)
    if outcome == "finished":
        return Told(session=session, finished=True)
    said = _field(scene.trajectory, "message") or outcome
    word = word_in(said) or _VIBE.get(_field(scene.trajectory, "code"), "unknown")
    wait = wait_in(said, scene.now) if word in {"rate", "overloaded"} else None
    return Told(word, said, session, wait)


def _field(text: str, name: str) -> str:
    """The first text of that name: the file may be too long to be parsed as a whole."""
    hit = re.search(rf'"{name}": "([^"\\]{{0,1000}})', text)
    return hit[1] if hit else ""


def read_aider(scene: Scene) -> Told:
    """It has one channel and exits 0 whatever happens; an edit after an error takes it back."""
    lines = [line for line in scene.text.splitlines() if line.strip()][-LINES_READ:]
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


def read_lines(scene: Scene) -> Told:
    """An agent that only talks: what its description says of its exit code and its last lines."""
    if known := scene.codes.get(scene.code or 0):
        return Told(known, f"exit code {scene.code}")
    lines = [line.strip() for line in scene.text.splitlines() if line.strip()][-LINES_READ:]
    for line in reversed(lines):
        for pattern, word in scene.lines.items():
            if re.match(pattern, line[:400]):
                wait = wait_in(line, scene.now) if word in {"rate", "overloaded"} else None
                return Told(word_in(line) or word, line[:1000], "", wait)
    return Told()
