"""Events as plain data, and the one value that every agent's events are read into.

Events come from outside and change weekly: whatever has not the expected shape is not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from yaoki.core.display import sound

MESSAGE_CHARS_MAX = 1000

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """What the events say of the end.

    `limit` is a word of `AgentExit.limit`; `finished` means that the last final event claims a
    good end, which proves nothing, but refutes what was said before it.  `agent` is whose
    description fits.  `answered`: the model said or did something, as far as the events can tell.
    """

    limit: str = ""
    message: str = ""
    session: str = ""
    retry_after: timedelta | None = None
    finished: bool = False
    agent: str = ""
    answered: bool = True


@dataclass(frozen=True, slots=True)
class Scene:
    """All that a reader may look at: events in order, the exit code, the clock.

    `codes` and `lines` are the agent's own signals as its description gives them.
    """

    events: Sequence[Event]
    code: int | None
    now: datetime
    text: str = ""
    trajectory: str = ""
    codes: Mapping[int, str] = field(default_factory=dict)
    lines: Mapping[str, str] = field(default_factory=dict)


def parse(text: str) -> tuple[Event, ...]:
    """The JSON objects of a text, one or a list of them per line; all else is banners and noise."""
    return tuple(event for line in text.splitlines() for event in objects(line))


def objects(line: str) -> tuple[Event, ...]:
    line = line.strip()
    if not line.startswith(("{", "[")):
        return ()
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return ()
    held = found if isinstance(found, list) else [found]
    return tuple(event for event in held if isinstance(event, dict))


def part(event: Any, *path: str) -> Any:
    """What stands at the path; None when any step is missing."""
    for key in path:
        event = event.get(key) if isinstance(event, Mapping) else None
    return event


def text(event: Any, *path: str) -> str:
    found = part(event, *path)
    return sound(found[: 4 * MESSAGE_CHARS_MAX]) if isinstance(found, str) else ""


def number(event: Any, *path: str) -> float | None:
    found = part(event, *path)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return float(found) if -1e15 < found < 1e15 else None


def status(event: Any, *path: str) -> int | None:
    found = number(event, *path)
    return int(found) if found is not None and 100 <= found <= 599 else None


def texts(event: Any, *path: str) -> tuple[str, ...]:
    found = part(event, *path)
    held = found if isinstance(found, list) else ()
    return tuple(sound(one) for one in held if isinstance(one, str))


def last(events: Iterable[Event], *types: str) -> Event:
    """The last event of one of these types; an empty one when there is none."""
    found: Event = {}
    for event in events:
        if event.get("type") in types:
            found = event
    return found


def first_text(events: Iterable[Event], *path: str) -> str:
    return next((found for event in events if (found := text(event, *path))), "")


def millis(event: Any, *path: str) -> timedelta | None:
    found = number(event, *path)
    return timedelta(milliseconds=found) if found is not None and 0 <= found < 1e12 else None
