"""Stretches of time: waits with their causes, attempts with their stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from yaoki.core.text import one_line
from yaoki.faces.web.stoppages import Stoppage

WORDS_MAX = 200
SHORTEST = timedelta(milliseconds=1)
Document = dict[str, Any]


@dataclass(slots=True)
class TimeSpan:
    """From one instant to another; without an end it is still so."""

    start: datetime
    until: datetime | None = None


@dataclass(slots=True)
class WaitSpan(TimeSpan):
    cause: str = "SLOT"
    words: str = ""
    due_at: datetime | None = None
    # Would an attempt begin after it?  Only that waits for an account.
    starts_attempt: bool = True


@dataclass(slots=True)
class StageSpan(TimeSpan):
    stage: str = ""


@dataclass(slots=True)
class AttemptSpan(TimeSpan):
    """One attempt; `number` is unknown until it has begun."""

    number: int = 0
    agent: str = ""
    ended: str = ""
    failure: str = ""
    stages: list[StageSpan] = field(default_factory=list)
    checks: list[Document] = field(default_factory=list)


def split_wait(
    wait: WaitSpan, cause: str, stops: Sequence[Stoppage], now: datetime
) -> list[WaitSpan]:
    """One wait, cut where a stop begins or ends."""
    found, at, end = [], wait.start, wait.until or now
    for stop in sorted(stops, key=lambda one: one.start):
        begin, until = max(at, stop.start), min(end, stop.until or now)
        if until - begin < SHORTEST:
            continue
        if begin - at >= SHORTEST:
            found.append(WaitSpan(at, begin, "SLOT", starts_attempt=wait.starts_attempt))
        found.append(WaitSpan(begin, until, cause, one_line(stop.words, WORDS_MAX)))
        at = until
    if at == end and found:
        found[-1].until = wait.until
        return found
    return [
        *found,
        WaitSpan(at, wait.until, "SLOT", wait.words, starts_attempt=wait.starts_attempt),
    ]
