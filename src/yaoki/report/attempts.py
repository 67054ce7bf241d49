"""The parts of a report about one task's history: failures, waits, flaky and failing checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from yaoki.core.model import FailureKind
from yaoki.views.decisions import DecisionKind, ExplainedDecision
from yaoki.views.history import (
    Attempt,
    CheckResult,
    PersonWait,
    RecordedFailure,
    TaskHistory,
    Wait,
    WaitCause,
)
from yaoki.views.history.stoppages import Stoppage

ATTEMPTS_MAX = 100
QUESTIONS_MAX = 20
KNOWN_SHOWN = 5
# Journals that were written before `known` was a field name the failures of the base only in the
# message of the check.  New messages are never read.
KNOWN_AT_BASE = " stood at the base already: "
Data = dict[str, Any]
# The kind of a failure and its pattern.
FailureCause = tuple[str, str]


class WaitedFor(StrEnum):
    """The times that a report adds up."""

    TURN = "turn"
    RETRY = "retry"
    # Until no other task can run: then it is re-run from the run branch.
    RERUN = "rerun"
    PERSON = "person"


def wait_times(
    history: TaskHistory, end: datetime, pauses: Sequence[Stoppage] = ()
) -> Counter[WaitedFor]:
    """Seconds that the task waited, by what it waited for; an open wait lasts until `end`.

    In the `pauses` of its run it waited for a person, whatever it waited for before.
    """
    times: Counter[WaitedFor] = Counter()
    unused = history.waits[-1:] if _unused_retry(history) is not None else []
    parts = (part for wait in history.waits for part in _parts(wait, end, wait in unused))
    for cause, start, until in parts:
        seconds = max(0.0, (until - start).total_seconds())
        paused = sum(_overlap_s(start, until, one, end) for one in pauses)
        times[WaitedFor.PERSON] += paused  # type: ignore[assignment]
        times[cause] += seconds - paused  # type: ignore[assignment]
    return times


def _parts(
    wait: Wait, end: datetime, is_unused: bool
) -> Iterator[tuple[WaitedFor, datetime, datetime]]:
    """A retry that is due waits for a free worker."""
    until = wait.until or end
    cause = WaitedFor.TURN if is_unused else _waited_for(wait)
    due = wait.due_at if wait.cause is WaitCause.BACKOFF else None
    if cause is WaitedFor.RETRY and due is not None and wait.start <= due < until:
        yield cause, wait.start, due
        yield WaitedFor.TURN, due, until
    else:
        yield cause, wait.start, until


def _overlap_s(start: datetime, until: datetime, pause: Stoppage, end: datetime) -> float:
    overlap = min(until, pause.until or end) - max(start, pause.start)
    return max(0.0, overlap.total_seconds())


def _unused_retry(history: TaskHistory) -> ExplainedDecision | None:
    """The last decision, if it was a retry and the task was cancelled before that began."""
    last = history.decisions[-1] if history.decisions else None
    if history.removal is None or last is None or last.decision is not DecisionKind.RETRY:
        return None
    return None if any(one.number > last.attempt for one in history.attempts) else last


def _waited_for(wait: Wait) -> WaitedFor:
    if wait.cause is WaitCause.PERSON:
        return WaitedFor.PERSON
    if wait.cause is WaitCause.HELD:
        return WaitedFor.RERUN
    return WaitedFor.RETRY if wait.after_failure else WaitedFor.TURN


def count_failures(
    history: TaskHistory,
) -> tuple[Counter[FailureCause], Counter[FailureCause]]:
    """Failures that were retried, and those that were not, by cause.

    Each attempt fails once: a task that awaits its re-run may be escalated later.  A question of
    the agent is not a failure.  The one re-run from the run branch is a retry like any other.
    """
    retried: Counter[FailureCause] = Counter()
    not_retried: Counter[FailureCause] = Counter()
    last_attempt, last_cause = 0, None
    for decision in history.decisions:
        cause = (decision.failure_kind, decision.pattern)
        match decision.decision:
            case DecisionKind.RETRY:
                retried[cause] += 1
            case DecisionKind.HOLD | DecisionKind.ESCALATE:
                is_question = decision.failure_kind == FailureKind.ESCALATE_REQUIRED
                if not is_question and decision.attempt != last_attempt:
                    last_attempt, last_cause = decision.attempt, cause
                    not_retried[cause] += 1
            case DecisionKind.RERUN if last_cause is not None:
                not_retried -= Counter([last_cause])
                retried[last_cause] += 1
                last_cause = None
            case _:
                pass  # decides nothing about a failure of this task
    if unused := _unused_retry(history):
        cause = (unused.failure_kind, unused.pattern)
        retried -= Counter([cause])
        not_retried[cause] += 1
    return retried, not_retried


def iter_checks(history: TaskHistory) -> Iterator[CheckResult]:
    return (check for attempt in history.attempts for check in attempt.checks)


def failures_before(history: TaskHistory) -> dict[str, str]:
    """By check: the failures that the base has as well."""
    failing: dict[str, str] = {}
    for check in iter_checks(history):
        if check.known:
            failing[check.check] = ", ".join(check.known[:KNOWN_SHOWN])
        elif KNOWN_AT_BASE in check.message:
            failing[check.check] = check.message.partition(KNOWN_AT_BASE)[2]
    return failing


# ------------------------------------------------------------------ documents


def attempt_documents(history: TaskHistory, clean: Callable[[str], str]) -> Data:
    """The last attempts, and the number of those before them."""
    attempts = list(history.numbered_attempts.values())
    waits: dict[int, list[PersonWait]] = {}
    for wait in history.person_waits:
        waits.setdefault(wait.attempt, []).append(wait)
    return {
        "attempts": [
            _attempt(attempt, waits.get(attempt.number, ())[:QUESTIONS_MAX], clean)
            for attempt in attempts[-ATTEMPTS_MAX:]
        ],
        "attempts_left_out": max(0, len(attempts) - ATTEMPTS_MAX),
    }


def _attempt(attempt: Attempt, waits: Sequence[PersonWait], clean: Callable[[str], str]) -> Data:
    """A value that the agent did not report is null, which means unknown."""
    runs, is_over = attempt.agent_runs, attempt.end.is_conclusion
    cost = sum_known(run.cost for run in runs)
    return {
        "attempt": attempt.number,
        "at": (attempt.started_at or attempt.start).isoformat(),
        "until": attempt.until.isoformat() if attempt.until and is_over else None,
        "agent": clean(attempt.agent_title) or None,
        "ended": clean(attempt.failure or attempt.end_words) or None if is_over else None,
        "failure": _failure(attempt.recorded_failure, clean) if is_over else None,
        "landed": attempt.landed,
        "agent_started": attempt.prompt is not None or bool(runs),
        "agent_s": round(sum(run.seconds for run in runs), 3) if runs else attempt.lost_seconds,
        "session": clean(next((r.session for r in reversed(runs) if r.session), "")) or None,
        "conversation": (attempt.prompt.conversation or None) if attempt.prompt else None,
        "cost": round(cost, 6) if cost is not None else None,
        "tokens": sum_known(run.tokens for run in runs),
        "agent_end": clean(runs[-1].abnormal_end) or None if runs else None,
        "asked": [_person_wait(wait, clean) for wait in waits],
    }


def _failure(failure: RecordedFailure | None, clean: Callable[[str], str]) -> Data | None:
    if failure is None:
        return None
    return {
        "kind": failure.kind,
        "pattern": failure.pattern or None,
        "subject": clean(failure.subject),
    }


def _person_wait(wait: PersonWait, clean: Callable[[str], str]) -> Data:
    return {
        "at": wait.at.isoformat(),
        "until": wait.until.isoformat() if wait.until else None,
        "why": clean(wait.reason),
        "failure": _failure(wait.failure, clean),
        "choice": wait.choice or None,
    }


def sum_known(values: Iterable[Any]) -> Any:
    """The sum of the known values, a lower bound where some are unknown; None when all are."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
