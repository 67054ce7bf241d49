"""The interface of a wire format: how requests, answers and errors look."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tests.scripted_model.tools import Tool

TOKENS_IN, TOKENS_OUT = 100, 20


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """An answer: text, and tool calls as name and arguments.

    Its `id` is new each time: agents that continue a conversation remember them.
    """

    text: str
    calls: Sequence[tuple[str, Mapping[str, Any]]]
    id: str


class Dialect(Protocol):
    def tools(self, body: Mapping[str, Any]) -> list[Tool]: ...

    def streams(self, body: Mapping[str, Any], path: str) -> bool: ...

    def whole(self, said: ModelAnswer, body: Mapping[str, Any]) -> Mapping[str, Any]: ...

    def stream(self, said: ModelAnswer, body: Mapping[str, Any]) -> list[str]:
        """Server-sent events, each without the empty line that ends it."""

    def error(self, status: int, message: str) -> Mapping[str, Any]: ...


def data(value: object) -> str:
    return f"data: {json.dumps(value)}"


def event(value: Mapping[str, Any]) -> str:
    """An event whose name is its type."""
    return f"event: {value['type']}\n{data(value)}"


def tool_list(held: Any) -> list[Mapping[str, Any]]:
    return [tool for tool in held if isinstance(tool, dict)] if isinstance(held, list) else []
