"""What the model does next: speaks, calls tools, or fails in one of the ways services fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Call:
    """A wish in neutral words: `shell` with a command, or `write` with a path and its content.

    It becomes a call of whatever tool the agent declared for that.
    """

    act: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Turn:
    """One good answer."""

    text: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """An HTTP error instead of an answer; without a message, the one its service is known for."""

    status: int
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cut:
    """The answer begins, and the connection breaks."""


@dataclass(frozen=True, slots=True)
class Hang:
    """No byte comes until the server is closed."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """The answer is no JSON."""


Step = Turn | Fault | Cut | Hang | Malformed


def say(text: str) -> Turn:
    return Turn(text)


def shell(command: str, text: str = "") -> Turn:
    return Turn(text, (Call("shell", {"command": command}),))


def write(path: str, content: str, text: str = "") -> Turn:
    return Turn(text, (Call("write", {"path": path, "content": content}),))
