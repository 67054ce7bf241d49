"""Durations, costs and results of the newest attempts of all runs, for forecasts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from datetime import datetime
from typing import ClassVar

from yaoki.core.forecast.samples import AttemptResult, AttemptSample
from yaoki.core.lazy_dataclass import dataclass, field, replace
from yaoki.core.model import CONTENT_KINDS, PERSON_AGENT, AgentLimit
from yaoki.ports import JournalEntry
from yaoki.views.history.entry_values import DAMAGED_FIELDS, read_agent_run, read_failure

SAMPLES_MAX = 500
# The service refused the agent until a person changes something.
REFUSALS = frozenset(
    {AgentLimit.AUTH, AgentLimit.MONEY, AgentLimit.NOT_FOUND, AgentLimit.FORBIDDEN}
)
# A task waits no longer: a worker or a person took it, or it was cancelled.
WAIT_ENDS = frozenset({"TASK_CLAIMED", "WAIT_ENDED", "TASK_CANCELLED"})
# An agent that fails sooner and changes nothing did not begin to work.
WORK_SECONDS_MIN = 1.0


@dataclass(slots=True)
class OpenAttempt:
    """An attempt that has not ended yet."""

    claimed_at: datetime
    agent: str = ""
    is_started: bool = False
    worked_until: datetime | None = None
    cost: float | None = None
    checks: tuple[str, ...] = ()
    by_person: bool = False
    tree: str = ""
    never_worked: bool = False


@dataclass(slots=True)
class MeasuredAttempts:
    """Folded entry by entry; keeps the newest attempts and those that are open."""

    EVENTS: ClassVar[tuple[str, ...]] = (
        "TASK_CLAIMED",
        "ATTEMPT_STARTED",
        "AGENT_FINISHED",
        "QUALITY_JUDGMENT",
        "TASK_LANDED",
        "RETRY_DECISION",
        "RERUN_HELD",
        "ESCALATE_DECISION",
        "LEASE_RELEASED",
        "LEASE_EXPIRED",
        "TASK_CANCELLED",
        "RACE_STARTED",
        "CANDIDATE_RELEASED",
        "CANDIDATE_PROVEN",
        "CANDIDATE_FAILED",
        "CANDIDATE_RETIRED",
        "WAIT_ENDED",
    )
    samples: deque[AttemptSample] = field(default_factory=lambda: deque(maxlen=SAMPLES_MAX))
    _open: dict[str, OpenAttempt] = field(default_factory=dict)
    # Open tasks whose last attempt failed.
    _failed: set[str] = field(default_factory=set)
    # Tasks that wait after an attempt, since when, and the sample that has the announced wait.
    _waits: dict[str, tuple[datetime, AttemptSample]] = field(default_factory=dict)

    def add(self, entry: JournalEntry) -> None:
        task, data = entry.task_id, entry.data
        if entry.event in WAIT_ENDS:
            self._end_wait(entry)
        if entry.event == "TASK_CLAIMED":
            self._open[task] = OpenAttempt(entry.at)
            return
        if entry.event == "CANDIDATE_RELEASED" and data.get("feedback"):
            self._failed.add(task)  # its prompt has the failure of the round before
        attempt = self._open.get(task)
        if attempt is None:
            return
        match entry.event:
            case "ATTEMPT_STARTED":
                attempt.agent, attempt.is_started = str(data.get("agent", "")), True
                attempt.tree = str(data.get("tree", ""))
            case "AGENT_FINISHED":
                attempt.worked_until, attempt.cost = entry.at, read_agent_run(entry).cost
                attempt.by_person = bool(data.get("by_person")) or attempt.agent == PERSON_AGENT
                attempt.never_worked = _never_worked(entry, attempt.tree)
            case "QUALITY_JUDGMENT":
                attempt.checks = tuple(sorted(data.get("checks", ())))
            case "LEASE_RELEASED" | "LEASE_EXPIRED" | "TASK_CANCELLED":
                # Interrupted: how long it would have taken is unknown.
                del self._open[task]
            case "RACE_STARTED":
                # The work is that of its candidates, which are measured themselves.
                del self._open[task]
            case "CANDIDATE_RELEASED" | "WAIT_ENDED":
                pass
            case _:
                del self._open[task]
                self._end(entry, attempt)

    def _end(self, entry: JournalEntry, attempt: OpenAttempt) -> None:
        result, is_retry = _result(entry), entry.task_id in self._failed
        if result is AttemptResult.FAILED:
            self._failed.add(entry.task_id)
        elif result is AttemptResult.PASSED:
            self._failed.discard(entry.task_id)
        if not attempt.is_started or attempt.by_person:
            return
        if attempt.never_worked and result is not AttemptResult.PASSED:
            return  # how long the work takes once the agent can start is unknown
        if attempt.agent and attempt.worked_until is None and result is AttemptResult.PASSED:
            return  # it continued an earlier attempt, whose agent had worked
        worked_until = attempt.worked_until or (entry.at if attempt.agent else attempt.claimed_at)
        failure = read_failure(entry)
        sample = AttemptSample(
            entry.run_id,
            attempt.agent,
            is_retry,
            attempt.checks,
            (worked_until - attempt.claimed_at).total_seconds(),
            (entry.at - worked_until).total_seconds(),
            result,
            attempt.cost,
            entry.data.get("delay_ms", 0) / 1000,
            failure.closes_account,
        )
        self.samples.append(sample)
        if sample.delay_s:
            self._waits[entry.task_id] = entry.at, sample

    def _end_wait(self, entry: JournalEntry) -> None:
        """A wait that ended before its announced end counts as long as it really was."""
        since, sample = self._waits.pop(entry.task_id, (entry.at, None))
        seconds = (entry.at - since).total_seconds()
        if sample is not None and seconds < sample.delay_s and sample in self.samples:
            # An equal sample is as good: they differ in nothing that a forecast uses.
            self.samples[self.samples.index(sample)] = replace(sample, delay_s=seconds)


def _never_worked(entry: JournalEntry, tree: str) -> bool:
    """Did the agent of this AGENT_FINISHED not start, get refused or crash at once?"""
    run = read_agent_run(entry)
    if (entry.data.get("exit") or {}).get("start_error"):
        return True
    if str(entry.data.get("tree", "")) != tree:
        return False
    unexplained = run.limit in {AgentLimit.NONE, AgentLimit.UNKNOWN}
    crashed = unexplained and bool(run.code or run.signal) and run.seconds < WORK_SECONDS_MIN
    return run.limit in REFUSALS or crashed


def _result(entry: JournalEntry) -> AttemptResult:
    if entry.event in {"TASK_LANDED", "CANDIDATE_PROVEN"}:
        return AttemptResult.PASSED
    if entry.event == "CANDIDATE_RETIRED":
        return AttemptResult.STOPPED
    failure = read_failure(entry)
    if failure.kind in CONTENT_KINDS and not failure.is_ours:
        return AttemptResult.FAILED
    asks = entry.event in {"ESCALATE_DECISION", "CANDIDATE_FAILED"}
    return AttemptResult.ASKED if asks else AttemptResult.REPEATED


def measure_attempts(entries: Iterable[JournalEntry], unreadable: list[int]) -> list[AttemptSample]:
    """`entries` are oldest first; one without its fields is added to `unreadable`."""
    measured = MeasuredAttempts()
    for entry in entries:
        try:
            measured.add(entry)
        except DAMAGED_FIELDS:
            unreadable.append(entry.seq)
    return list(measured.samples)
