"""One task as its journal tells it: attempts, what its checks saw, what it waited for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from yaoki.core.model import FailureKind
from yaoki.ports import JournalEntry
from yaoki.views.entry_text import describe_entry, failure_words
END_EVENTS = ("RETRY_DECISION", "ESCALATE_DECISION", "RERUN_HELD", "TASK_LANDED", "TASK_CANCELLED")

TRIES_KEPT = 100
ASKED_KEPT = 20
CHECKS_KEPT = 200
# What a task waits for after which event; any other event leaves it as it is.
TURN, RETRY, PERSON, OVER = "turn", "retry", "person", ""
WAIT_AFTER_EVENT: Mapping[str, str] = {
    "TASK_SUBMITTED": TURN,
    "LEASE_EXPIRED": TURN,
    "LEASE_RELEASED": TURN,
    "ESCALATION_ANSWERED": TURN,
    "TASK_UNLANDED": TURN,
    "TASK_RECALLED": TURN,
    "RERUN_GRANTED": TURN,
    "RETRY_DECISION": RETRY,
    "RERUN_HELD": RETRY,
    "ESCALATE_DECISION": PERSON,
    "TASK_UNDONE": PERSON,
    "TASK_CLAIMED": OVER,
    "TASK_LANDED": OVER,
    "TASK_CANCELLED": OVER,
    "TASK_REPLACED": OVER,
    "TASKS_PLANNED": OVER,
}
KNOWN_SHOWN = 5
# How `core.baseline.weigh` begins when it let failures of the base pass: all that journals tell
# which do not name them under `known`.
KNOWN_AT_BASE = " stood at the base already: "


@dataclass(slots=True)
class CheckRecord:
    """What one check said of one commit."""

    check: str
    outcome: str
    required: bool
    exit_code: int | None
    seconds: float
    message: str
    log: str
    tests: int | None = None
    known_failures: int = 0


@dataclass(slots=True)
class LandingProof:
    """A passed judgment: exactly this commit may land."""

    commit: str
    onto: str
    unchanged: bool
    checks: tuple[CheckRecord, ...]


@dataclass(slots=True)
class PersonWait:
    """A stretch in which an attempt waited for a person; without an end it still does."""

    at: datetime
    reason: str
    until: datetime | None = None
    choice: str = ""


@dataclass(slots=True)
class AttemptRecord:
    """One attempt.  What its agent did not tell stays None, which is unknown."""

    attempt: int
    at: datetime
    agent: str
    until: datetime | None = None
    ended: str = ""
    landed: bool = False
    prompt_sent: bool = False
    agent_runs: int = 0
    agent_s: float = 0.0
    session: str = ""
    cost: float | None = None
    tokens: int | None = None
    # How its agent ended, where that was not well: `hang`, `deadline`, `signal 11`, `code 1`.
    agent_end: str = ""
    person_waits: list[PersonWait] = field(default_factory=list)


@dataclass(slots=True)
class TaskRecord:
    """A task, folded from its lines; bounded however many there are."""

    attempts: dict[int, AttemptRecord] = field(default_factory=dict)
    attempts_left_out: int = 0
    checks: dict[str, CheckRecord] = field(default_factory=dict)
    checked_commit: str = ""
    proof: LandingProof | None = None
    retries: Counter[tuple[str, str]] = field(default_factory=Counter)
    # Failures that were not tried again by themselves, and the last attempt among them.
    not_retried: Counter[tuple[str, str]] = field(default_factory=Counter)
    last_failed_attempt: int = 0
    last_failure: tuple[str, str] | None = None
    flaky: Counter[str] = field(default_factory=Counter)
    failing_before: dict[str, str] = field(default_factory=dict)
    waited_s: dict[str, float] = field(default_factory=dict)
    waiting_for: str = OVER
    waiting_since: datetime | None = None
    checks_s: float = 0.0

    def add(self, entry: JournalEntry) -> None:
        """The next line, oldest first."""
        if entry.event in WAIT_AFTER_EVENT:
            self.switch_wait(WAIT_AFTER_EVENT[entry.event], entry.at)
        match entry.event:
            case "ATTEMPT_STARTED":
                self._started(entry)
            case "PROMPT_SENT":
                if one := self.attempts.get(entry.attempt):
                    one.prompt_sent = True
            case "AGENT_FINISHED":
                self._finished(entry)
            case "CHECK_FINISHED":
                self._checked(entry.data)
            case "QUALITY_JUDGMENT":
                self._judged(entry.data)
            case "RETRY_DECISION":
                failure = entry.data["failure"]
                self.retries[failure["kind"], failure.get("pattern", "")] += 1
            case "RERUN_HELD":
                self._fell(entry)
            case "RERUN_GRANTED":
                self._tried_again()
            case "ESCALATE_DECISION":
                self._fell(entry)
                self._asks(entry)
            case "ESCALATION_ANSWERED":
                self._answered(entry)
            case _:
                pass  # tells nothing of an attempt
        if entry.event in END_EVENTS:
            self._ended(entry)

    def switch_wait(self, waits: str, at: datetime) -> None:
        """What it waited for until now is added up."""
        if self.waiting_for and self.waiting_since is not None:
            spent = max(0.0, (at - self.waiting_since).total_seconds())
            self.waited_s[self.waiting_for] = self.waited_s.get(self.waiting_for, 0.0) + spent
        self.waiting_for, self.waiting_since = waits, at

    def _started(self, entry: JournalEntry) -> None:
        if len(self.attempts) >= TRIES_KEPT:
            self.attempts.pop(next(iter(self.attempts)))
            self.attempts_left_out += 1
        self.attempts[entry.attempt] = AttemptRecord(entry.attempt, entry.at, entry.data["agent"])

    def _finished(self, entry: JournalEntry) -> None:
        one, exit_ = self.attempts.get(entry.attempt), entry.data["exit"]
        if one is None:
            return
        one.agent_runs += 1
        one.agent_s += exit_.get("seconds", 0.0)
        one.session = exit_.get("session", "") or one.session
        one.cost = _sum(one.cost, exit_.get("cost"))
        one.tokens = _sum(one.tokens, exit_.get("tokens"))
        one.agent_end = _agent_end(exit_)

    def _fell(self, entry: JournalEntry) -> None:
        """Once per attempt: what is held may be handed to a person after all.  Who only asks did
        not fall.
        """
        failure = entry.data["failure"]
        if (
            failure["kind"] != FailureKind.ESCALATE_REQUIRED
            and entry.attempt != self.last_failed_attempt
        ):
            self.last_failed_attempt = entry.attempt
            self.last_failure = (failure["kind"], failure.get("pattern", ""))
            self.not_retried[self.last_failure] += 1

    def _tried_again(self) -> None:
        """The one re-run from the run branch is a retry like any other."""
        if self.last_failure is not None:
            self.not_retried -= Counter([self.last_failure])
            self.retries[self.last_failure] += 1
            self.last_failure = None

    def _asks(self, entry: JournalEntry) -> None:
        one = self.attempts.get(entry.attempt)
        if one is not None and len(one.person_waits) < ASKED_KEPT:
            one.person_waits.append(PersonWait(entry.at, _ending(entry)))

    def _answered(self, entry: JournalEntry) -> None:
        one = self.attempts.get(entry.attempt)
        if one is not None and one.person_waits and one.person_waits[-1].until is None:
            one.person_waits[-1].until, one.person_waits[-1].choice = entry.at, entry.data["choice"]

    def _ended(self, entry: JournalEntry) -> None:
        one = self.attempts.get(entry.attempt)
        if one is not None:
            one.until, one.ended = entry.at, _ending(entry)
            one.landed = entry.event == "TASK_LANDED"

    def _checked(self, data: Mapping[str, Any]) -> None:
        if data["commit"] != self.checked_commit:
            self.checks, self.checked_commit = {}, data["commit"]
        seen = CheckRecord(
            data["check"],
            data["outcome"],
            data.get("required", True),
            data.get("exit_code"),
            data.get("seconds", 0.0),
            data.get("message", ""),
            data.get("log", ""),
            data.get("tests"),
            len(data.get("known", ())),
        )
        self.checks_s += seen.seconds
        if len(self.checks) < CHECKS_KEPT:
            self.checks[seen.check] = seen
        if seen.outcome == "FLAKY":
            self.flaky[seen.check] += 1
        if data.get("known"):
            self.failing_before[seen.check] = ", ".join(data["known"][:KNOWN_SHOWN])
        elif KNOWN_AT_BASE in seen.message:
            self.failing_before[seen.check] = seen.message.partition(KNOWN_AT_BASE)[2]

    def _judged(self, data: Mapping[str, Any]) -> None:
        if not data["passed"]:
            return
        same = self.checked_commit == data["commit"]
        checks = tuple(self.checks.values()) if same else ()
        self.proof = LandingProof(
            data["commit"], data["onto"], data.get("unchanged", False), checks
        )


def _ending(entry: JournalEntry) -> str:
    """Of a fall, what fell: when the next try was due is of no interest any more."""
    failure = entry.data.get("failure")
    return failure_words(failure) if failure else describe_entry(entry)


def _agent_end(exit_: Mapping[str, Any]) -> str:
    signal, code = exit_.get("signal"), exit_.get("code")
    died = f"signal {signal}" if signal else f"code {code}" if code else ""
    return str(exit_.get("ended_by") or died)


def _sum(one: Any, other: Any) -> Any:
    """Unknown and unknown is unknown; one of them alone is a lower bound, and counted as such."""
    return other if one is None else one + (other or 0)
