"""Events of our own client of the Agent Client Protocol."""

from __future__ import annotations

from collections.abc import Mapping

from yaoki.views.agent_output.pieces import (
    Data,
    Form,
    clip_words,
    glance,
    note,
    part_at,
    text_at,
    tool_call,
    tool_output,
)


def _update(event: Data) -> list[str] | None:
    update = part_at(event, "update")
    match text_at(update, "sessionUpdate"):
        case "agent_message_chunk":
            return [clip_words(text_at(update, "content", "text"))]
        case "tool_call":
            return [_tool_call(update)]
        case "tool_call_update":
            return _tool_update(update)
        case "":
            return None
        case _:
            return []


def _tool_call(update: Data) -> str:
    """The title says most, unless it is only the name of the tool."""
    title, given = text_at(update, "title"), part_at(update, "rawInput")
    return tool_call(title or text_at(update, "kind"), "" if " " in title else given)


def _tool_update(update: Data) -> list[str]:
    status = text_at(update, "status")
    if status not in {"completed", "failed"}:
        return []
    blocks = part_at(update, "content")
    texts = [text_at(one, "content", "text") for one in blocks] if isinstance(blocks, list) else []
    paths = [text_at(one, "path") for one in blocks] if isinstance(blocks, list) else []
    output = " ".join(filter(None, (*texts, *paths))) or part_at(update, "rawOutput")
    return [tool_output(output, failed=status == "failed")]


def _permission(event: Data) -> list[str]:
    answer = "allowed:" if event.get("allowed") is True else "denied:"
    target = text_at(event, "target") or text_at(event, "title")
    why = f"({text_at(event, 'why')})" if text_at(event, "why") else ""
    return [note(answer, text_at(event, "kind"), why, glance(target))]


def _end(event: Data) -> list[str]:
    cost = event.get("cost_usd")
    money = f"conversation so far: ${cost:.4f}" if isinstance(cost, float) else ""
    reason = "cut off" if event.get("cut") else text_at(event, "stop_reason")
    error = part_at(event, "error") or next(iter(part_at(event, "faults") or ()), None)
    words = text_at(error, "message") or glance(error)
    lines = [note("ended:", reason or "error", money)]
    return [*lines, clip_words(words)] if words else lines


FORMS: Mapping[str, Form] = {
    "acp.start": lambda event: [
        note("agent", text_at(event, "agent", "name"), text_at(event, "agent", "version"))
    ],
    "acp.session": lambda event: [note("session", text_at(event, "session_id"))],
    "acp.update": _update,
    "acp.permission": _permission,
    "acp.refused": lambda event: [note("refused:", text_at(event, "path"), text_at(event, "why"))],
    "acp.noise": lambda event: [clip_words(text_at(event, "text"))],
    "acp.end": _end,
}
