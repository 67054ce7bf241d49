"""Did the model say or do anything in this run?

Until it has, there is no conversation: some agents keep none, and then refuse to go on with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from yaoki.adapters.agents.structured.summary import Event, part, text

# Claude Code tells an error of the service as an answer of this model.
SYNTHETIC = "<synthetic>"
_OPENCODE = frozenset({"text", "tool_use", "reasoning", "step_finish"})
_ACP = frozenset({"agent_message_chunk", "agent_thought_chunk", "tool_call", "plan"})


def answered(reader: str, events: Iterable[Event]) -> bool:
    """Yes as well for an agent whose events do not tell."""
    tells = _TELLS.get(reader)
    return tells is None or any(tells(event) for event in events)


def _claude(event: Event) -> bool:
    return event.get("type") == "assistant" and text(event, "message", "model") != SYNTHETIC


def _codex(event: Event) -> bool:
    return text(event, "item", "type") not in {"", "error"}


def _gemini(event: Event) -> bool:
    return event.get("type") == "tool_use" or event.get("role") == "assistant"


def _opencode(event: Event) -> bool:
    return event.get("type") in _OPENCODE


def _pi(event: Event) -> bool:
    """A message that ended in an error before its first word has no content."""
    said = text(event, "message", "role") == "assistant" and part(event, "message", "content")
    return event.get("type") == "message_end" and bool(said)


def _acp(event: Event) -> bool:
    return text(event, "update", "sessionUpdate") in _ACP


_TELLS: Mapping[str, Callable[[Event], bool]] = {
    "acp": _acp,
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
    "pi": _pi,
}
