"""opencode: `opencode run --format json`; its errors are not followed by a final event."""

from __future__ import annotations

from datetime import datetime, timedelta

from yaoki.adapters.agents.limits import word_in, word_of
from yaoki.adapters.agents.reset_times import wait_in
from yaoki.adapters.agents.structured.summary import (
    Event,
    Scene,
    Told,
    first_text,
    part,
    status,
    text,
)

_NAMES = {
    "ContextOverflowError": "context",
    "MessageOutputLengthError": "turns",
    "MessageAbortedError": "unfinished",
    "ProviderAuthError": "auth",
    "ProviderModelNotFoundError": "notfound",
}


def read(scene: Scene) -> Told:
    session = first_text(scene.events, "sessionID")
    for event in reversed(scene.events):
        if event.get("type") == "error":
            return _failed(event, session, scene.now)
        if event.get("type") == "step_finish":
            return _stepped(event, scene, session)
    return Told("unfinished", "its output has no final event", session)


def _failed(event: Event, session: str, now: datetime) -> Told:
    error = part(event, "error")
    code, message = status(error, "data", "statusCode"), text(error, "data", "message")
    name = text(error, "name")
    word = _NAMES.get(name) or (word_of(code, message) if code else word_in(message))
    if not word:
        word = "overloaded" if part(error, "data", "isRetryable") is True else "unknown"
    wait = _wait(error, message, now) if word in {"rate", "overloaded"} else None
    return Told(word, f"{name}: {message}".strip(" :"), session, wait)


def _wait(error: object, message: str, now: datetime) -> timedelta | None:
    asked = text(error, "data", "responseHeaders", "retry-after")
    return wait_in(f"retry-after: {asked}", now) or wait_in(message, now)


def _stepped(event: Event, scene: Scene, session: str) -> Told:
    reason = text(event, "part", "reason")
    if reason == "length":
        return Told("turns", "its answer was cut off by length", session)
    spoke = any(e.get("type") == "text" and text(e, "part", "text").strip() for e in scene.events)
    if reason == "stop" and spoke:
        return Told(session=session, finished=True)
    return Told("unfinished", f"its last step ended with {reason or 'nothing'}", session)
