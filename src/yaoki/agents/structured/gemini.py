"""Gemini CLI.  Its exit code is the HTTP status modulo 256, so it is no signal's number."""

from __future__ import annotations

from yaoki.agents.limits import word_in
from yaoki.agents.resets import wait_in
from yaoki.agents.structured.told import Scene, Told, first_text, last, text

# 400, 401, 403, 429, 500, 502 and 503 modulo 256; the small ones are its own.
_CODES = {
    144: "request",
    145: "auth",
    147: "auth",
    173: "rate",
    244: "overloaded",
    246: "overloaded",
    247: "overloaded",
    41: "auth",
    42: "request",
    53: "turns",
    55: "forbidden",
}


def read(scene: Scene) -> Told:
    session = first_text(scene.events, "session_id")
    final = last(scene.events, "result")
    message = text(final, "error", "message") or text(last(scene.events, "error"), "message")
    if final.get("status") == "success" and scene.code not in _CODES:
        return Told(session=session, finished=True)
    if not scene.events and scene.code not in _CODES:
        return Told()
    word = _word(message, scene.code, failed=bool(final))
    wait = wait_in(message, scene.now) if word in {"rate", "overloaded"} else None
    return Told(word, message or f"exit code {scene.code}" if word else "", session, wait)


def _word(message: str, code: int | None, *, failed: bool) -> str:
    told = word_in(message)
    if told in {"context", "session", "money"}:
        return told
    if known := _CODES.get(code or 0):
        return known
    # Ended well by its code but badly by its own word: an answer that was empty or cut off.
    return told or ("unfinished" if code == 0 or not failed else "unknown")
