"""The steps of a scripted model: an answer, tool calls, or a failure of the service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """A neutral tool call: `shell` with a command, `write` with a path and its content, or `use`
    with the name of a tool and its arguments.

    It becomes a call of the tool that the agent declared for it.
    """

    act: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Turn:
    """One successful answer."""

    text: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """An HTTP error; without a message, the usual one of the service.

    `fields` are further ones of its error object.
    """

    status: int
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection breaks during the answer."""


@dataclass(frozen=True, slots=True)
class Hang:
    """No byte is sent until the server closes."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """The answer is not JSON."""


Step = Turn | Fault | Cut | Hang | Malformed


def say(text: str) -> Turn:
    return Turn(text)


def shell(command: str, text: str = "") -> Turn:
    return Turn(text, (Call("shell", {"command": command}),))


def write(path: str, content: str, text: str = "") -> Turn:
    return Turn(text, (Call("write", {"path": path, "content": content}),))


def use(tool: str, **values: str) -> Turn:
    """A call of the tool with this name, or of one with this name on yaoki's MCP server."""
    return Turn("", (Call("use", {"tool": tool, **values}),))
