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


def has_model_activity(reader: str, events: Iterable[AgentEvent]) -> bool:
    """True for an agent whose events do not show it."""
    is_activity = _IS_ACTIVITY.get(reader)
    return is_activity is None or any(map(is_activity, _without_report(events)))


def _without_report(events: Iterable[AgentEvent]) -> list[AgentEvent]:
    """Without the words in which an ACP adapter reports a failed turn as if the model said them.

    Only a turn without any usage counts as failed before the model answered.
    """
    held = list(events)
    final = last_event(held, "acp.end")
    faults = value_at(final, "faults")
    failed = isinstance(faults, list) and any(
        text_at(fault, "type") == "systemError" for fault in faults
    )
    if not failed or value_at(final, "result", "usage"):
        return held
    words = "agent_message_chunk"
    return [event for event in held if text_at(event, "update", "sessionUpdate") != words]


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
