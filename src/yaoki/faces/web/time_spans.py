"""Stretches of time: waits with their causes, attempts with their stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from yaoki.core.display import one_line
from yaoki.faces.web.stoppages import Stop

WORDS_MAX = 200
SHORTEST = timedelta(milliseconds=1)
Document = dict[str, Any]


@dataclass(slots=True)
class Span:
    """From one instant to another; without an end it is still so."""

    start: datetime
    until: datetime | None = None


@dataclass(slots=True)
class Wait(Span):
    cause: str = "SLOT"
    words: str = ""
    due: datetime | None = None
    # Would an attempt begin after it?  Only that waits for an account.
    begins: bool = True


@dataclass(slots=True)
class Worked(Span):
    stage: str = ""


@dataclass(slots=True)
class Stretch(Span):
    """One attempt; `number` is unknown until it has begun."""

    number: int = 0
    agent: str = ""
    ended: str = ""
    failure: str = ""
    stages: list[Worked] = field(default_factory=list)
    checks: list[Document] = field(default_factory=list)


def parts(wait: Wait, cause: str, stops: Sequence[Stop], now: datetime) -> list[Wait]:
    """One wait, cut where a stop begins or ends."""
    found, at, end = [], wait.start, wait.until or now
    for stop in sorted(stops, key=lambda one: one.start):
        begin, until = max(at, stop.start), min(end, stop.until or now)
        if until - begin < SHORTEST:
            continue
        if begin - at >= SHORTEST:
            found.append(Wait(at, begin, "SLOT", begins=wait.begins))
        found.append(Wait(begin, until, cause, one_line(stop.words, WORDS_MAX)))
        at = until
    if at == end and found:
        found[-1].until = wait.until
        return found
    return [*found, Wait(at, wait.until, "SLOT", wait.words, begins=wait.begins)]
