"""What happened, as JSON lines: `acp.start`, `.session`, `.update`, `.permission`, `.refused`,
`.noise`, the agent's last `message` as a whole, and `acp.end`.  Each line is bounded; words that
come in pieces are put together.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from yaoki.adapters.agents.structured.summary import text_at

TEXT_CHARS_MAX = 4000
MESSAGE_CHARS_MAX = 200_000
ITEMS_MAX = 100
DEPTH_MAX = 12
CHUNKS = ("agent_message_chunk", "agent_thought_chunk")


class AcpEventLog:
    """Writes to one descriptor, a line at a time."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._kind, self._words = "", ""

    def write_event(self, kind: str, /, **held: Any) -> None:
        self.flush()
        self._put({"type": f"acp.{kind}", **held})

    def write_update(self, update: Mapping[str, Any]) -> None:
        """One update of the session.  Pieces of a message are told by lines."""
        kind, words = text_at(update, "sessionUpdate"), text_at(update, "content", "text")
        if kind not in CHUNKS or not words:
            self.write_event("update", update=update)
            return
        if kind != self._kind:
            self.flush()
        self._kind, self._words = kind, self._words + words
        if "\n" in words or len(self._words) > TEXT_CHARS_MAX // 2:
            self.flush()

    def write_message(self, words: str) -> None:
        """What the agent said last, in the form in which answers are looked for."""
        self.flush()
        content = words[-MESSAGE_CHARS_MAX:]
        self._put({"type": "message", "role": "assistant", "content": content}, whole=True)

    def flush(self) -> None:
        if self._words:
            content = {"type": "text", "text": self._words}
            self._put({"type": "acp.update", "update": _chunk(self._kind, content)})
        self._kind, self._words = "", ""

    def _put(self, event: Mapping[str, Any], *, whole: bool = False) -> None:
        data = json.dumps(event if whole else bound_value(event)).encode("ascii") + b"\n"
        while data:
            data = data[os.write(self._descriptor, data) :]


def _chunk(kind: str, content: Mapping[str, str]) -> dict[str, Any]:
    return {"sessionUpdate": kind, "content": content}


def bound_value(value: Any, depth: int = 0) -> Any:
    """The same value with long texts and lists cut; what is nested too deep is left out."""
    if isinstance(value, str):
        cut = len(value) - TEXT_CHARS_MAX
        return value if cut <= 0 else f"{value[:TEXT_CHARS_MAX]}[{cut} more characters]"
    if depth >= DEPTH_MAX:
        return None
    if isinstance(value, Mapping):
        held = list(value.items())[:ITEMS_MAX]
        return {str(key)[:200]: bound_value(one, depth + 1) for key, one in held}
    if isinstance(value, list | tuple):
        return [bound_value(one, depth + 1) for one in value[:ITEMS_MAX]]
    return value
