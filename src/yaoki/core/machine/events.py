"""Events: the conclusions about a task; each is written to the journal.

`NAME` is the name of an event in the journal.  A `JournalNote` changes nothing in a task; every
other event has a case in `evolve`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.machine.race_events import (
    CandidateFailed,
    CandidateProven,
    CandidateReleased,
    CandidateRetired,
    CandidateSettled,
    JudgeCalled,
    JudgeEnded,
    JudgeSettled,
    RaceDecided,
    RaceStarted,
)
from yaoki.core.machine.request_events import (
    Answered,
    Cancelled,
    CancelRequested,
    ChecksRevised,
    Recalled,
    RecallRequested,
    UndoCompleted,
    UndoDropped,
    UndoRequested,
    WaitEnded,
)
from yaoki.core.model import (
    AgentExit,
    Counts,
    FailOverCause,
    Failure,
    PlannedBy,
    Question,
    QueueChoice,
    Reason,
    RecoveryStrategy,
    RefusalCause,
    RetryMethod,
    Spend,
    Stage,
    TaskId,
    TaskSpec,
)
from yaoki.core.model.stored_word import stored_as
from yaoki.core.model.treatment import ArmDraw, AttemptConversation, Treatment


@dataclass(frozen=True, slots=True)
class Rationale:
    """The rule behind a decision, its inputs, and what would have changed it."""

    rule: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    otherwise: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Submitted:
    """A new task.  A replacement inherits the counts and the spend of its lineage.

    A candidate names the task that it races for.
    """

    NAME: ClassVar[str] = "TASK_SUBMITTED"
    n: int
    spec: TaskSpec
    parent: str = ""
    lineage: str = ""
    counts: Counts = field(default_factory=Counts)
    spend: Spend = field(default_factory=Spend, metadata=stored_as("spent_on"))
    race_task: TaskId = TaskId("")


@dataclass(frozen=True, slots=True)
class Claimed:
    NAME: ClassVar[str] = "TASK_CLAIMED"
    holder: str
    epoch: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class AgentSwitched:
    """Before an agent starts, the next agent of the chain takes over: the account of the current
    agent is closed.

    `why`: what the service of that account refused.
    """

    NAME: ClassVar[str] = "AGENT_SWITCHED"
    agent_index: int
    agent: str
    why: str
    cause: FailOverCause = FailOverCause.NONE


@dataclass(frozen=True, slots=True)
class LeaseExpired:
    """`counted` is false when a person resumed a stopped run: then no worker failed."""

    NAME: ClassVar[str] = "LEASE_EXPIRED"
    holder: str
    epoch: int
    counted: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class LeaseReleased:
    """A worker released its lease; the stage does not change.

    `due_at`: the task is not claimed before this time, when the missing resource may be free.
    `proof_discarded`: the checks failed on top of work that did not land, so they run again.
    `avoids_queue`: the work is rejected already, and is verified outside the merge queue.
    """

    NAME: ClassVar[str] = "LEASE_RELEASED"
    holder: str
    epoch: int
    why: str = ""
    due_at: datetime | None = None
    proof_discarded: bool = False
    avoids_queue: bool = False


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
    protected_hashes: Mapping[str, str] = field(default_factory=dict, metadata=stored_as("guards"))
    head: str = ""
    # The account, as AGENT/ACCOUNT, of an agent that has several; else empty.
    account: str = ""


@dataclass(frozen=True, slots=True)
class PromptSent:
    """The agent was started with this prompt; it is never started again for this attempt.

    `spend_counted`: the agent run counts from now on, even if its end is never recorded.
    """

    NAME: ClassVar[str] = "PROMPT_SENT"
    kind: str = ""
    pattern: str = ""
    path: str = ""
    steps: tuple[str, ...] = ()
    fault: str = ""
    bytes: int = 0
    spend_counted: bool = field(default=False, metadata=stored_as("counted"))
    agent: str = ""
    conversation: AttemptConversation = AttemptConversation.UNKNOWN
    # With several templates for the pattern, the draw that chose this one.
    draw: ArmDraw | None = None

    @property
    def treatment(self) -> Treatment | None:
        """The treatment of the failure before the attempt; none in older journals."""
        if not self.kind or not self.conversation:
            return None
        return Treatment(self.pattern or self.kind, self.path, self.agent, self.conversation)


@dataclass(frozen=True, slots=True)
class AgentFinished:
    NAME: ClassVar[str] = "AGENT_FINISHED"
    exit: AgentExit
    head: str
    tree: str
    attempt_file_count: int = field(default=0, metadata=stored_as("changed"))
    diff_digest: str = field(default="", metadata=stored_as("diff"))
    left_out_files: tuple[str, ...] = field(default=(), metadata=stored_as("left_out"))
    queue_choice: QueueChoice | None = None
    # The work is that of a person, who answered `done`; no agent ran.
    by_person: bool = False
    # The files that this person changed since the last attempt; None in older journals.
    person_file_count: int | None = None


@dataclass(frozen=True, slots=True)
class AgentRunLost:
    """The agent was started and its result is unknown.

    `seconds`: from its start to the last time it was seen running; None if that is unknown.
    `head` is a commit with the files that it left, and `tree` its tree; empty if it left none.
    """

    NAME: ClassVar[str] = "AGENT_RUN_LOST"
    seconds: float | None = None
    head: str = ""
    tree: str = ""


@dataclass(frozen=True, slots=True)
class JointProofFailed:
    """A check failed on work of several tasks together, so the task is verified alone.

    It is not known yet which task's work failed, so no attempt is counted and no agent is told.
    """

    NAME: ClassVar[str] = "JOINT_PROOF_FAILED"
    commit: str
    tasks: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on a commit.  If it passed, exactly this `commit` may land.

    `same_at_base`: the checks that are known to have passed without the work, with the same tests.
    """

    NAME: ClassVar[str] = "QUALITY_JUDGMENT"
    passed: bool
    commit: str
    onto: str
    checks: Mapping[str, str] = field(default_factory=dict)
    unchanged: bool = False
    same_at_base: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LandingRefused:
    """`avoids_queue`: the next proof is of the branch as it is, because the queued tasks are likely
    to fail.  `why`: only older journals have it, where a task that was verified with it was
    withdrawn.  `passed_onto`: the commit on which it passed, unless the queue alone had it.
    """

    NAME: ClassVar[str] = "LAND_REFUSED"
    head: str
    why: str = ""
    cause: RefusalCause = RefusalCause.MOVED
    avoids_queue: bool = False
    passed_onto: str = ""


@dataclass(frozen=True, slots=True)
class Landed:
    NAME: ClassVar[str] = "TASK_LANDED"
    commit: str
    already: bool = False
    taken_along_by: str = ""
    # It has no work of its own: the commit that was there passed its checks.
    is_verification: bool = False


@dataclass(frozen=True, slots=True)
class RetryDecided:
    """The attempt failed and another follows at `due_at`.

    With another `agent_index` that agent of the chain continues, because of `fail_over`.
    `account_until`: the account of the failed agent is closed until then.  `account_avoided`: tasks
    with another account in their chain do not wait for this one.  A FRESH `conversation` ends the
    previous one; `draw` chose the conversation and the agent.
    """

    NAME: ClassVar[str] = "RETRY_DECISION"
    failure: Failure
    stage: Stage
    due_at: datetime
    current_retry_count: int
    max_retries: int
    delay_ms: int
    reasoning: str
    modification_hint: str = ""
    strategy: RetryMethod = RetryMethod.CONTINUE
    fresh: bool = False
    agent_index: int = 0
    same_work_failures: int = field(default=0, metadata=stored_as("same_failures"))
    same_fingerprint_failures: int = field(default=0, metadata=stored_as("alike_failures"))
    work_digest: str = field(default="", metadata=stored_as("tree"))
    failure_kinds: tuple[str, ...] = field(default=(), metadata=stored_as("kinds"))
    decision: str = "RETRY"
    failure_type: str = ""
    fail_over: FailOverCause = FailOverCause.NONE
    account_until: datetime | None = None
    account_avoided: bool = False
    conversation: AttemptConversation = AttemptConversation.UNKNOWN
    draw: ArmDraw | None = None
    why: Rationale = field(default_factory=Rationale)


@dataclass(frozen=True, slots=True)
class EscalationDecided:
    NAME: ClassVar[str] = "ESCALATE_DECISION"
    failure: Failure
    blocked: Reason
    reason: Mapping[str, str]
    failure_summary: Mapping[str, Any]
    question: Question
    stage: Stage = Stage.PREPARE
    same_work_failures: int = field(default=0, metadata=stored_as("same_failures"))
    same_fingerprint_failures: int = field(default=0, metadata=stored_as("alike_failures"))
    work_digest: str = field(default="", metadata=stored_as("tree"))
    failure_kinds: tuple[str, ...] = field(default=(), metadata=stored_as("kinds"))
    current_retry_count: int = 0
    max_retries: int = 0
    decision: str = "ESCALATE"
    why: Rationale = field(default_factory=Rationale)


@dataclass(frozen=True, slots=True)
class AwaitingRerun:
    """The retries are used up; the task gets one more re-run when no other task can be claimed."""

    NAME: ClassVar[str] = "RERUN_HELD"
    failure: Failure
    blocked: Reason
    stage: Stage = Stage.PREPARE
    same_work_failures: int = field(default=0, metadata=stored_as("same_failures"))
    same_fingerprint_failures: int = field(default=0, metadata=stored_as("alike_failures"))
    work_digest: str = field(default="", metadata=stored_as("tree"))
    failure_kinds: tuple[str, ...] = field(default=(), metadata=stored_as("kinds"))
    current_retry_count: int = 0
    max_retries: int = 0
    why: Rationale = field(default_factory=Rationale)


@dataclass(frozen=True, slots=True)
class RerunGranted:
    """The task gets one fresh attempt on `head`, once per lineage."""

    NAME: ClassVar[str] = "RERUN_GRANTED"
    head: str
    strategy: RecoveryStrategy | None = None
    why: Rationale = field(default_factory=Rationale)
    # The agent of the chain that makes it; None for the one that failed.
    agent_index: int | None = None


@dataclass(frozen=True, slots=True)
class RecoveryStarted:
    """A group continues after subtasks failed; at most once without a person.

    ESCALATE changes nothing: the questions are about the subtasks.
    """

    NAME: ClassVar[str] = "RECOVERY_START"
    strategy: RecoveryStrategy
    failed_subtasks: tuple[str, ...]
    succeeded_subtasks: tuple[str, ...]
    why: Rationale = field(default_factory=Rationale)


@dataclass(frozen=True, slots=True)
class Replaced:
    """Another task replaces this one; a final check is replaced by the next final check."""

    NAME: ClassVar[str] = "TASK_REPLACED"
    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Planned:
    """The result of a plan task.  `specs` become tasks in the same transaction.

    With `pause` the run waits for the approval of a person.
    """

    NAME: ClassVar[str] = "TASKS_PLANNED"
    names: tuple[str, ...]
    replaces: Mapping[str, str] = field(default_factory=dict)
    pause: str = ""
    by: PlannedBy = PlannedBy.PLANNER
    specs: tuple[TaskSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class CulpritFound:
    """A final check failed; bisection found the landing that broke it, which is reverted."""

    NAME: ClassVar[str] = "TASK_BLAMED"
    culprit: TaskId
    partners: tuple[TaskId, ...]
    commit: str
    checked_commits: int = field(metadata=stored_as("looked"))
    failure: Failure


@dataclass(frozen=True, slots=True)
class LandingReverted:
    """The landed work of the task was reverted on its branch; the task waits again."""

    NAME: ClassVar[str] = "TASK_UNLANDED"
    head: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class RowRefused:
    """The row of the task contradicts the journal or git, or cannot be read.

    The row is reset; the question to a person follows in the same transaction.
    """

    NAME: ClassVar[str] = "ROW_REFUSED"
    why: str


Event = (
    Submitted
    | AgentSwitched
    | Claimed
    | LeaseExpired
    | LeaseReleased
    | AttemptStarted
    | PromptSent
    | AgentFinished
    | AgentRunLost
    | Judged
    | JointProofFailed
    | LandingRefused
    | Landed
    | RetryDecided
    | EscalationDecided
    | AwaitingRerun
    | RerunGranted
    | RecoveryStarted
    | Replaced
    | Planned
    | CulpritFound
    | LandingReverted
    | Answered
    | WaitEnded
    | CancelRequested
    | Cancelled
    | RecallRequested
    | Recalled
    | UndoRequested
    | UndoDropped
    | UndoCompleted
    | ChecksRevised
    | RaceStarted
    | CandidateReleased
    | CandidateProven
    | CandidateFailed
    | CandidateRetired
    | CandidateSettled
    | JudgeCalled
    | JudgeEnded
    | JudgeSettled
    | RaceDecided
    | RowRefused
    | JournalNote
)


def event_name(event: Event) -> str:
    return event.name if isinstance(event, JournalNote) else event.NAME
