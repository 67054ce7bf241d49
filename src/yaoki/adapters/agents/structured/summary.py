"""Events as plain data, and the one value that every agent's events are read into.

Events come from outside and change weekly: whatever has not the expected shape is not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from yaoki.core.display import replace_lone_surrogates
from yaoki.core.model import AgentLimit

MESSAGE_CHARS_MAX = 1000

AgentEvent = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OutputSummary:
    """What the events of an agent say about its end.

    `finished` means that the last final event claims a
    good end, which proves nothing, but refutes what was said before it.  `agent` is whose
    description fits.  `answered`: the model said or did something, as far as the events can tell.
    """

    limit: AgentLimit = AgentLimit.NONE
    message: str = ""
    session: str = ""
    retry_after: timedelta | None = None
    claims_success: bool = False
    preset_name: str = ""
    model_responded: bool = True


@dataclass(frozen=True, slots=True)
class AgentOutput:
    """All that a reader may look at: events in order, the exit code, the clock.

    `codes` and `lines` are the agent's own signals as its description gives them.
    """

    events: Sequence[AgentEvent]
    exit_code: int | None
    now: datetime
    text: str = ""
    trajectory: str = ""
    limit_by_exit_code: Mapping[int, AgentLimit] = field(default_factory=dict)
    limit_by_line: Mapping[str, AgentLimit] = field(default_factory=dict)


def parse_events(text: str) -> tuple[AgentEvent, ...]:
    """The JSON objects of a text, one or a list of them per line; all else is banners and noise."""
    return tuple(event for line in text.splitlines() for event in parse_json_objects(line))


def parse_json_objects(line: str) -> tuple[AgentEvent, ...]:
    line = line.strip()
    if not line.startswith(("{", "[")):
        return ()
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return ()
    held = found if isinstance(found, list) else [found]
    return tuple(event for event in held if isinstance(event, dict))


def value_at(event: Any, *path: str) -> Any:
    """What stands at the path; None when any step is missing."""
    for key in path:
        event = event.get(key) if isinstance(event, Mapping) else None
    return event


def text_at(event: Any, *path: str) -> str:
    found = value_at(event, *path)
    return replace_lone_surrogates(found[: 4 * MESSAGE_CHARS_MAX]) if isinstance(found, str) else ""


def number_at(event: Any, *path: str) -> float | None:
    found = value_at(event, *path)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return float(found) if -1e15 < found < 1e15 else None


def http_status_at(event: Any, *path: str) -> int | None:
    found = number_at(event, *path)
    return int(found) if found is not None and 100 <= found <= 599 else None


def texts_at(event: Any, *path: str) -> tuple[str, ...]:
    found = value_at(event, *path)
    held = found if isinstance(found, list) else ()
    return tuple(replace_lone_surrogates(one) for one in held if isinstance(one, str))


def last_event(events: Iterable[AgentEvent], *types: str) -> AgentEvent:
    """The last event of one of these types; an empty one when there is none."""
    found: AgentEvent = {}
    for event in events:
        if event.get("type") in types:
            found = event
    return found


def first_text(events: Iterable[AgentEvent], *path: str) -> str:
    return next((found for event in events if (found := text_at(event, *path))), "")


def milliseconds_at(event: Any, *path: str) -> timedelta | None:
    found = number_at(event, *path)
    return timedelta(milliseconds=found) if found is not None and 0 <= found < 1e12 else None
