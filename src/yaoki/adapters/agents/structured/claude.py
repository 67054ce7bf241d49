"""Claude Code and Qwen Code: one event vocabulary, two generations of it."""

from __future__ import annotations

from datetime import timedelta

from yaoki.adapters.agents.limits import word_in, word_of
from yaoki.adapters.agents.reset_times import until_epoch, wait_in
from yaoki.adapters.agents.structured.summary import (
    Event,
    Scene,
    Told,
    first_text,
    last,
    millis,
    number,
    part,
    status,
    text,
    texts,
)

_ENDS = {
    "error_max_turns": "turns",
    "error_max_budget_usd": "turns",
    "error_during_execution": "unfinished",
    "prompt_too_long": "context",
    "stop_hook_prevented": "unfinished",
    "aborted_tools": "unfinished",
    "aborted_streaming": "unfinished",
}
_ERRORS = {
    "rate_limit": "rate",
    "usage_limit_reached": "rate",
    "overloaded": "overloaded",
    "server_error": "overloaded",
    "authentication_failed": "auth",
    "billing_error": "money",
    "invalid_request": "request",
}
# Qwen leaves no final event when its turns are used up.
QWEN_TURNS = 53


def read(scene: Scene) -> Told:
    session = first_text(scene.events, "session_id")
    final = last(scene.events, "result")
    if not final:
        return _cut_off(scene, session)
    message = _message(final)
    word = _word(final, scene, message)
    return Told(
        word,
        _denied(final) if word == "denied" else message if word else "",
        session,
        _reset(scene, message) if word in {"rate", "overloaded"} else None,
        finished=not word,
    )


def _cut_off(scene: Scene, session: str) -> Told:
    """Ended, or was ended by us, before the last word: what it was waiting for says why."""
    if scene.code == QWEN_TURNS:
        return Told("turns", "its turns are used up", session)
    notice = scene.events[-1] if scene.events else {}
    word, _ = waits(notice)
    if not word:
        return Told("unfinished", "its output has no final event", session)
    said = f"it was waiting: {text(notice, 'error')} {status(notice, 'error_status') or ''}"
    return Told(word, said.strip(), session, _asked_for(notice))


def _word(final: Event, scene: Scene, message: str) -> str:
    ended = _ENDS.get(text(final, "subtype")) or _ENDS.get(text(final, "terminal_reason"))
    if ended:
        # Qwen says so of every failure, and the cause in words.
        return word_in(text(final, "error", "message")) or ended
    code = status(final, "api_error_status")
    if part(final, "is_error") is not True:
        return _good_end(final)
    named = text(final, "api_error") or text(last(scene.events, "assistant"), "error")
    if code is None:
        return _ERRORS.get(named) or word_in(message) or "unknown"
    return word_of(code, message)


def _good_end(final: Event) -> str:
    if part(final, "permission_denials"):
        return "denied"
    return "" if text(final, "result").strip() else "unfinished"


def _message(final: Event) -> str:
    parts = (text(final, "error", "message"), *texts(final, "errors"), text(final, "result"))
    return next((words.strip() for words in parts if words.strip()), "")


def _denied(final: Event) -> str:
    """What the agent wanted to ask or do and could not."""
    denials = part(final, "permission_denials")
    denial = denials[-1] if isinstance(denials, list) and denials else {}
    questions = part(denial, "tool_input", "questions")
    if isinstance(questions, list) and questions and (asked := text(questions[0], "question")):
        return asked
    wanted = text(denial, "tool_input", "command") or text(denial, "tool_input", "file_path")
    return f"the agent was not allowed to use {text(denial, 'tool_name') or 'a tool'}: {wanted}"


def _reset(scene: Scene, message: str) -> timedelta | None:
    """The epoch of the last refusal, else what the text says, else the last announced delay."""
    told = last(scene.events, "rate_limit_event")
    epoch = number(told, "rate_limit_info", "resetsAt")
    wait = until_epoch(epoch, scene.now) if epoch is not None else None
    return wait or wait_in(message, scene.now)


def waits(event: Event) -> tuple[str, timedelta | None]:
    """The word and the delay of a retry notice; no word when the event is none.

    Where it is told to wait for its service (see its preset) it counts past its own bound.
    """
    if event.get("type") != "system" or event.get("subtype") != "api_retry":
        return "", None
    code = status(event, "error_status")
    word = word_of(code) if code else _ERRORS.get(text(event, "error"), "overloaded")
    tries, most = number(event, "attempt") or 0, number(event, "max_retries")
    over = most is not None and tries > most
    return word, timedelta.max if over else millis(event, "retry_delay_ms")


def _asked_for(notice: Event) -> timedelta | None:
    """The service names whole seconds; a delay of the agent's own making has a random part."""
    delay = millis(notice, "retry_delay_ms")
    return delay if delay and not delay.microseconds else None
