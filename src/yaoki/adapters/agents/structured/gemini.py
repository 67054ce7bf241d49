"""Gemini CLI.  Its exit code is the HTTP status modulo 256, so it is no signal's number."""

from __future__ import annotations

from yaoki.adapters.agents.limits import word_in
from yaoki.adapters.agents.reset_times import wait_in
from yaoki.adapters.agents.structured.summary import Scene, Told, first_text, last, text


def read(scene: Scene) -> Told:
    session = first_text(scene.events, "session_id")
    final = last(scene.events, "result")
    message = text(final, "error", "message") or text(last(scene.events, "error"), "message")
    if final.get("status") == "success" and scene.code not in scene.codes:
        return Told(session=session, finished=True)
    if not scene.events and scene.code not in scene.codes:
        return Told()
    word = _word(message, scene, failed=bool(final))
    wait = wait_in(message, scene.now) if word in {"rate", "overloaded"} else None
    return Told(word, message or f"exit code {scene.code}" if word else "", session, wait)


def _word(message: str, scene: Scene, *, failed: bool) -> str:
    told = word_in(message)
    if told in {"context", "session", "money"}:
        return told
    if known := scene.codes.get(scene.code or 0):
        return known
    # Ended well by its code but badly by its own word: an answer that was empty or cut off.
    return told or ("unfinished" if scene.code == 0 or not failed else "unknown")
