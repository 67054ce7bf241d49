"""OpenAI responses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.scripted_model.chat import Chat
from tests.scripted_model.dialect import TOKENS_IN, TOKENS_OUT, ModelAnswer, event, tool_list
from tests.scripted_model.tools import Tool

_USAGE = {
    "input_tokens": TOKENS_IN,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": TOKENS_OUT,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": TOKENS_IN + TOKENS_OUT,
}


class Responses:
    def tools(self, body: Mapping[str, Any]) -> list[Tool]:
        declared = tool_list(body.get("tools"))
        plain = [Tool(t.get("name", ""), t.get("parameters") or {}) for t in declared]
        inside = [
            Tool(f"{space['name']}.{t['name']}", t.get("parameters") or {})
            for space in declared
            if space.get("type") == "namespace"
            for t in tool_list(space.get("tools"))
        ]
        return [*plain, *inside]

    def streams(self, body: Mapping[str, Any], path: str) -> bool:
        return body.get("stream") is True

    def whole(self, said: ModelAnswer, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return {
            "id": f"resp_{said.id}",
            "object": "response",
            "created_at": 1,
            "model": body.get("model", ""),
            "status": "completed",
            "output": _items(said),
            "usage": _USAGE,
        }

    def stream(self, said: ModelAnswer, body: Mapping[str, Any]) -> list[str]:
        done = self.whole(said, body)
        begun = {**done, "status": "in_progress", "output": [], "usage": None}
        told = [event({"type": "response.created", "response": begun})]
        for index, item in enumerate(_items(said)):
            told += _item_events(index, item)
        return [*told, event({"type": "response.completed", "response": done})]

    def error(self, status: int, message: str) -> Mapping[str, Any]:
        return Chat().error(status, message)


def _items(said: ModelAnswer) -> list[dict[str, Any]]:
    spoken = {
        "type": "message",
        "id": f"msg_{said.id}",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": said.text, "annotations": []}],
    }
    calls = [
        {
            "type": "function_call",
            "id": f"fc_{said.id}_{n}",
            "call_id": f"call_{said.id}_{n}",
            **_tool_name(name),
            "arguments": json.dumps(values),
            "status": "completed",
        }
        for n, (name, values) in enumerate(said.calls)
    ]
    return [*([spoken] if said.text else []), *calls]


def _tool_name(name: str) -> dict[str, str]:
    """A tool of a namespace is called by both names."""
    space, dot, inner = name.partition(".")
    return {"name": inner, "namespace": space} if dot else {"name": name}


def _item_events(index: int, item: Mapping[str, Any]) -> list[str]:
    added = {**item, "status": "in_progress"}
    told = [event({"type": "response.output_item.added", "output_index": index, "item": added})]
    if item["type"] == "message":
        delta = {"item_id": item["id"], "output_index": index, "content_index": 0}
        words = item["content"][0]["text"]
        told.append(event({"type": "response.output_text.delta", **delta, "delta": words}))
    done = {"type": "response.output_item.done", "output_index": index, "item": dict(item)}
    return [*told, event(done)]
