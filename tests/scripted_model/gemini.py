"""Gemini's generateContent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.scripted_model.dialect import TOKENS_IN, TOKENS_OUT, ModelAnswer, data, tool_list
from tests.scripted_model.tools import Tool

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
}
_USAGE = {
    "promptTokenCount": TOKENS_IN,
    "candidatesTokenCount": TOKENS_OUT,
    "totalTokenCount": TOKENS_IN + TOKENS_OUT,
}


class Gemini:
    def tools(self, body: Mapping[str, Any]) -> list[Tool]:
        groups = tool_list(body.get("tools"))
        declared = [t for group in groups for t in tool_list(group.get("functionDeclarations"))]
        return [Tool(t.get("name", ""), _schema(t)) for t in declared]

    def streams(self, body: Mapping[str, Any], path: str) -> bool:
        return ":streamGenerateContent" in path

    def whole(self, said: ModelAnswer, body: Mapping[str, Any]) -> Mapping[str, Any]:
        calls = [{"functionCall": {"name": n, "args": dict(values)}} for n, values in said.calls]
        parts = [*([{"text": said.text}] if said.text else []), *calls]
        content = {"role": "model", "parts": parts}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        return {"candidates": [candidate], "usageMetadata": _USAGE, "modelVersion": "scripted"}

    def stream(self, said: ModelAnswer, body: Mapping[str, Any]) -> list[str]:
        return [data(self.whole(said, body))]

    def error(self, status: int, message: str) -> Mapping[str, Any]:
        word = _STATUSES.get(status, "UNAVAILABLE")
        words = message or {401: "API key not valid."}.get(status, "The service said no.")
        return {"error": {"code": status, "message": words, "status": word}}


def _schema(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    held = tool.get("parametersJsonSchema") or tool.get("parameters")
    return held if isinstance(held, dict) else {}
