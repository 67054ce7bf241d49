"""Which agent it was, and what its output says.

The first event tells whose events they are, so an agent that merely prints somebody's events
among its words is not taken for that agent.  Agents without events are known by their command line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath

from yaoki.agents.logs import OUT, read_regular, tail
from yaoki.agents.structured import claude, codex, gemini, opencode, others
from yaoki.agents.structured.told import MESSAGE_CHARS_MAX, Event, Scene, Told, objects, parse, text
from yaoki.core.display import plain

HEAD_BYTES_READ = 64 * 1024
TAIL_BYTES_READ = 512 * 1024
NAME, NAME_BYTES_MAX = "agent.txt", 100
# Where mini-swe-agent is told to leave its trajectory (`-o`): beside the logs.
TRAJECTORY = "trajectory.json"
ARGUMENTS_READ = 6
REPEATS_MAX = 25
# No waiting mends these.
HOPELESS = frozenset({"auth", "request", "notfound", "forbidden", "money", "context"})

Waits = Callable[[Event], tuple[str, timedelta | None]]

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
    "mini": "mini",
    "mini-swe-agent": "mini",
    "aider": "aider",
    "aider-chat": "aider",
    "pi": "pi",
    "pi-coding-agent": "pi",
}
_LAUNCHERS = frozenset({"env", "npx", "bunx", "uvx", "pipx", "run", "node"})
_READERS: Mapping[str, Callable[[Scene], Told]] = {
    "claude": claude.read,
    "codex": codex.read,
    "gemini": gemini.read,
    "opencode": opencode.read,
    "pi": others.read_pi,
    "mini": others.read_mini,
    "aider": others.read_aider,
}
_WAITS: Mapping[str, Waits] = {
    "claude": claude.waits,
    "codex": codex.waits,
    "pi": others.pi_waits,
}
# Cheap to look for, before a line is taken apart: this is asked many times a second.
_RETRY_MARKS = ("api_retry", "Reconnecting", "auto_retry_start")
_WITHOUT_EVENTS = frozenset({"gemini", "mini", "aider"})


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
    """Leave the agent's name for whoever reads the attempt; only that, for words may be secret."""
    (folder / NAME).write_text(agent_of(command), encoding="utf-8")


def known_agent(folder: Path) -> str:
    """The agent that was called in this folder."""
    raw = read_regular(folder / NAME, NAME_BYTES_MAX) or b""
    return raw.decode("utf-8", errors="replace").strip()


def read_told(folder: Path, code: int | None, now: datetime) -> Told:
    """What the agent's own events say of its end; nothing when it is no agent we know."""
    called = known_agent(folder)
    opening = _opening(folder, banners=bool(called))
    name = _opened_by(opening[0]) if opening else ""
    if not name:
        name, opening = called if called in _WITHOUT_EVENTS else "", ()
    if not name:
        return Told()
    words = plain(tail(folder / OUT, HEAD_BYTES_READ)) if name == "aider" else ""
    trajectory = _ends(folder / TRAJECTORY) if name == "mini" else ""
    told = _READERS[name](Scene(_events(folder, opening), code, now, words, trajectory))
    return replace(told, message=plain(told.message)[:MESSAGE_CHARS_MAX].strip())


def waiting(folder: Path) -> timedelta:
    """How long the agent means to wait by itself, by its last events; zero when it works."""
    lines = tail(folder / OUT, HEAD_BYTES_READ).splitlines()
    if not lines or not any(mark in lines[-1] for mark in _RETRY_MARKS):
        return timedelta(0)
    opening = _opening(folder, banners=bool(known_agent(folder)))
    reader = _WAITS.get(_opened_by(opening[0]) if opening else "")
    notices = list(_notices(lines, reader)) if reader else []
    if not notices:
        return timedelta(0)
    word, delay = notices[0]
    endless = word in HOPELESS or len(notices) >= REPEATS_MAX
    return timedelta.max if endless else delay or timedelta(0)


def _notices(lines: Sequence[str], reader: Waits) -> Iterator[tuple[str, timedelta | None]]:
    """The retry notices at the very end, the last first."""
    for line in reversed(lines):
        events = objects(line)
        word, delay = reader(events[-1]) if events else ("", None)
        if not word:
            return
        yield word, delay


def _opening(folder: Path, *, banners: bool) -> tuple[Event, ...]:
    """The events at the head of the output; words before the first one only from known agents."""
    head = read_regular(folder / OUT, HEAD_BYTES_READ) or b""
    if not banners and not head.lstrip().startswith((b"{", b"[")):
        return ()
    return parse(head.decode("utf-8", errors="replace"))


def _events(folder: Path, opening: tuple[Event, ...]) -> tuple[Event, ...]:
    """Both ends of the output: the first event names the session, the last ones the end."""
    whole = tail(folder / OUT, TAIL_BYTES_READ) if opening else ""
    return opening[:1] + parse(whole) if whole else ()


def _opened_by(event: Event) -> str:
    """Whose event this is, when it is the first."""
    kind, subtype = text(event, "type"), text(event, "subtype")
    if kind == "thread.started":
        return "codex"
    if kind == "init" and text(event, "session_id"):
        return "gemini"
    if kind == "session" and text(event, "id"):
        return "pi"
    if kind and text(event, "sessionID"):
        return "opencode"
    return "claude" if kind in {"system", "result"} and subtype else ""


def _ends(file: Path) -> str:
    head = read_regular(file, HEAD_BYTES_READ) or b""
    return head.decode("utf-8", errors="replace") + (tail(file, HEAD_BYTES_READ) if head else "")
