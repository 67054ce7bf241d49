"""Report: what a stage saw.  Event: what was concluded; it is written to the journal.

An event's `NAME` is its name on the wire.  Events that only tell (`Note`) change
nothing in a task; all others have a case in `machine.evolve`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from yaoki.core.model import (
    AgentExit,
    Choice,
    Counts,
    Failure,
    Finding,
    Question,
    Reason,
    Spec,
    Stage,
    Verdict,
)

# ------------------------------------------------------------------ reports


@dataclass(frozen=True, slots=True)
class Prepared:
    """A worktree stands ready at `base`."""

    base: str
    worktree: str
    host: str
    fresh: bool
    tree: str = ""
    snapshot: str = ""
    warning: str = ""
    guards: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Worked:
    """The agent ended and everything it left is committed as `head`."""

    exit: AgentExit
    head: str
    tree: str
    changed: tuple[str, ...] = ()
    tampered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verified:
    """Every check that had to run ran on `commit`, which has `onto` as its ancestor."""

    verdict: Verdict
    commit: str
    onto: str
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conflicted:
    """The task's work and the run branch do not merge."""

    paths: tuple[str, ...]
    onto: str
    tree: str


@dataclass(frozen=True, slots=True)
class LandedOn:
    """The run branch holds `commit`; `already` when it did before this try."""

    commit: str
    already: bool = False


@dataclass(frozen=True, slots=True)
class Moved:
    """The run branch moved to `head` meanwhile; nothing was landed."""

    head: str


@dataclass(frozen=True, slots=True)
class Faulted:
    """Our own infrastructure failed; the agent is not to blame."""

    message: str
    transient: bool
    code: str = ""


@dataclass(frozen=True, slots=True)
class Lost:
    """The agent was cut off in the middle; nobody knows what it would have done."""

    why: str


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The tree was ended because a person cancelled; its work is kept at `ref`."""

    why: str
    ref: str = ""


Report = Prepared | Worked | Verified | Conflicted | LandedOn | Moved | Faulted | Lost | Interrupted

# ------------------------------------------------------------------ events


@dataclass(frozen=True, slots=True)
class Why:
    """The rule behind a decision, what it looked at, and what would have changed it."""

    rule: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    otherwise: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Submitted:
    NAME: ClassVar[str] = "TASK_SUBMITTED"
    n: int
    spec: Spec


@dataclass(frozen=True, slots=True)
class Claimed:
    NAME: ClassVar[str] = "TASK_CLAIMED"
    holder: str
    epoch: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class LeaseExpired:
    """`counted` is false when a person went on with a stopped run: nobody failed to deliver."""

    NAME: ClassVar[str] = "LEASE_EXPIRED"
    holder: str
    epoch: int
    counted: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Released:
    """A worker gave its claim back in good order; the stage stays as it is."""

    NAME: ClassVar[str] = "LEASE_RELEASED"
    holder: str
    epoch: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    NAME: ClassVar[str] = "ATTEMPT_STARTED"
    attempt: int
    agent: str
    base: str
    worktree: str
    host: str
    fresh: bool
    tree: str = ""
    snapshot: str = ""
    guards: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PromptSent:
    """The agent was started with these words; it is never started again for this attempt."""

    NAME: ClassVar[str] = "PROMPT_SENT"
    kind: str = ""
    pattern: str = ""
    path: str = ""
    steps: tuple[str, ...] = ()
    fault: str = ""
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class AgentFinished:
    NAME: ClassVar[str] = "AGENT_FINISHED"
    exit: AgentExit
    head: str
    tree: str
    changed: int = 0


@dataclass(frozen=True, slots=True)
class Judged:
    """A passed judgment moves the task on to land exactly `commit`."""

    NAME: ClassVar[str] = "QUALITY_JUDGMENT"
    passed: bool
    commit: str
    onto: str
    checks: Mapping[str, str] = field(default_factory=dict)
    unchanged: bool = False


@dataclass(frozen=True, slots=True)
class LandRefused:
    NAME: ClassVar[str] = "LAND_REFUSED"
    head: str


@dataclass(frozen=True, slots=True)
class Landed:
    NAME: ClassVar[str] = "TASK_LANDED"
    commit: str
    already: bool = False


@dataclass(frozen=True, slots=True)
class RetryDecided:
    """The fields of seed 000 section 6, and what is needed to go on and to explain."""

    NAME: ClassVar[str] = "RETRY_DECISION"
    failure: Failure
    stage: Stage
    due_at: datetime
    current_retry_count: int
    max_retries: int
    delay_ms: int
    reasoning: str
    modification_hint: str = ""
    strategy: str = "continue"
    fresh: bool = False
    agent_index: int = 0
    same_failures: int = 0
    tree: str = ""
    decision: str = "RETRY"
    failure_type: str = ""
    why: Why = field(default_factory=Why)


@dataclass(frozen=True, slots=True)
class EscalateDecided:
    NAME: ClassVar[str] = "ESCALATE_DECISION"
    failure: Failure
    blocked: Reason
    reason: Mapping[str, str]
    failure_summary: Mapping[str, Any]
    question: Question
    stage: Stage = Stage.PREPARE
    same_failures: int = 0
    tree: str = ""
    current_retry_count: int = 0
    max_retries: int = 0
    decision: str = "ESCALATE"
    why: Why = field(default_factory=Why)


@dataclass(frozen=True, slots=True)
class Answered:
    NAME: ClassVar[str] = "ESCALATION_ANSWERED"
    choice: Choice
    words: str = ""
    check: str = ""
    forgiven: Counts = field(default_factory=Counts)


@dataclass(frozen=True, slots=True)
class CancelRequested:
    NAME: ClassVar[str] = "CANCEL_REQUESTED"
    why: str = ""


@dataclass(frozen=True, slots=True)
class Cancelled:
    NAME: ClassVar[str] = "TASK_CANCELLED"
    why: str = ""
    kept: str = ""


@dataclass(frozen=True, slots=True)
class UndoRequested:
    """The wish, durable before the branch moves: a kill in between is seen and finished."""

    NAME: ClassVar[str] = "UNDO_REQUESTED"
    commit: str


@dataclass(frozen=True, slots=True)
class Undone:
    """A person took landed work back off the run branch."""

    NAME: ClassVar[str] = "TASK_UNDONE"
    commit: str
    question: Question


@dataclass(frozen=True, slots=True)
class Note:
    """Tells something and changes nothing; `name` is the name on the wire."""

    name: str
    data: Mapping[str, Any] = field(default_factory=dict)


Event = (
    Submitted
    | Claimed
    | LeaseExpired
    | Released
    | AttemptStarted
    | PromptSent
    | AgentFinished
    | Judged
    | LandRefused
    | Landed
    | RetryDecided
    | EscalateDecided
    | Answered
    | CancelRequested
    | Cancelled
    | UndoRequested
    | Undone
    | Note
)


def name_of(event: Event) -> str:
    return event.name if isinstance(event, Note) else event.NAME


def check_finished(finding: Finding, commit: str) -> Note:
    return Note(
        "CHECK_FINISHED",
        {
            "check": finding.check,
            "outcome": finding.outcome.value,
            "required": finding.required,
            "commit": commit,
            "pattern": finding.pattern,
            "message": finding.message,
            "items": [
                {"name": i.name, "message": i.message, "where": i.where} for i in finding.items
            ],
            "exit_code": finding.exit_code,
            "seconds": round(finding.seconds, 3),
            "log": finding.log,
        },
    )
