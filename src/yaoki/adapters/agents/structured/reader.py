"""Which agent it was, and what its output says.

The first event tells whose events they are, so an agent that merely prints somebody's events
among its words is not taken for that agent.  Agents without events are known by their command line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from yaoki.adapters.agents.output_files import ERR, OUT, modified_s, tail
from yaoki.adapters.agents.preset import Description, describe, known_names
from yaoki.adapters.agents.structured import acp, claude, codex, gemini, opencode, other_agents
from yaoki.adapters.agents.structured.call_record import call_of, fit
from yaoki.adapters.agents.structured.model_activity import answered
from yaoki.adapters.agents.structured.summary import (
    MESSAGE_CHARS_MAX,
    Event,
    Scene,
    Told,
    objects,
    parse,
    text,
)
from yaoki.adapters.system.files import plain_bytes
from yaoki.core.display import plain
from yaoki.ports import outbox

HEAD_BYTES_READ = 64 * 1024
TAIL_BYTES_READ = 512 * 1024
# Where these agents are told to leave their own account.
TRAJECTORIES = {"mini": "trajectory.json", "vibe": "vibe/export.json"}
REPEATS_MAX = 25
# No waiting mends these.
HOPELESS = frozenset({"auth", "request", "notfound", "forbidden", "money", "context"})

Waits = Callable[[Event], tuple[str, timedelta | None]]

_READERS: Mapping[str, Callable[[Scene], Told]] = {
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
_WAITS: Mapping[str, Waits] = {
    "claude": claude.waits,
    "codex": codex.waits,
    "pi": other_agents.pi_waits,
}
# Cheap to look for, before a line is taken apart: this is asked many times a second.
_RETRY_MARKS = ("api_retry", "Reconnecting", "auto_retry_start")
_WITHOUT_EVENTS = frozenset({"gemini", "mini", "vibe", "aider", "lines"})
_BY_TEXT = frozenset({"aider", "lines"})


def read_told(folder: Path, code: int | None, now: datetime) -> Told:
    """What the agent's own events say of its end; nothing when it is no agent we know."""
    called = call_of(folder).name
    known = describe(called) if called in known_names() else None
    opening = _opening(folder, banners=known is not None)
    name = _opened_by(opening[0]) if opening else ""
    if not name:
        name, opening = known.events if known and known.events in _WITHOUT_EVENTS else "", ()
    if not name:
        return _unspoken(folder, known, now)
    if known is None or known.events != name:
        known = describe(name)
    scene = _scene(folder, known, opening, code, now)
    told = _READERS[name](scene)
    return replace(
        told,
        message=plain(told.message)[:MESSAGE_CHARS_MAX].strip(),
        session=fit(told.session),
        agent=known.name,
        answered=answered(name, scene.events),
    )


def _unspoken(folder: Path, known: Description | None, now: datetime) -> Told:
    """It ended before its first event: what its description knows of its last words."""
    if known is None or not known.lines:
        return Told()
    last_words = plain(tail(folder / ERR, HEAD_BYTES_READ))
    told = other_agents.read_lines(Scene((), None, now, text=last_words, lines=known.lines))
    return replace(told, message=told.message[:MESSAGE_CHARS_MAX], agent=known.name)


def _scene(
    folder: Path, known: Description, opening: tuple[Event, ...], code: int | None, now: datetime
) -> Scene:
    reads = known.events
    return Scene(
        _events(folder, opening),
        code,
        now,
        text=plain(tail(folder / OUT, HEAD_BYTES_READ)) if reads in _BY_TEXT else "",
        trajectory=_ends(outbox(folder) / TRAJECTORIES[reads]) if reads in TRAJECTORIES else "",
        codes=known.exit_codes,
        lines=known.lines,
    )


def waiting(folder: Path, now: datetime) -> timedelta:
    """How long the agent means to wait by itself, by its last events; zero when it works.

    A notice that names no time tells it by its age: an agent that goes on says something else.
    """
    lines = tail(folder / OUT, HEAD_BYTES_READ).splitlines()
    if not lines or not any(mark in lines[-1] for mark in _RETRY_MARKS):
        return timedelta(0)
    opening = _opening(folder, banners=call_of(folder).name in known_names())
    reader = _WAITS.get(_opened_by(opening[0]) if opening else "")
    notices = list(_notices(lines, reader)) if reader else []
    if not notices:
        return timedelta(0)
    word, delay = notices[0]
    endless = word in HOPELESS or len(notices) >= REPEATS_MAX
    aged = timedelta(seconds=max(now.timestamp() - modified_s(folder), 0.0))
    return timedelta.max if endless else delay or aged


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
    head = plain_bytes(folder / OUT, HEAD_BYTES_READ) or b""
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
    if kind.startswith("acp."):
        return "acp"
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
    head = plain_bytes(file, HEAD_BYTES_READ) or b""
    return head.decode("utf-8", errors="replace") + (tail(file, HEAD_BYTES_READ) if head else "")
