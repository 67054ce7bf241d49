"""Events of Claude Code, Qwen Code, Codex, Gemini CLI, opencode and Vibe, by their type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yaoki.views.agent_output.pieces import (
    Data,
    Form,
    clip_words,
    note,
    part_at,
    silent,
    text_at,
    tool_call,
    tool_output,
)


def _system(event: Data) -> list[str]:
    if event.get("subtype") == "init":
        return [note("session", text_at(event, "session_id"), text_at(event, "model"))]
    return [note(text_at(event, "subtype") or "system", text_at(event, "error"))]


def _message(event: Data) -> list[str] | None:
    """A turn of the agent, or the output of its tools."""
    blocks = part_at(event, "message", "content")
    if isinstance(blocks, str):
        return [clip_words(blocks)]
    return [_block(one) for one in blocks] if isinstance(blocks, list) else None


def _block(block: Any) -> str:
    match text_at(block, "type"):
        case "text":
            return clip_words(text_at(block, "text"))
        case "tool_use":
            return tool_call(text_at(block, "name"), part_at(block, "input"))
        case "tool_result":
            return tool_output(part_at(block, "content"), failed=part_at(block, "is_error") is True)
        case _:
            return ""


def _result(event: Data) -> list[str]:
    how = text_at(event, "subtype") or text_at(event, "status")
    if isinstance(code := event.get("exitCode"), int):
        how = f"exit code {code}"
    cost = event.get("total_cost_usd")
    # After a resume this is the cost of all attempts; `yaoki report` has that of each.
    money = f"conversation so far: ${cost:.4f}" if isinstance(cost, float) else ""
    failed = text_at(event, "error", "message")
    if event.get("is_error") is True:
        failed = failed or text_at(event, "result")
    return [note("ended:", how, money), *([clip_words(failed)] if failed else [])]


def _item(event: Data) -> list[str] | None:
    item = part_at(event, "item")
    match text_at(item, "type"):
        case "agent_message":
            return [clip_words(text_at(item, "text"))]
        case "command_execution":
            code = part_at(item, "exit_code")
            output = tool_output(part_at(item, "aggregated_output"), failed=bool(code))
            return [tool_call("command", part_at(item, "command")), output]
        case "file_change":
            changes = part_at(item, "changes")
            paths = [text_at(one, "path") for one in changes] if isinstance(changes, list) else []
            return [tool_call("change", ", ".join(paths))]
        case "":
            return None
        case other:
            return [note(other, text_at(item, "tool"), text_at(item, "message"))]


def _spoke(event: Data) -> list[str] | None:
    content = event.get("content")
    if isinstance(content, list):
        content = "".join(text_at(one, "text") for one in content)
    if not isinstance(content, str):
        return None
    is_new = event.get("role") == "assistant" and event.get("repeats") is not True
    return [clip_words(content)] if is_new else []


def _effect(event: Data) -> list[str]:
    """A tool of Vibe, once it has ended."""
    state = part_at(event, "state")
    shown = text_at(state, "outputText") or text_at(state, "display", "message")
    failed = part_at(state, "display", "success") is False or text_at(state, "status") == "failed"
    arguments = part_at(event, "detail", "input")
    return [tool_call(text_at(event, "title"), arguments), tool_output(shown, failed=failed)]


def _part_text(event: Data) -> list[str] | None:
    text = part_at(event, "part", "text")
    return [clip_words(text)] if isinstance(text, str) else None


def _tool(event: Data) -> list[str] | None:
    if tool := text_at(event, "tool_name"):
        return [tool_call(tool, part_at(event, "parameters"))]
    state = part_at(event, "part", "state")
    if tool := text_at(event, "part", "tool"):
        return [tool_call(tool, part_at(state, "input")), tool_output(part_at(state, "output"))]
    return None


def _tool_back(event: Data) -> list[str] | None:
    status = text_at(event, "status")
    output = part_at(event, "output") or part_at(event, "error", "message")
    return [tool_output(output, failed=status == "error")] if status else None


def _failed(event: Data) -> list[str] | None:
    words = text_at(event, "message") or text_at(event, "error", "message")
    words = words or text_at(event, "error", "data", "message")
    return [note("error:", words)] if words else None


FORMS: Mapping[str, Form] = {
    "system": _system,
    "assistant": _message,
    "user": _message,
    "result": _result,
    "stream_event": silent,
    "thread.started": lambda event: [note("session", text_at(event, "thread_id"))],
    "turn.started": silent,
    "turn.completed": lambda _: [note("turn ended")],
    "turn.failed": _failed,
    "item.started": silent,
    "item.updated": silent,
    "item.completed": _item,
    "init": lambda event: [note("session", text_at(event, "session_id"), text_at(event, "model"))],
    "message": _spoke,
    "effect": _effect,
    "text": _part_text,
    "tool_use": _tool,
    "tool_result": _tool_back,
    "step_start": silent,
    "step_finish": silent,
    "error": _failed,
}
