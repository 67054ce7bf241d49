"""Records which agent was started, and in which conversation, for the reader of the attempt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path, PurePosixPath

from yaoki.adapters.agents.structured_output.summary import number_at, text_at
from yaoki.adapters.system.files import read_plain_bytes
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile

CALL_RECORD_FILE, CALL_RECORD_BYTES_MAX = "agent.json", 4096
ARGUMENTS_READ = 6
# The agent chooses the id of its conversation, which is later passed on a command line.
SESSION = lazy_compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}")

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
    """`cost` and `tokens`: usage of the conversation before this run; None if unknown."""

    name: str = ""
    session: str = ""
    cost: float | None = 0.0
    tokens: float | None = 0.0


def identify_agent(command: Sequence[str]) -> str:
    """The known agent in a command line; empty if there is none."""
    for word in command[:ARGUMENTS_READ]:
        # A package may include its version: @openai/codex@0.166.0
        name = PurePosixPath(word).name.partition("@")[0]
        if name in NAMES:
            return NAMES[name]
        if name not in _LAUNCHERS and not word.startswith("-") and "=" not in word:
            return ""
    return ""


def record_agent_name(folder: Path, command: Sequence[str]) -> None:
    """Record the name of an agent that is recognised by its command line."""
    write_call_record(folder, CallRecord(identify_agent(command)))


def write_call_record(folder: Path, called: CallRecord) -> None:
    """Write the record without the command line, which may contain secrets."""
    (folder / CALL_RECORD_FILE).write_text(json.dumps(asdict(called)), encoding="utf-8")


def read_call_record(folder: Path) -> CallRecord:
    """Empty if there is no record."""
    raw = read_plain_bytes(folder / CALL_RECORD_FILE, CALL_RECORD_BYTES_MAX)
    if not raw:
        return CallRecord()
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        return CallRecord(cost=None, tokens=None)
    usage = (number_at(document, name) for name in ("cost", "tokens"))
    return CallRecord(text_at(document, "name"), text_at(document, "session"), *usage)


def validate_session(session: str) -> str:
    """The id of a conversation if it is safe on a command line, otherwise empty."""
    return session if SESSION.fullmatch(session) else ""
