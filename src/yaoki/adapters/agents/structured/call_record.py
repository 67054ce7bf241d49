"""Who was called, and in which conversation: left by the caller for whoever reads the attempt."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path, PurePosixPath

from yaoki.adapters.agents.structured.summary import number_at, text_at
from yaoki.adapters.system.files import read_plain_bytes
from yaoki.core.lazy_dataclass import dataclass

CALL_RECORD_FILE, CALL_RECORD_BYTES_MAX = "agent.json", 4096
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
class CallRecord:
    """`cost` and `tokens`: what the conversation held before this run; None when nobody knows."""

    name: str = ""
    session: str = ""
    cost: float | None = 0.0
    tokens: float | None = 0.0


def identify_agent(command: Sequence[str]) -> str:
    """The known agent that a command line calls; empty when it is none we know."""
    for word in command[:ARGUMENTS_READ]:
        # A package may carry its version: @openai/codex@0.166.0
        name = PurePosixPath(word).name.partition("@")[0]
        if name in NAMES:
            return NAMES[name]
        if name not in _LAUNCHERS and not word.startswith("-") and "=" not in word:
            return ""
    return ""


def record_agent_name(folder: Path, command: Sequence[str]) -> None:
    """For an agent that is known by its command line alone."""
    write_call_record(folder, CallRecord(identify_agent(command)))


def write_call_record(folder: Path, called: CallRecord) -> None:
    """The name and the conversation; not the command line, for its words may be secret."""
    (folder / CALL_RECORD_FILE).write_text(json.dumps(asdict(called)), encoding="utf-8")


def read_call_record(folder: Path) -> CallRecord:
    """Who was called in this folder; nobody known when there is no such note."""
    raw = read_plain_bytes(folder / CALL_RECORD_FILE, CALL_RECORD_BYTES_MAX)
    if not raw:
        return CallRecord()
    try:
        note = json.loads(raw)
    except (ValueError, RecursionError):
        return CallRecord(cost=None, tokens=None)
    held = (number_at(note, name) for name in ("cost", "tokens"))
    return CallRecord(text_at(note, "name"), text_at(note, "session"), *held)


def validate_session(session: str) -> str:
    """The name of a conversation when it can be handed back, else nothing."""
    return session if SESSION.fullmatch(session) else ""
