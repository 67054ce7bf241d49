"""Which agent it was, and what its output says.

The first event tells whose events they are, so an agent that merely prints somebody's events
among its words is not taken for that agent.  Agents without events are known by their command line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from yaoki.adapters.agents.output_files import ERR, OUT, last_write_s, read_tail
from yaoki.adapters.agents.preset import AgentPreset, load_preset, shipped_preset_names
from yaoki.adapters.agents.structured import acp, claude, codex, gemini, opencode, other_agents
from yaoki.adapters.agents.structured.call_record import read_call_record, validate_session
from yaoki.adapters.agents.structured.model_activity import has_model_activity
from yaoki.adapters.agents.structured.summary import (
    MESSAGE_CHARS_MAX,
    AgentEvent,
    AgentOutput,
    OutputSummary,
    parse_events,
    parse_json_objects,
    text_at,
)
from yaoki.adapters.system.files import read_plain_bytes
from yaoki.core.text import strip_terminal_codes
from yaoki.ports import outbox

HEAD_BYTES_READ = 64 * 1024
TAIL_BYTES_READ = 512 * 1024
# Where these agents are told to leave their own account.
TRAJECTORIES = {"mini": "trajectory.json", "vibe": "vibe/export.json"}
REPEATS_MAX = 25
# No waiting mends these.
PERMANENT_LIMITS = frozenset({"auth", "request", "notfound", "forbidden", "money", "context"})

RetryNoticeReader = Callable[[AgentEvent], tuple[str, timedelta | None]]

_READERS: Mapping[str, Callable[[AgentOutput], OutputSummary]] = {
    "acp": acp.read,
    "claude": claude.read,
    "codex": codex.read,
    "gemini": gemini.read,
    "opencode": opencode.read,
    "pi": other_agents.read_pi,
    "mini": other_agents.read_mini,
    "aider": other_agents.read_aider,
    "vibe": other_agents.read_vibe,
    "lines": other_agents.read_lines,
}
_WAITS: Mapping[str, RetryNoticeReader] = {
    "claude": claude.read_retry_notice,
    "codex": codex.read_retry_notice,
    "pi": other_agents.read_pi_retry_notice,
}
# Cheap to look for, before a line is taken apart: this is asked many times a second.
_RETRY_MARKS = ("api_retry", "Reconnecting", "auto_retry_start")
_WITHOUT_EVENTS = frozenset({"gemini", "mini", "vibe", "aider", "lines"})
_BY_TEXT = frozenset({"aider", "lines"})


def read_summary(folder: Path, code: int | None, now: datetime) -> OutputSummary:
    """What the agent's own events say of its end; nothing when it is no agent we know."""
    called = read_call_record(folder).name
    known = load_preset(called) if called in shipped_preset_names() else None
    opening = _opening(folder, banners=known is not None)
    name = _opened_by(opening[0]) if opening else ""
    if not name:
        name, opening = known.events if known and known.events in _WITHOUT_EVENTS else "", ()
    if not name:
        return _unspoken(folder, known, now)
    if known is None or known.events != name:
        known = load_preset(name)
    scene = _scene(folder, known, opening, code, now)
    told = _READERS[name](scene)
    return replace(
        told,
        message=strip_terminal_codes(told.message)[:MESSAGE_CHARS_MAX].strip(),
        session=validate_session(told.session),
        preset_name=known.name,
        model_responded=has_model_activity(name, scene.events),
    )


def _unspoken(folder: Path, known: AgentPreset | None, now: datetime) -> OutputSummary:
    """It ended before its first event: what its description knows of its last words."""
    if known is None or not known.lines:
        return OutputSummary()
    last_words = strip_terminal_codes(read_tail(folder / ERR, HEAD_BYTES_READ))
    told = other_agents.read_lines(
        AgentOutput((), None, now, text=last_words, limit_by_line=known.lines)
    )
    return replace(told, message=told.message[:MESSAGE_CHARS_MAX], preset_name=known.name)


def _scene(
    folder: Path,
    known: AgentPreset,
    opening: tuple[AgentEvent, ...],
    code: int | None,
    now: datetime,
) -> AgentOutput:
    reads = known.events
    return AgentOutput(
        _events(folder, opening),
        code,
        now,
        text=strip_terminal_codes(read_tail(folder / OUT, HEAD_BYTES_READ))
        if reads in _BY_TEXT
        else "",
        trajectory=_ends(outbox(folder) / TRAJECTORIES[reads]) if reads in TRAJECTORIES else "",
        limit_by_exit_code=known.exit_codes,
        limit_by_line=known.lines,
    )


def read_announced_wait(folder: Path, now: datetime) -> timedelta:
    """How long the agent means to wait by itself, by its last events; zero when it works.

    A notice that names no time tells it by its age: an agent that goes on says something else.
    """
    lines = read_tail(folder / OUT, HEAD_BYTES_READ).splitlines()
    if not lines or not any(mark in lines[-1] for mark in _RETRY_MARKS):
        return timedelta(0)
    opening = _opening(folder, banners=read_call_record(folder).name in shipped_preset_names())
    reader = _WAITS.get(_opened_by(opening[0]) if opening else "")
    notices = list(_notices(lines, reader)) if reader else []
    if not notices:
        return timedelta(0)
    word, delay = notices[0]
    endless = word in PERMANENT_LIMITS or len(notices) >= REPEATS_MAX
    aged = timedelta(seconds=max(now.timestamp() - last_write_s(folder), 0.0))
    return timedelta.max if endless else delay or aged


def _notices(
    lines: Sequence[str], reader: RetryNoticeReader
) -> Iterator[tuple[str, timedelta | None]]:
    """The retry notices at the very end, the last first."""
    for line in reversed(lines):
        events = parse_json_objects(line)
        word, delay = reader(events[-1]) if events else ("", None)
        if not word:
            return
        yield word, delay


def _opening(folder: Path, *, banners: bool) -> tuple[AgentEvent, ...]:
    """The events at the head of the output; words before the first one only from known agents."""
    head = read_plain_bytes(folder / OUT, HEAD_BYTES_READ) or b""
    if not banners and not head.lstrip().startswith((b"{", b"[")):
        return ()
    return parse_events(head.decode("utf-8", errors="replace"))


def _events(folder: Path, opening: tuple[AgentEvent, ...]) -> tuple[AgentEvent, ...]:
    """Both ends of the output: the first event names the session, the last ones the end."""
    whole = read_tail(folder / OUT, TAIL_BYTES_READ) if opening else ""
    return opening[:1] + parse_events(whole) if whole else ()


def _opened_by(event: AgentEvent) -> str:
    """Whose event this is, when it is the first."""
    kind, subtype = text_at(event, "type"), text_at(event, "subtype")
    if kind.startswith("acp."):
        return "acp"
    if kind == "thread.started":
        return "codex"
    if kind == "init" and text_at(event, "session_id"):
        return "gemini"
    if kind == "session" and text_at(event, "id"):
        return "pi"
    if kind and text_at(event, "sessionID"):
        return "opencode"
    return "claude" if kind in {"system", "result"} and subtype else ""


def _ends(file: Path) -> str:
    head = read_plain_bytes(file, HEAD_BYTES_READ) or b""
    return head.decode("utf-8", errors="replace") + (
        read_tail(file, HEAD_BYTES_READ) if head else ""
    )
