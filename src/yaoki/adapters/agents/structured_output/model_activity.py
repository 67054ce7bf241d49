"""Detects whether the model said or did anything in this run.

Before that there is no conversation: some agents save none and then refuse to resume it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from yaoki.adapters.agents.structured_output.summary import (
    AgentEvent,
    last_event,
    text_at,
    value_at,
)

# Claude Code reports an error of the service as an answer of this model.
SYNTHETIC = "<synthetic>"
_OPENCODE = frozenset({"text", "tool_use", "reasoning", "step_finish"})
_ACP = frozenset({"agent_message_chunk", "agent_thought_chunk", "tool_call", "plan"})


def has_model_activity(reader: str, events: Iterable[AgentEvent]) -> bool | None:
    """None for an agent whose events do not show it."""
    is_activity = _IS_ACTIVITY.get(reader)
    return any(map(is_activity, _without_report(events))) if is_activity else None


def _without_report(events: Iterable[AgentEvent]) -> list[AgentEvent]:
    """Without the words in which an ACP adapter reports a failed turn as if the model said them.

    Only a turn without any usage counts as failed before the model answered.
    """
    held = list(events)
    final = last_event(held, "acp.end")
    if value_at(final, "result", "usage"):
        return held
    has_faults, error_text = bool(value_at(final, "faults")), text_at(final, "error", "message")
    return [event for event in held if not _is_report(event, error_text, has_faults=has_faults)]


def _is_report(event: AgentEvent, error_text: str, *, has_faults: bool) -> bool:
    if text_at(event, "update", "sessionUpdate") != "agent_message_chunk":
        return False
    words = text_at(event, "update", "content", "text").strip()
    return has_faults or (bool(words) and words in error_text)


def _claude(event: AgentEvent) -> bool:
    return event.get("type") == "assistant" and text_at(event, "message", "model") != SYNTHETIC


def _codex(event: AgentEvent) -> bool:
    return text_at(event, "item", "type") not in {"", "error"}


def _gemini(event: AgentEvent) -> bool:
    return event.get("type") == "tool_use" or event.get("role") == "assistant"


def _opencode(event: AgentEvent) -> bool:
    return event.get("type") in _OPENCODE


def _pi(event: AgentEvent) -> bool:
    """A message that failed before its first word has no content."""
    has_content = text_at(event, "message", "role") == "assistant" and value_at(
        event, "message", "content"
    )
    return event.get("type") == "message_end" and bool(has_content)


def _copilot(event: AgentEvent) -> bool:
    return event.get("type") in {"assistant.message", "tool.execution_start"}


def _acp(event: AgentEvent) -> bool:
    return text_at(event, "update", "sessionUpdate") in _ACP


_IS_ACTIVITY: Mapping[str, Callable[[AgentEvent], bool]] = {
    "acp": _acp,
    "claude": _claude,
    "codex": _codex,
    "copilot": _copilot,
    "gemini": _gemini,
    "opencode": _opencode,
    "pi": _pi,
}
