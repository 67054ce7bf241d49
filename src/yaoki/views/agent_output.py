"""The JSON lines of an agent as text for people: messages, tool calls, the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from yaoki.core.text import one_line

# The length of one message, and of one tool's input or output.
WORDS_CHARS, GLANCE_CHARS = 4000, 160
# The fields of a tool's input that say most, whichever agent sends them.
TELLING_ARGUMENTS = (
    "command",
    "file_path",
    "path",
    "filePath",
    "pattern",
    "query",
    "url",
    "description",
)
Data = Mapping[str, Any]


def format_agent_output(text: str) -> str:
    """The log as text for people.  A line that is no event of a known form is left unchanged."""
    return "".join(f"{words}\n" for line in text.splitlines() for words in _lines(line))


def _lines(line: str) -> Iterator[str]:
    try:
        text = _event_lines(line)
    except (ValueError, RecursionError):
        text = None
    if text is None:
        yield line
        return
    yield from (words for words in text if words)


def _event_lines(line: str) -> list[str] | None:
    event: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
    form = event.get("type")
    read = _FORMS.get(form) if isinstance(form, str) else None
    return read(event) if read else None


# ------------------------------------------------------------------ pieces


def _part(event: Any, *keys: str) -> Any:
    for key in keys:
        event = event.get(key) if isinstance(event, Mapping) else None
    return event


def _text(event: Any, *keys: str) -> str:
    value = _part(event, *keys)
    return value if isinstance(value, str) else ""


def _clip_words(words: str) -> str:
    words = words.strip()
    return words if len(words) <= WORDS_CHARS else f"{words[:WORDS_CHARS]} …"


def _used(tool: str, arguments: Any) -> str:
    return f"> {one_line(tool, 60)} {_glance(arguments)}".rstrip()


def _got(output: Any, *, failed: bool = False) -> str:
    return f"< {'failed: ' if failed else ''}{_glance(output)}".rstrip(" <")


def _glance(value: Any) -> str:
    if isinstance(value, Mapping):
        value = next((value[key] for key in TELLING_ARGUMENTS if value.get(key)), value)
    if isinstance(value, list):
        value = " ".join(_text(one, "text") for one in value) or value
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return one_line(shown, GLANCE_CHARS) if value else ""


def _note(*words: object) -> str:
    return f"[{one_line(' '.join(str(word) for word in words if word), GLANCE_CHARS)}]"


# ------------------------------------------------------------------ by form


def _system(event: Data) -> list[str]:
    if event.get("subtype") == "init":
        return [_note("session", _text(event, "session_id"), _text(event, "model"))]
    return [_note(_text(event, "subtype") or "system", _text(event, "error"))]


def _message(event: Data) -> list[str] | None:
    """A turn of the agent, or the output of its tools."""
    blocks = _part(event, "message", "content")
    if isinstance(blocks, str):
        return [_clip_words(blocks)]
    return [_block(one) for one in blocks] if isinstance(blocks, list) else None


def _block(block: Any) -> str:
    match _text(block, "type"):
        case "text":
            return _clip_words(_text(block, "text"))
        case "tool_use":
            return _used(_text(block, "name"), _part(block, "input"))
        case "tool_result":
            return _got(_part(block, "content"), failed=_part(block, "is_error") is True)
        case _:
            return ""


def _result(event: Data) -> list[str]:
    how = _text(event, "subtype") or _text(event, "status")
    cost = event.get("total_cost_usd")
    # After a resume this is the cost of all attempts; `yaoki report` has that of each.
    money = f"conversation so far: ${cost:.4f}" if isinstance(cost, float) else ""
    failed = _text(event, "error", "message")
    if event.get("is_error") is True:
        failed = failed or _text(event, "result")
    return [_note("ended:", how, money), *([_clip_words(failed)] if failed else [])]


def _item(event: Data) -> list[str] | None:
    item = _part(event, "item")
    match _text(item, "type"):
        case "agent_message":
            return [_clip_words(_text(item, "text"))]
        case "command_execution":
            code = _part(item, "exit_code")
            output = _got(_part(item, "aggregated_output"), failed=bool(code))
            return [_used("command", _part(item, "command")), output]
        case "file_change":
            changes = _part(item, "changes")
            paths = [_text(one, "path") for one in changes] if isinstance(changes, list) else []
            return [_used("change", ", ".join(paths))]
        case "":
            return None
        case other:
            return [_note(other, _text(item, "tool"), _text(item, "message"))]


def _spoke(event: Data) -> list[str] | None:
    content = event.get("content")
    if not isinstance(content, str):
        return None
    is_new = event.get("role") == "assistant" and event.get("repeats") is not True
    return [_clip_words(content)] if is_new else []


def _part_text(event: Data) -> list[str] | None:
    text = _part(event, "part", "text")
    return [_clip_words(text)] if isinstance(text, str) else None


def _tool(event: Data) -> list[str] | None:
    if tool := _text(event, "tool_name"):
        return [_used(tool, _part(event, "parameters"))]
    state = _part(event, "part", "state")
    if tool := _text(event, "part", "tool"):
        return [_used(tool, _part(state, "input")), _got(_part(state, "output"))]
    return None


def _tool_back(event: Data) -> list[str] | None:
    status = _text(event, "status")
    output = _part(event, "output") or _part(event, "error", "message")
    return [_got(output, failed=status == "error")] if status else None


def _failed(event: Data) -> list[str] | None:
    words = _text(event, "message") or _text(event, "error", "message")
    words = words or _text(event, "error", "data", "message")
    return [_note("error:", words)] if words else None


def _silent(_: Data) -> list[str]:
    return []


_FORMS: Mapping[str, Callable[[Data], list[str] | None]] = {
    "system": _system,
    "assistant": _message,
    "user": _message,
    "result": _result,
    "stream_event": _silent,
    "thread.started": lambda event: [_note("session", _text(event, "thread_id"))],
    "turn.started": _silent,
    "turn.completed": lambda _: [_note("turn ended")],
    "turn.failed": _failed,
    "item.started": _silent,
    "item.updated": _silent,
    "item.completed": _item,
    "init": lambda event: [_note("session", _text(event, "session_id"), _text(event, "model"))],
    "message": _spoke,
    "text": _part_text,
    "tool_use": _tool,
    "tool_result": _tool_back,
    "step_start": _silent,
    "step_finish": _silent,
    "error": _failed,
}
