"""One task as its journal tells it: attempts, what its checks saw, what it waited for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from yaoki.core.model import Kind
from yaoki.ports import Entry
from yaoki.views.story import failure_words, told
from yaoki.views.why import ENDS

TRIES_KEPT = 100
ASKED_KEPT = 20
CHECKS_KEPT = 200
# What a task waits for after which event; any other event leaves it as it is.
TURN, RETRY, PERSON, OVER = "turn", "retry", "person", ""
WAITS: Mapping[str, str] = {
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
AT_BASE = " stood at the base already: "


@dataclass(slots=True)
class Checked:
    """What one check said of one commit."""

    check: str
    outcome: str
    required: bool
    exit_code: int | None
    seconds: float
    message: str
    log: str
    tests: int | None = None
    known: int = 0


@dataclass(slots=True)
class Proof:
    """A passed judgment: exactly this commit may land."""

    commit: str
    onto: str
    unchanged: bool
    checks: tuple[Checked, ...]


@dataclass(slots=True)
class Asked:
    """A stretch in which an attempt waited for a person; without an end it still does."""

    at: datetime
    why: str
    until: datetime | None = None
    choice: str = ""


@dataclass(slots=True)
class Try:
    """One attempt.  What its agent did not tell stays None, which is unknown."""

    attempt: int
    at: datetime
    agent: str
    until: datetime | None = None
    ended: str = ""
    landed: bool = False
    agent_started: bool = False
    agent_runs: int = 0
    agent_s: float = 0.0
    session: str = ""
    cost: float | None = None
    tokens: int | None = None
    # How its agent ended, where that was not well: `hang`, `deadline`, `signal 11`, `code 1`.
    agent_end: str = ""
    asked: list[Asked] = field(default_factory=list)


@dataclass(slots=True)
class Told:
    """A task, folded from its lines; bounded however many there are."""

    tries: dict[int, Try] = field(default_factory=dict)
    tries_left_out: int = 0
    looked: dict[str, Checked] = field(default_factory=dict)
    looked_at: str = ""
    proof: Proof | None = None
    retries: Counter[tuple[str, str]] = field(default_factory=Counter)
    # Failures that were not tried again by themselves, and the last attempt among them.
    not_retried: Counter[tuple[str, str]] = field(default_factory=Counter)
    ended_with: int = 0
    fell_as: tuple[str, str] | None = None
    flaky: Counter[str] = field(default_factory=Counter)
    red_before: dict[str, str] = field(default_factory=dict)
    waited: dict[str, float] = field(default_factory=dict)
    waits: str = OVER
    since: datetime | None = None
    checks_s: float = 0.0

    def add(self, entry: Entry) -> None:
        """The next line, oldest first."""
        if entry.event in WAITS:
            self.turn_to(WAITS[entry.event], entry.at)
        match entry.event:
            case "ATTEMPT_STARTED":
                self._started(entry)
            case "PROMPT_SENT":
                if one := self.tries.get(entry.attempt):
                    one.agent_started = True
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
        if entry.event in ENDS:
            self._ended(entry)

    def turn_to(self, waits: str, at: datetime) -> None:
        """What it waited for until now is added up."""
        if self.waits and self.since is not None:
            spent = max(0.0, (at - self.since).total_seconds())
            self.waited[self.waits] = self.waited.get(self.waits, 0.0) + spent
        self.waits, self.since = waits, at

    def _started(self, entry: Entry) -> None:
        if len(self.tries) >= TRIES_KEPT:
            self.tries.pop(next(iter(self.tries)))
            self.tries_left_out += 1
        self.tries[entry.attempt] = Try(entry.attempt, entry.at, entry.data["agent"])

    def _finished(self, entry: Entry) -> None:
        one, exit_ = self.tries.get(entry.attempt), entry.data["exit"]
        if one is None:
            return
        one.agent_runs += 1
        one.agent_s += exit_.get("seconds", 0.0)
        one.session = exit_.get("session", "") or one.session
        one.cost = _sum(one.cost, exit_.get("cost"))
        one.tokens = _sum(one.tokens, exit_.get("tokens"))
        one.agent_end = _agent_end(exit_)

    def _fell(self, entry: Entry) -> None:
        """Once per attempt: what is held may be handed to a person after all.  Who only asks did
        not fall.
        """
        failure = entry.data["failure"]
        if failure["kind"] != Kind.ESCALATE_REQUIRED and entry.attempt != self.ended_with:
            self.ended_with = entry.attempt
            self.fell_as = (failure["kind"], failure.get("pattern", ""))
            self.not_retried[self.fell_as] += 1

    def _tried_again(self) -> None:
        """The one re-run from the run branch is a retry like any other."""
        if self.fell_as is not None:
            self.not_retried -= Counter([self.fell_as])
            self.retries[self.fell_as] += 1
            self.fell_as = None

    def _asks(self, entry: Entry) -> None:
        one = self.tries.get(entry.attempt)
        if one is not None and len(one.asked) < ASKED_KEPT:
            one.asked.append(Asked(entry.at, _ending(entry)))

    def _answered(self, entry: Entry) -> None:
        one = self.tries.get(entry.attempt)
        if one is not None and one.asked and one.asked[-1].until is None:
            one.asked[-1].until, one.asked[-1].choice = entry.at, entry.data["choice"]

    def _ended(self, entry: Entry) -> None:
        one = self.tries.get(entry.attempt)
        if one is not None:
            one.until, one.ended = entry.at, _ending(entry)
            one.landed = entry.event == "TASK_LANDED"

    def _checked(self, data: Mapping[str, Any]) -> None:
        if data["commit"] != self.looked_at:
            self.looked, self.looked_at = {}, data["commit"]
        seen = Checked(
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
        if len(self.looked) < CHECKS_KEPT:
            self.looked[seen.check] = seen
        if seen.outcome == "FLAKY":
            self.flaky[seen.check] += 1
        if data.get("known"):
            self.red_before[seen.check] = ", ".join(data["known"][:KNOWN_SHOWN])
        elif AT_BASE in seen.message:
            self.red_before[seen.check] = seen.message.partition(AT_BASE)[2]

    def _judged(self, data: Mapping[str, Any]) -> None:
        if not data["passed"]:
            return
        same = self.looked_at == data["commit"]
        checks = tuple(self.looked.values()) if same else ()
        self.proof = Proof(data["commit"], data["onto"], data.get("unchanged", False), checks)


def _ending(entry: Entry) -> str:
    """Of a fall, what fell: when the next try was due is of no interest any more."""
    failure = entry.data.get("failure")
    return failure_words(failure) if failure else told(entry)


def _agent_end(exit_: Mapping[str, Any]) -> str:
    signal, code = exit_.get("signal"), exit_.get("code")
    died = f"signal {signal}" if signal else f"code {code}" if code else ""
    return str(exit_.get("ended_by") or died)


def _sum(one: Any, other: Any) -> Any:
    """Unknown and unknown is unknown; one of them alone is a lower bound, and counted as such."""
    return other if one is None else one + (other or 0)
