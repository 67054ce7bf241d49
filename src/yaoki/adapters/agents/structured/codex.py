"""Codex: `codex exec --json`."""

from __future__ import annotations

import re
from datetime import timedelta

from yaoki.adapters.agents.limits import word_in
from yaoki.adapters.agents.reset_times import wait_in
from yaoki.adapters.agents.structured.summary import Event, Scene, Told, first_text, last, text

_CUT = re.compile(r"incomplete response returned", re.IGNORECASE)
_USAGE = re.compile(r"hit your usage limit", re.IGNORECASE)
_RETRY = re.compile(r"^reconnecting\.\.\.", re.IGNORECASE)


def read(scene: Scene) -> Told:
    session = first_text(scene.events, "thread_id")
    final = last(scene.events, "turn.completed", "turn.failed")
    if final.get("type") == "turn.completed":
        return _completed(scene, session)
    message = text(final, "error", "message") or text(last(scene.events, "error"), "message")
    if not message:
        return Told("unfinished", "its output has no final event", session)
    word = _word(message)
    wait = wait_in(message, scene.now) if word in {"rate", "overloaded"} else None
    return Told(word, message, session, wait)


def _completed(scene: Scene, session: str) -> Told:
    said = any(text(event, "item", "type") == "agent_message" for event in scene.events)
    if said:
        return Told(session=session, finished=True)
    return Told("unfinished", "its turn ended without an answer", session)


def _word(message: str) -> str:
    if _CUT.search(message):
        return "turns"
    return "rate" if _USAGE.search(message) else word_in(message) or "unknown"


def waits(event: Event) -> tuple[str, timedelta | None]:
    message = text(event, "message")
    if event.get("type") != "error" or not _RETRY.match(message):
        return "", None
    return word_in(message) or "overloaded", None
