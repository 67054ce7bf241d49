"""Who was called, and in which conversation: left by the caller for whoever reads the attempt."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from yaoki.adapters.agents.structured.summary import number, text
from yaoki.adapters.system.files import plain_bytes

NOTE, NOTE_BYTES_MAX = "agent.json", 4096
ARGUMENTS_READ = 6
# An agent names its conversation itself, and the name comes back on a command line.
SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}")

NAMES: Mapping[str, str] = {
    "claude": "claude",
    "claude-code": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "gemini-cli": "gemini",
    "qwen": "qwen",
    "qwen-code": "qwen",
    "opencode": "opencode",
    "opencode-ai": "opencode",
    "mini": "mini-swe-agent",
    "mini-swe-agent": "mini-swe-agent",
    "aider": "aider",
    "aider-chat": "aider",
    "pi": "pi",
    "pi-coding-agent": "pi",
}
_LAUNCHERS = frozenset({"env", "npx", "bunx", "uvx", "pipx", "run", "node"})


@dataclass(frozen=True, slots=True)
class Called:
    """`cost` and `tokens`: what the conversation held before this run; None when nobody knows."""

    name: str = ""
    session: str = ""
    cost: float | None = 0.0
    tokens: float | None = 0.0


def agent_of(command: Sequence[str]) -> str:
    """The known agent that a command line calls; empty when it is none we know."""
    for word in command[:ARGUMENTS_READ]:
        # A package may carry its version: @openai/codex@0.166.0
        name = PurePosixPath(word).name.partition("@")[0]
        if name in NAMES:
            return NAMES[name]
        if name not in _LAUNCHERS and not word.startswith("-") and "=" not in word:
            return ""
    return ""


def keep_name(folder: Path, command: Sequence[str]) -> None:
    """For an agent that is known by its command line alone."""
    keep_call(folder, Called(agent_of(command)))


def keep_call(folder: Path, called: Called) -> None:
    """The name and the conversation; not the command line, for its words may be secret."""
    (folder / NOTE).write_text(json.dumps(asdict(called)), encoding="utf-8")


def call_of(folder: Path) -> Called:
    """Who was called in this folder; nobody known when there is no such note."""
    raw = plain_bytes(folder / NOTE, NOTE_BYTES_MAX)
    if not raw:
        return Called()
    try:
        note = json.loads(raw)
    except (ValueError, RecursionError):
        return Called(cost=None, tokens=None)
    held = (number(note, name) for name in ("cost", "tokens"))
    return Called(text(note, "name"), text(note, "session"), *held)


def fit(session: str) -> str:
    """The name of a conversation when it can be handed back, else nothing."""
    return session if SESSION.fullmatch(session) else ""
