"""The timeline of a task: its attempts with their stages, and its waits, each with its cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.text import one_line
from yaoki.ports import JournalEntry
from yaoki.views.documents import Document
from yaoki.views.history import (
    Attempt,
    AttemptEnd,
    CheckResult,
    StageSpan,
    Wait,
    WaitCause,
    build_history,
)
from yaoki.views.history.stoppages import Stoppage

WORDS_MAX = 200
SHORTEST = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class TaskTimeline:
    attempts: Sequence[Attempt]
    waits: Sequence[Wait]

    def explain_waits(
        self, pauses: Sequence[Stoppage], limits: Sequence[Stoppage], now: datetime
    ) -> TaskTimeline:
        """Why no worker took the task: the run was paused, or its account was limited.

        Only a wait before a new attempt can be a wait for an account.
        """
        waits = [
            part
            for wait in self.waits
            for part in (
                split_wait(wait, WaitCause.PAUSED, pauses, now) if _is_slot(wait) else [wait]
            )
        ]
        waits = [
            part
            for wait in waits
            for part in (
                split_wait(wait, WaitCause.LIMIT, limits, now)
                if _is_slot(wait) and wait.starts_attempt
                else [wait]
            )
        ]
        return replace(self, waits=waits)


def _is_slot(wait: Wait) -> bool:
    return wait.cause is WaitCause.SLOT


def build_timeline(
    entries: Iterable[JournalEntry],
    now: datetime,
    *,
    needs: str = "",
    ready_at: datetime | None = None,
) -> TaskTimeline:
    """`needs` names the task's dependencies in words; `ready_at` is when the last one landed."""
    history = build_history(entries)
    waits = history.waits
    if waits and waits[0].cause in {WaitCause.NEEDS, WaitCause.SLOT}:
        # The run's graph knows more dependencies than the plan wrote down, such as phases.
        cause = WaitCause.NEEDS if needs else WaitCause.SLOT
        waits = [replace(waits[0], cause=cause, words=needs), *waits[1:]]
    parts = [part for wait in waits for part in _split_at_turn(wait, ready_at, now)]
    return TaskTimeline(history.attempts, parts)


def _split_at_turn(wait: Wait, ready_at: datetime | None, now: datetime) -> Iterable[Wait]:
    """Once its date has come or its needs have landed, a task only waits for a free slot."""
    turn = ready_at if wait.cause is WaitCause.NEEDS else wait.due_at
    if turn is None or not wait.start < turn < (wait.until or now):
        yield wait
        return
    yield replace(wait, until=turn)
    yield Wait(turn, WaitCause.SLOT, wait.until, starts_attempt=wait.starts_attempt)


def split_wait(
    wait: Wait, cause: WaitCause, stops: Sequence[Stoppage], now: datetime
) -> list[Wait]:
    """Cut a wait where a stoppage begins or ends."""
    parts: list[Wait] = []
    at, end = wait.start, wait.until or now
    for stop in sorted(stops, key=lambda one: one.start):
        begin, until = max(at, stop.start), min(end, stop.until or now)
        if until - begin < SHORTEST:
            continue
        if begin - at >= SHORTEST:
            parts.append(Wait(at, WaitCause.SLOT, begin, starts_attempt=wait.starts_attempt))
        parts.append(Wait(begin, cause, until, stop.words))
        at = until
    if at == end and parts:
        return [*parts[:-1], replace(parts[-1], until=wait.until)]
    rest = Wait(at, WaitCause.SLOT, wait.until, wait.words, starts_attempt=wait.starts_attempt)
    return [*parts, rest]


# ------------------------------------------------------------------ documents


def timeline_document(timeline: TaskTimeline) -> Document:
    waits = [w for w in timeline.waits if w.until is None or w.until - w.start >= SHORTEST]
    return {
        "attempts": [_attempt(attempt) for attempt in timeline.attempts],
        "waits": [
            {**_span(w), "cause": w.cause.value, "words": one_line(w.words, WORDS_MAX)}
            for w in sorted(waits, key=lambda wait: wait.start)
        ],
    }


def _attempt(attempt: Attempt) -> Document:
    return {
        "attempt": attempt.number,
        "agent": attempt.agent_title or None,
        **_span(attempt),
        "ended": end_word(attempt),
        "failure": attempt.failure or None,
        "stages": [{"stage": span.stage, **_span(span)} for span in attempt.stages],
        "checks": [_check(check) for check in attempt.checks],
    }


def end_word(attempt: Attempt) -> str | None:
    """How the attempt ended; one whose lease expired is shown as lost."""
    if attempt.end is AttemptEnd.EXPIRED:
        return AttemptEnd.LOST.value
    return attempt.end.value or None if attempt.end is not AttemptEnd.RECALLED else None


def _check(check: CheckResult) -> Document:
    ended = {"until": check.at.isoformat()}
    return {"check": check.check, "outcome": check.outcome, "seconds": check.seconds, **ended}


def _span(span: Attempt | StageSpan | Wait) -> Document:
    return {
        "from": span.start.isoformat(),
        "until": span.until.isoformat() if span.until else None,
    }
