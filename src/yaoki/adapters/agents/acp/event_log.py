"""Writes the events of an attempt as JSON lines: `acp.start`, `.session`, `.update`,
`.permission`, `.refused`, `.noise`, the complete last `message` of the agent, and `acp.end`.
Each line is bounded; chunks of a message are joined.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from yaoki.adapters.agents.structured_output.summary import text_at

TEXT_CHARS_MAX = 4000
MESSAGE_CHARS_MAX = 200_000
ITEMS_MAX = 100
DEPTH_MAX = 12
CHUNKS = ("agent_message_chunk", "agent_thought_chunk")


class AcpEventLog:
    """Writes whole lines to one descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._chunk_kind, self._text = "", ""

    def write_event(self, kind: str, /, **fields: Any) -> None:
        self.flush()
        self._write_line({"type": f"acp.{kind}", **fields})

    def write_update(self, update: Mapping[str, Any]) -> None:
        """Writes one update of the session; chunks of a message are collected to lines."""
        kind, text = text_at(update, "sessionUpdate"), text_at(update, "content", "text")
        if kind not in CHUNKS or not text:
            self.write_event("update", update=update)
            return
        if kind != self._chunk_kind:
            self.flush()
        self._chunk_kind, self._text = kind, self._text + text
        lines, newline, rest = self._text.rpartition("\n")
        if newline:
            self._write_chunk(lines + newline)
            self._text = rest
        elif len(self._text) > TEXT_CHARS_MAX // 2:
            self.flush()

    def write_message(self, text: str) -> None:
        """The last message of the agent, in the form in which answers are searched.

        It repeats what the updates before it hold in parts.
        """
        self.flush()
        content = text[-MESSAGE_CHARS_MAX:]
        message = {"type": "message", "role": "assistant", "content": content, "repeats": True}
        self._write_line(message, is_complete=True)

    def flush(self) -> None:
        if self._text:
            self._write_chunk(self._text)
        self._chunk_kind, self._text = "", ""

    def _write_chunk(self, text: str) -> None:
        content = {"type": "text", "text": text}
        self._write_line({"type": "acp.update", "update": _chunk(self._chunk_kind, content)})

    def _write_line(self, event: Mapping[str, Any], *, is_complete: bool = False) -> None:
        data = json.dumps(event if is_complete else bound_value(event)).encode("ascii") + b"\n"
        while data:
            data = data[os.write(self._descriptor, data) :]


def _chunk(kind: str, content: Mapping[str, str]) -> dict[str, Any]:
    return {"sessionUpdate": kind, "content": content}


def bound_value(value: Any, depth: int = 0) -> Any:
    """The value with long texts and lists cut, and None for too deeply nested values."""
    if isinstance(value, str):
        excess = len(value) - TEXT_CHARS_MAX
        return value if excess <= 0 else f"{value[:TEXT_CHARS_MAX]}[{excess} more characters]"
    if depth >= DEPTH_MAX:
        return None
    if isinstance(value, Mapping):
        items = list(value.items())[:ITEMS_MAX]
        return {str(key)[:200]: bound_value(item, depth + 1) for key, item in items}
    if isinstance(value, list | tuple):
        return [bound_value(item, depth + 1) for item in value[:ITEMS_MAX]]
    return value
