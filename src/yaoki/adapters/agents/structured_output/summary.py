"""Events as plain data, and the one value that every agent's events are read into.

Events come from outside and change weekly: whatever has not the expected shape is not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import AgentLimit
from yaoki.core.text import replace_lone_surrogates

MESSAGE_CHARS_MAX = 1000

AgentEvent = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OutputSummary:
    """The end of an agent according to its events.

    `claims_success`: the last final event claims success, which proves nothing, but cancels earlier
    errors.  `model_responded`: the model produced something, as far as the events show.
    """

    limit: AgentLimit = AgentLimit.NONE
    message: str = ""
    session: str = ""
    retry_after: timedelta | None = None
    claims_success: bool = False
    preset_name: str = ""
    model_responded: bool | None = None


@dataclass(frozen=True, slots=True)
class AgentOutput:
    """The input of a reader: events in order, exit code, current time, text.

    `limit_by_exit_code` and `limit_by_line` come from the preset of the agent.
    """

    events: Sequence[AgentEvent]
    exit_code: int | None
    now: datetime
    text: str = ""
    trajectory: str = ""
    limit_by_exit_code: Mapping[int, AgentLimit] = field(default_factory=dict)
    limit_by_line: Mapping[str, AgentLimit] = field(default_factory=dict)


def parse_events(text: str) -> tuple[AgentEvent, ...]:
    """The JSON objects of a text, one or a list of them per line; ignores all other lines."""
    return tuple(event for line in text.splitlines() for event in parse_json_objects(line))


def parse_json_objects(line: str) -> tuple[AgentEvent, ...]:
    line = line.strip()
    if not line.startswith(("{", "[")):
        return ()
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return ()
    values = document if isinstance(document, list) else [document]
    return tuple(event for event in values if isinstance(event, dict))


def value_at(event: Any, *path: str) -> Any:
    """The value at the path; None if any step is missing."""
    for key in path:
        event = event.get(key) if isinstance(event, Mapping) else None
    return event


def text_at(event: Any, *path: str) -> str:
    value = value_at(event, *path)
    return replace_lone_surrogates(value[: 4 * MESSAGE_CHARS_MAX]) if isinstance(value, str) else ""


def number_at(event: Any, *path: str) -> float | None:
    value = value_at(event, *path)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -1e15 < value < 1e15 else None


def http_status_at(event: Any, *path: str) -> int | None:
    number = number_at(event, *path)
    return int(number) if number is not None and 100 <= number <= 599 else None


def texts_at(event: Any, *path: str) -> tuple[str, ...]:
    value = value_at(event, *path)
    values = value if isinstance(value, list) else ()
    return tuple(replace_lone_surrogates(text) for text in values if isinstance(text, str))


def last_event(events: Iterable[AgentEvent], *types: str) -> AgentEvent:
    """The last event of one of these types; empty if there is none."""
    last: AgentEvent = {}
    for event in events:
        if event.get("type") in types:
            last = event
    return last


def first_text(events: Iterable[AgentEvent], *path: str) -> str:
    return next((text for event in events if (text := text_at(event, *path))), "")


def milliseconds_at(event: Any, *path: str) -> timedelta | None:
    number = number_at(event, *path)
    return timedelta(milliseconds=number) if number is not None and 0 <= number < 1e12 else None
