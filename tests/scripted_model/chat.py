"""OpenAI chat completions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.scripted_model.dialect import TOKENS_IN, TOKENS_OUT, ModelAnswer, data, tool_list
from tests.scripted_model.tools import Tool

_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded", 404: "model_not_found"}
_WORDS = {
    401: "Incorrect API key provided: sk-x.",
    429: "Rate limit reached for requests",
    529: "Overloaded",
}
_USAGE = {
    "prompt_tokens": TOKENS_IN,
    "completion_tokens": TOKENS_OUT,
    "total_tokens": TOKENS_IN + TOKENS_OUT,
}


class Chat:
    def tools(self, body: Mapping[str, Any]) -> list[Tool]:
        declared = (tool.get("function") or {} for tool in tool_list(body.get("tools")))
        return [Tool(held.get("name", ""), held.get("parameters") or {}) for held in declared]

    def streams(self, body: Mapping[str, Any], path: str) -> bool:
        return body.get("stream") is True

    def whole(self, said: ModelAnswer, body: Mapping[str, Any]) -> Mapping[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
        if said.calls:
            message["tool_calls"] = _calls(said)
        choice = {"index": 0, "message": message, "finish_reason": _reason(said)}
        return {**_frame(said, body, "chat.completion"), "choices": [choice], "usage": _USAGE}

    def stream(self, said: ModelAnswer, body: Mapping[str, Any]) -> list[str]:
        frame = _frame(said, body, "chat.completion.chunk")
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        if said.text:
            deltas.append({"content": said.text})
        deltas += [{"tool_calls": [{"index": n, **call}]} for n, call in enumerate(_calls(said))]
        choices: list[dict[str, Any]] = [
            {"index": 0, "delta": delta, "finish_reason": None} for delta in deltas
        ]
        choices.append({"index": 0, "delta": {}, "finish_reason": _reason(said)})
        told = [data({**frame, "choices": [choice]}) for choice in choices]
        return [*told, data({**frame, "choices": [], "usage": _USAGE}), "data: [DONE]"]

    def error(self, status: int, message: str) -> Mapping[str, Any]:
        kind = "invalid_request_error" if status in {400, 401, 404} else "server_error"
        words = message or _WORDS.get(status, "The server had an error")
        return {"error": {"message": words, "type": kind, "code": _CODES.get(status)}}


def _frame(said: ModelAnswer, body: Mapping[str, Any], kind: str) -> dict[str, Any]:
    model = body.get("model", "")
    return {"id": f"chatcmpl-{said.id}", "object": kind, "created": 1, "model": model}


def _calls(said: ModelAnswer) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_{said.id}_{n}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(values)},
        }
        for n, (name, values) in enumerate(said.calls)
    ]


def _reason(said: ModelAnswer) -> str:
    return "tool_calls" if said.calls else "stop"
