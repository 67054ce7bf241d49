"""Claude Code and Qwen Code: one event vocabulary, two generations of it."""

from __future__ import annotations

from datetime import timedelta

from yaoki.adapters.agents.limits import classify_error_text, classify_http_status
from yaoki.adapters.agents.reset_times import find_wait, remaining_until_epoch
from yaoki.adapters.agents.structured.summary import (
    AgentEvent,
    AgentOutput,
    OutputSummary,
    first_text,
    http_status_at,
    last_event,
    milliseconds_at,
    number_at,
    text_at,
    texts_at,
    value_at,
)
from yaoki.core.model import AgentLimit

_ENDS = {
    "error_max_turns": AgentLimit.TURNS,
    "error_max_budget_usd": AgentLimit.TURNS,
    "error_during_execution": AgentLimit.UNFINISHED,
    "prompt_too_long": AgentLimit.CONTEXT,
    "stop_hook_prevented": AgentLimit.UNFINISHED,
    "aborted_tools": AgentLimit.UNFINISHED,
    "aborted_streaming": AgentLimit.UNFINISHED,
}
_ERRORS = {
    "rate_limit": AgentLimit.RATE,
    "usage_limit_reached": AgentLimit.RATE,
    "overloaded": AgentLimit.OVERLOADED,
    "server_error": AgentLimit.OVERLOADED,
    "authentication_failed": AgentLimit.AUTH,
    "billing_error": AgentLimit.MONEY,
    "invalid_request": AgentLimit.REQUEST,
}
# Qwen leaves no final event when its turns are used up.
QWEN_TURNS = 53


def read(scene: AgentOutput) -> OutputSummary:
    session = first_text(scene.events, "session_id")
    final = last_event(scene.events, "result")
    if not final:
        return _cut_off(scene, session)
    message = _message(final)
    word = _word(final, scene, message)
    return OutputSummary(
        word,
        _denied(final) if word == AgentLimit.DENIED else message if word else "",
        session,
        _reset(scene, message) if word.is_temporary else None,
        claims_success=not word,
    )


def _cut_off(scene: AgentOutput, session: str) -> OutputSummary:
    """Ended, or was ended by us, before the last word: what it was waiting for says why."""
    if scene.exit_code == QWEN_TURNS:
        return OutputSummary(AgentLimit.TURNS, "its turns are used up", session)
    notice = scene.events[-1] if scene.events else {}
    word, _ = read_retry_notice(notice)
    if not word:
        return OutputSummary(AgentLimit.UNFINISHED, "its output has no final event", session)
    said = (
        f"it was waiting: {text_at(notice, 'error')} {http_status_at(notice, 'error_status') or ''}"
    )
    return OutputSummary(word, said.strip(), session, _asked_for(notice))


def _word(final: AgentEvent, scene: AgentOutput, message: str) -> AgentLimit:
    ended = _ENDS.get(text_at(final, "subtype")) or _ENDS.get(text_at(final, "terminal_reason"))
    if ended:
        # Qwen says so of every failure, and the cause in words.
        return classify_error_text(text_at(final, "error", "message")) or ended
    code = http_status_at(final, "api_error_status")
    if value_at(final, "is_error") is not True:
        return _good_end(final)
    named = text_at(final, "api_error") or text_at(last_event(scene.events, "assistant"), "error")
    if code is None:
        return _ERRORS.get(named) or classify_error_text(message) or AgentLimit.UNKNOWN
    return classify_http_status(code, message)


def _good_end(final: AgentEvent) -> AgentLimit:
    if value_at(final, "permission_denials"):
        return AgentLimit.DENIED
    return AgentLimit.NONE if text_at(final, "result").strip() else AgentLimit.UNFINISHED


def _message(final: AgentEvent) -> str:
    parts = (
        text_at(final, "error", "message"),
        *texts_at(final, "errors"),
        text_at(final, "result"),
    )
    return next((words.strip() for words in parts if words.strip()), "")


def _denied(final: AgentEvent) -> str:
    """What the agent wanted to ask or do and could not."""
    denials = value_at(final, "permission_denials")
    denial = denials[-1] if isinstance(denials, list) and denials else {}
    questions = value_at(denial, "tool_input", "questions")
    if isinstance(questions, list) and questions and (asked := text_at(questions[0], "question")):
        return asked
    wanted = text_at(denial, "tool_input", "command") or text_at(denial, "tool_input", "file_path")
    return f"the agent was not allowed to use {text_at(denial, 'tool_name') or 'a tool'}: {wanted}"


def _reset(scene: AgentOutput, message: str) -> timedelta | None:
    """The epoch of the last refusal, else what the text says, else the last announced delay."""
    told = last_event(scene.events, "rate_limit_event")
    epoch = number_at(told, "rate_limit_info", "resetsAt")
    wait = remaining_until_epoch(epoch, scene.now) if epoch is not None else None
    return wait or find_wait(message, scene.now)


def read_retry_notice(event: AgentEvent) -> tuple[AgentLimit, timedelta | None]:
    """The word and the delay of a retry notice; no word when the event is none.

    Where it is told to wait for its service (see its preset) it counts past its own bound.
    """
    if event.get("type") != "system" or event.get("subtype") != "api_retry":
        return AgentLimit.NONE, None
    code = http_status_at(event, "error_status")
    word = (
        classify_http_status(code)
        if code
        else _ERRORS.get(text_at(event, "error"), AgentLimit.OVERLOADED)
    )
    tries, most = number_at(event, "attempt") or 0, number_at(event, "max_retries")
    over = most is not None and tries > most
    return word, timedelta.max if over else milliseconds_at(event, "retry_delay_ms")


def _asked_for(notice: AgentEvent) -> timedelta | None:
    """The service names whole seconds; a delay of the agent's own making has a random part."""
    delay = milliseconds_at(notice, "retry_delay_ms")
    return delay if delay and not delay.microseconds else None
