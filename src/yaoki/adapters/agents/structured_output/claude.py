"""Claude Code and Qwen Code, which print two generations of the same events."""

from __future__ import annotations

from datetime import timedelta

from yaoki.adapters.agents.limits import classify_error_text, classify_http_status
from yaoki.adapters.agents.reset_times import find_wait, remaining_until_epoch
from yaoki.adapters.agents.structured_output.summary import (
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

_LIMIT_BY_END = {
    "error_max_turns": AgentLimit.TURNS,
    "error_max_budget_usd": AgentLimit.TURNS,
    "error_during_execution": AgentLimit.UNFINISHED,
    "prompt_too_long": AgentLimit.CONTEXT,
    "stop_hook_prevented": AgentLimit.UNFINISHED,
    "aborted_tools": AgentLimit.UNFINISHED,
    "aborted_streaming": AgentLimit.UNFINISHED,
}
_LIMIT_BY_ERROR = {
    "rate_limit": AgentLimit.RATE,
    "usage_limit_reached": AgentLimit.RATE,
    "overloaded": AgentLimit.OVERLOADED,
    "server_error": AgentLimit.OVERLOADED,
    "authentication_failed": AgentLimit.AUTH,
    "billing_error": AgentLimit.MONEY,
    "invalid_request": AgentLimit.REQUEST,
}
# The exit code of Qwen when its turns are used up; it prints no final event then.
QWEN_TURNS = 53
# Claude Code itself waits at most about forty seconds between two tries.
OWN_DELAY_MAX = timedelta(minutes=1)


def read(output: AgentOutput) -> OutputSummary:
    session = first_text(output.events, "session_id")
    final = last_event(output.events, "result")
    if not final:
        return _summarize_without_end(output, session)
    message = _final_message(final)
    limit = _classify(final, output, message)
    return OutputSummary(
        limit,
        _denied_request(final) if limit == AgentLimit.DENIED else message if limit else "",
        session,
        _retry_after(output, message) if limit.is_temporary else None,
        claims_success=not limit,
    )


def _summarize_without_end(output: AgentOutput, session: str) -> OutputSummary:
    """Summarize an output without a final event: the retry notice, if it is the last event, names
    the cause.
    """
    if output.exit_code == QWEN_TURNS:
        return OutputSummary(AgentLimit.TURNS, "its turns are used up", session)
    notice = output.events[-1] if output.events else {}
    limit, _ = read_retry_notice(notice)
    if not limit:
        return OutputSummary(AgentLimit.UNFINISHED, "its output has no final event", session)
    message = (
        f"it was waiting: {text_at(notice, 'error')} {http_status_at(notice, 'error_status') or ''}"
    )
    return OutputSummary(limit, message.strip(), session, _announced_delay(notice))


def _classify(final: AgentEvent, output: AgentOutput, message: str) -> AgentLimit:
    ended = _LIMIT_BY_END.get(text_at(final, "subtype")) or _LIMIT_BY_END.get(
        text_at(final, "terminal_reason")
    )
    if ended:
        # Qwen reports this for every failure, with the cause in the text.
        return classify_error_text(text_at(final, "error", "message")) or ended
    code = http_status_at(final, "api_error_status")
    if value_at(final, "is_error") is not True:
        return _classify_success(final)
    named = text_at(final, "api_error") or text_at(last_event(output.events, "assistant"), "error")
    if code is None:
        return _LIMIT_BY_ERROR.get(named) or classify_error_text(message) or AgentLimit.UNKNOWN
    return classify_http_status(code, message)


def _classify_success(final: AgentEvent) -> AgentLimit:
    if value_at(final, "permission_denials"):
        return AgentLimit.DENIED
    if text_at(final, "stop_reason") == "refusal":
        return AgentLimit.REFUSAL
    return AgentLimit.NONE if text_at(final, "result").strip() else AgentLimit.UNFINISHED


def _final_message(final: AgentEvent) -> str:
    parts = (
        text_at(final, "error", "message"),
        *texts_at(final, "errors"),
        text_at(final, "result"),
    )
    return next((text.strip() for text in parts if text.strip()), "")


def _denied_request(final: AgentEvent) -> str:
    """The question or action that the agent was denied."""
    denials = value_at(final, "permission_denials")
    denial = denials[-1] if isinstance(denials, list) and denials else {}
    questions = value_at(denial, "tool_input", "questions")
    if (
        isinstance(questions, list)
        and questions
        and (question := text_at(questions[0], "question"))
    ):
        return question
    target = text_at(denial, "tool_input", "command") or text_at(denial, "tool_input", "file_path")
    return f"the agent was not allowed to use {text_at(denial, 'tool_name') or 'a tool'}: {target}"


def _retry_after(output: AgentOutput, message: str) -> timedelta | None:
    """The epoch of the last refusal, otherwise the wait that the text names."""
    event = last_event(output.events, "rate_limit_event")
    epoch = number_at(event, "rate_limit_info", "resetsAt")
    wait = remaining_until_epoch(epoch, output.now) if epoch is not None else None
    return wait or find_wait(message, output.now)


def read_retry_notice(event: AgentEvent) -> tuple[AgentLimit, timedelta | None]:
    """The limit and the delay of a retry notice; `NONE` if the event is no notice.

    If its preset lets it wait for its service, it counts beyond its own maximum.
    """
    if event.get("type") != "system" or event.get("subtype") != "api_retry":
        return AgentLimit.NONE, None
    code = http_status_at(event, "error_status")
    limit = (
        classify_http_status(code)
        if code
        else _LIMIT_BY_ERROR.get(text_at(event, "error"), AgentLimit.OVERLOADED)
    )
    tries, most = number_at(event, "attempt") or 0, number_at(event, "max_retries")
    over = most is not None and tries > most
    return limit, timedelta.max if over else milliseconds_at(event, "retry_delay_ms")


def _announced_delay(notice: AgentEvent) -> timedelta | None:
    """The wait for which the service asked; None for a delay that the agent chose itself.

    A delay of its own has a random part and never comes to a minute; the time until a reset, which
    it computes from a header, may have any fraction.
    """
    delay = milliseconds_at(notice, "retry_delay_ms")
    if not delay:
        return None
    return delay if delay > OWN_DELAY_MAX or not delay.microseconds else None
