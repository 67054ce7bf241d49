"""Anthropic messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.scripted_model.dialect import TOKENS_IN, TOKENS_OUT, ModelAnswer, event, tool_list
from tests.scripted_model.tools import Tool

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Anthropic:
    def tools(self, body: Mapping[str, Any]) -> list[Tool]:
        declared = tool_list(body.get("tools"))
        return [Tool(t.get("name", ""), t.get("input_schema") or {}) for t in declared]

    def streams(self, body: Mapping[str, Any], path: str) -> bool:
        return body.get("stream") is True

    def whole(self, said: ModelAnswer, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return {
            "id": f"msg_{said.id}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", ""),
            "content": _blocks(said),
            "stop_reason": "tool_use" if said.calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT},
        }

    def stream(self, said: ModelAnswer, body: Mapping[str, Any]) -> list[str]:
        message = {**self.whole(said, body), "content": [], "stop_reason": None}
        told = [event({"type": "message_start", "message": message})]
        for index, block in enumerate(_blocks(said)):
            told += _block_events(index, block)
        stop = {"stop_reason": "tool_use" if said.calls else "end_turn", "stop_sequence": None}
        usage = {"output_tokens": TOKENS_OUT}
        told.append(event({"type": "message_delta", "delta": stop, "usage": usage}))
        return [*told, event({"type": "message_stop"})]

    def error(self, status: int, message: str) -> Mapping[str, Any]:
        kind = _TYPES.get(status, "api_error")
        words = message or {401: "invalid x-api-key", 529: "Overloaded"}.get(status, kind)
        return {"type": "error", "error": {"type": kind, "message": words}}


def _blocks(said: ModelAnswer) -> list[dict[str, Any]]:
    text = [{"type": "text", "text": said.text}] if said.text else []
    calls = [
        {"type": "tool_use", "id": f"toolu_{said.id}_{n}", "name": name, "input": dict(values)}
        for n, (name, values) in enumerate(said.calls)
    ]
    return [*text, *calls]


def _block_events(index: int, block: Mapping[str, Any]) -> list[str]:
    if block["type"] == "text":
        empty: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return [
        event({"type": "content_block_start", "index": index, "content_block": empty}),
        event({"type": "content_block_delta", "index": index, "delta": delta}),
        event({"type": "content_block_stop", "index": index}),
    ]
