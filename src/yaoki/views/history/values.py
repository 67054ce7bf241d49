"""The values of a task's history: attempts, stages, waits, check results, answers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import FailureKind, FindingItem


class AttemptEnd(StrEnum):
    """The end of an attempt, or of a worker's claim of it."""

    LANDED = "LANDED"
    RETRY = "RETRY"
    LOST = "LOST"
    ESCALATED = "ESCALATED"
    HELD = "HELD"
    CANCELLED = "CANCELLED"
    REPLACED = "REPLACED"
    RELEASED = "RELEASED"
    EXPIRED = "EXPIRED"
    RECALLED = "RECALLED"
    # The ends of a candidate of a race.
    PROVEN = "PROVEN"
    FAILED = "FAILED"
    STOPPED = "STOPPED"
    # The end of the judge of a race.
    ANSWERED = "ANSWERED"
    OTHER = ""

    @property
    def is_conclusion(self) -> bool:
        """False when only the claim ended and the same attempt may continue."""
        return self not in {
            AttemptEnd.REPLACED,
            AttemptEnd.RELEASED,
            AttemptEnd.EXPIRED,
            AttemptEnd.RECALLED,
            AttemptEnd.OTHER,
        }


class WaitCause(StrEnum):
    """The cause of a wait."""

    NEEDS = "NEEDS"
    SLOT = "SLOT"
    BACKOFF = "BACKOFF"
    LIMIT = "LIMIT"
    HELD = "HELD"
    PERSON = "PERSON"
    LEASE = "LEASE"
    PAUSED = "PAUSED"
    RACE = "RACE"


@dataclass(frozen=True, slots=True)
class StageSpan:
    """One stage of an attempt; without an end it is still running.

    `seq`: the journal entry that began it.  `error`: why it ended, if that was no success.
    `agent_run`: the run of the agent that ended it.
    """

    start: datetime
    stage: str
    until: datetime | None = None
    seq: int = 0
    error: str = ""
    agent_run: AgentRun | None = None


@dataclass(slots=True)
class Wait:
    """A time in which no worker had the task; without an end it still waits.

    `starts_attempt`: the next claim begins an attempt.  `after_failure`: the wait follows a failed
    attempt that is tried again.  `seq`: the journal entry that began it.
    """

    start: datetime
    cause: WaitCause
    until: datetime | None = None
    words: str = ""
    due_at: datetime | None = None
    starts_attempt: bool = True
    after_failure: bool = False
    seq: int = 0


@dataclass(frozen=True, slots=True)
class MutantCounts:
    """The mutants of the changed lines.  Those that timed out are killed as well; unjudged ones say
    nothing about the tests, and for untried ones there was no time.
    """

    killed: int
    survived: int
    timed_out: int = 0
    unjudged: int = 0
    untried: int = 0


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check on one commit."""

    at: datetime
    check: str
    outcome: str
    # The outcome with the number of tests, for people.
    words: str
    commit: str
    required: bool
    exit_code: int | None
    seconds: float
    message: str
    log: str
    tests: int | None
    # Failures that the base has as well.
    known: tuple[str, ...]
    # The journal entry, which has further details.
    seq: int
    # The durations of its re-runs after a failure.
    rerun_seconds: tuple[float, ...] = ()
    rerun_passes: int = 0
    # Of the red-first criterion: the tests that fail without the change.
    fail_to_pass: tuple[str, ...] = ()
    # The digest of the files of a hidden check.
    hidden: str = ""
    # The parts of the key of its verdict, and the proof whose verdict was reused.
    key: Mapping[str, str] = field(default_factory=dict)
    reused: Mapping[str, str] = field(default_factory=dict)
    mutants: MutantCounts | None = None
    # The mutants that no test noticed, or the tell-tales; empty for other checks, whose entry has
    # them.
    items: tuple[FindingItem, ...] = ()
    # The entries of the quarantine that excused its failures.
    quarantined: tuple[Mapping[str, str], ...] = ()
    # The entries for none of its tests; empty if it does not name its tests.
    quarantine_unmatched: tuple[str, ...] = ()
    # `known` names only the first of so many failures.
    known_count: int = 0

    @property
    def survivors(self) -> tuple[str, ...]:
        """The mutants that no test noticed, in words."""
        return tuple(f"{item.name}: {item.message}" for item in self.items if self.mutants)


@dataclass(frozen=True, slots=True)
class Judgment:
    """A passed judgment: exactly this commit may land."""

    commit: str
    onto: str
    unchanged: bool
    outcomes: Mapping[str, str]
    checks: tuple[CheckResult, ...]
    # The revision of the plan that the checks are from; 0 for those the task was submitted with.
    check_revision: int = 0


@dataclass(frozen=True, slots=True)
class AgentRun:
    """One run of the agent.  A cost or token count that it did not report is None."""

    seconds: float
    cost: float | None
    tokens: int | None
    session: str
    # How the run ended, unless normally: `hang`, `deadline`, `signal 11`, `code 1`.
    abnormal_end: str
    code: int | None
    # What ended it, if it did not end by itself.
    ended_by: str | None
    signal: int | None
    # The limit that it reported, if any.
    limit: str
    # The commit of everything that it left.
    head: str
    # The journal entry, which has further details.
    seq: int
    # The choice between the merge queue and an early look, with its numbers.
    queue_choice: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """The failure that a prompt was about; `kind` is empty for the first attempt."""

    kind: str
    pattern: str
    path: str
    # The journal entry, which has further details.
    seq: int
    # Whether the agent continued its conversation; empty in older journals.
    conversation: str = ""
    # The draw that chose the template, if several fit.
    draw: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordedFailure:
    """The failure that a decision about a task names."""

    kind: str
    pattern: str
    message: str
    # What failed first, without kind and pattern.
    subject: str
    # The account whose limit was reached.
    account: str
    # A fault of yaoki itself, not of the agent's work.
    is_ours: bool
    # It closes the account of the task's agent for all its tasks.
    closes_account: bool = False

    @property
    def is_limit(self) -> bool:
        return self.closes_account or self.kind == FailureKind.RATE_LIMIT


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """A person's answer to an escalation, the end of a wait, or the undo of a landed task.

    `followers`: the other tasks to which it happened as well, known in the history of a run.
    """

    at: datetime
    task_id: str
    attempt: int
    choice: str
    check: str
    words: str
    channel: str
    followers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PersonWait:
    """An attempt waits for a person's answer; without an end it still does."""

    at: datetime
    attempt: int
    reason: str
    failure: RecordedFailure
    until: datetime | None = None
    choice: str = ""


@dataclass(frozen=True, slots=True)
class Landing:
    """The task landed this commit; it may have been reverted since."""

    at: datetime
    commit: str


@dataclass(frozen=True, slots=True)
class Removal:
    """The cancellation or replacement that took the task out of the run."""

    at: datetime
    event: str
    words: str


@dataclass(slots=True)
class Attempt:
    """One attempt, from the claim on; only its timeline changes it.

    `number` is 0 and `started_at` None until its worktree is ready.  A claim that is given back
    before that stays an attempt without a number.
    """

    start: datetime
    number: int = 0
    # The journal entry of the claim, and the one with the details of the start.
    seq: int = 0
    started_seq: int = 0
    started_at: datetime | None = None
    agent: str = ""
    # As AGENT/ACCOUNT if the agent has several; else empty.
    account: str = ""
    base: str = ""
    until: datetime | None = None
    end: AttemptEnd = AttemptEnd.OTHER
    # The failure in words, or why the claim was given back.
    failure: str = ""
    # The failure that concluded the attempt.
    recorded_failure: RecordedFailure | None = None
    # The end in words, as the journal tells it.
    end_words: str = ""
    landed: bool = False
    stages: tuple[StageSpan, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    agent_runs: tuple[AgentRun, ...] = ()
    # How long an agent worked that was lost; None if it was not, or if that is unknown.
    lost_seconds: float | None = None
    prompt: SentPrompt | None = None
    # For a racing task: the commit of its best candidate.
    race_head: str = ""
    # Its commit passed, and no check is known to tell it from its base.
    is_indistinct: bool = False

    @property
    def agent_title(self) -> str:
        """Its agent as people see it, with the account if the agent has several."""
        return self.account or self.agent

    @property
    def head(self) -> str:
        """The commit of everything that its agent left; empty before that."""
        return self.agent_runs[-1].head if self.agent_runs else self.race_head


@dataclass(frozen=True, slots=True)
class AttemptSpan:
    """The time from the claim of an attempt to its conclusion, whoever worked on it.

    An answer may continue an attempt that had ended: that is another span (`is_continued`).
    """

    start: datetime
    seq: int
    number: int
    agent: str
    is_continued: bool
    until: datetime | None = None
    end: AttemptEnd = AttemptEnd.OTHER
    failure: RecordedFailure | None = None
    landed_commit: str = ""


@dataclass(frozen=True, slots=True)
class EndedInterval:
    """Something that an entry ended, with the attempt and the stage in which it happened."""

    interval: Wait | StageSpan | CheckResult | AttemptSpan
    attempt: AttemptSpan | None = None
    stage: StageSpan | None = None
