"""Closed sets of words: states, stages, kinds, reasons, choices, outcomes; most are stored."""

from __future__ import annotations

from enum import StrEnum, unique


@unique
class State(StrEnum):
    """The state of a task.  Ready and blocked are derived, never stored."""

    WAITING = "WAITING"
    ACTIVE = "ACTIVE"
    ESCALATED = "ESCALATED"
    DONE = "DONE"
    CANCELLED = "CANCELLED"
    REPLACED = "REPLACED"

    @property
    def is_final(self) -> bool:
        return self in {State.DONE, State.CANCELLED, State.REPLACED}


@unique
class Stage(StrEnum):
    """The next piece of work of a task."""

    PREPARE = "PREPARE"
    WORK = "WORK"
    VERIFY = "VERIFY"
    LAND = "LAND"


@unique
class WaitReason(StrEnum):
    """The step that a waiting task waits for; all but CLAIM occur only in WAITING tasks.

    RERUN: its retries are used up, and its one re-run, a question or a replacement comes when
    nothing else in the run can be claimed.  DECISION: its landing was reverted or its row refused,
    and a retry or an escalation follows in the same transaction.  RACE: a racing task waits for its
    candidates, a candidate for its start or for the end of its race.
    """

    CLAIM = "claim"
    RERUN = "rerun"
    DECISION = "decision"
    RACE = "race"


class QueueEntry(StrEnum):
    """How a task takes part in the merge queue of its branch.

    EARLY_LOOK is verified on the branch as it is, apart from the queue.  The others are verified on
    top of the queue: ALONE with nothing but its own work, TOGETHER with the verified work of tasks
    that wait for a landing.
    """

    EARLY_LOOK = "early-look"
    ALONE = "alone"
    TOGETHER = "together"


@unique
class RefusalCause(StrEnum):
    """Why verified work could not land, so that it is verified again.

    MOVED: the branch has moved.  PREDECESSOR: the work was verified on top of a candidate of the
    merge queue that did not land.  WAITED: tasks ahead of it in the queue have not landed yet, and
    none of them takes it along, so it enters the queue itself.  COMPANION: a task that was
    verified with it was withdrawn.  ANSWER: a task that the answer of a plan task names is gone.
    UNKNOWN: the branch is where it should be and did not take the commit, which a machine that is
    gone may have made.
    """

    MOVED = "moved"
    PREDECESSOR = "predecessor"
    WAITED = "waited"
    COMPANION = "companion"
    ANSWER = "answer"
    UNKNOWN = "unknown"


@unique
class PendingRequest(StrEnum):
    """A request by a person, or by a reverted dependency, that no worker has carried out yet.

    CANCEL wins over RECALL.  Both are over once the task lands: a landing is not interrupted.
    UNDO exists only for a DONE task.  A CANCELLED task keeps its CANCEL as a record.
    """

    NONE = "none"
    RECALL = "recall"
    CANCEL = "cancel"
    UNDO = "undo"


@unique
class AttemptMode(StrEnum):
    """The author of the next attempt, and the rule it works under.

    NORMAL: an agent, with retries.  RERUN: an agent, once more from the run branch, where a failure
    of its work is not retried.  TAKEN_OVER: a person did the work, so no agent is started.
    """

    NORMAL = "normal"
    RERUN = "rerun"
    TAKEN_OVER = "taken_over"


@unique
class TaskKind(StrEnum):
    """The kind of result a task delivers; it decides what counts as success.

    A fix is a change that must also show a test which fails without it (rule 17.1).  No plan has a
    task of kind JUDGE: a race adds it, and it lands nothing (rule 18.4).
    """

    CHANGE = "change"
    FIX = "fix"
    REPORT = "report"
    CHECK = "check"
    PLAN = "plan"
    GROUP = "group"
    JUDGE = "judge"

    @property
    def is_change(self) -> bool:
        return self in {TaskKind.CHANGE, TaskKind.FIX}


@unique
class CriterionLevel(StrEnum):
    """The consequence when a criterion of the proof is not met: nothing, a note, or a failure."""

    OFF = "off"
    TOLD = "told"
    REQUIRED = "required"


@unique
class FailureKind(StrEnum):
    """The class of a failure."""

    INCOMPLETE = "INCOMPLETE"
    QUALITY_FAILURE = "QUALITY_FAILURE"
    TIMEOUT = "TIMEOUT"
    TRANSIENT_ERROR = "TRANSIENT_ERROR"
    RATE_LIMIT = "RATE_LIMIT"
    CONFLICT = "CONFLICT"
    LOST = "LOST"
    FATAL_ERROR = "FATAL_ERROR"
    ESCALATE_REQUIRED = "ESCALATE_REQUIRED"
    RESOURCE_EXHAUSTED = "RESOURCE_EXHAUSTED"


# Failures of the work itself: the next prompt reports them to the agent.
CONTENT_KINDS = frozenset(
    {FailureKind.INCOMPLETE, FailureKind.QUALITY_FAILURE, FailureKind.TIMEOUT, FailureKind.CONFLICT}
)


@unique
class Reason(StrEnum):
    """The reason why a task is blocked."""

    MAX_RETRIES = "MAX_RETRIES"
    MAX_RETRIES_INTEGRATION = "MAX_RETRIES_INTEGRATION"
    CONFLICT = "CONFLICT"
    SYSTEM_ERROR_TRANSIENT = "SYSTEM_ERROR_TRANSIENT"
    SYSTEM_ERROR_PERMANENT = "SYSTEM_ERROR_PERMANENT"
    MANUAL = "MANUAL"
    DEPENDENCY_FAILED = "DEPENDENCY_FAILED"
    NEEDS_HUMAN = "NEEDS_HUMAN"
    RESOURCE_EXHAUSTED = "RESOURCE_EXHAUSTED"
    UNKNOWN = "UNKNOWN"


@unique
class PauseCause(StrEnum):
    """The reason why a run starts nothing new until a person says so."""

    APPROVAL = "approval"
    BRANCH = "branch"
    BUDGET = "budget"
    FAILURE = "failure"
    REMOTE = "remote"
    STORE = "store"
    UNKNOWN = "unknown"


@unique
class FaultSource(StrEnum):
    """The part of our own infrastructure that failed, where it is known."""

    GIT = "git"
    SETUP = "setup"
    # The agent cannot be started here.
    AGENT = "agent"


@unique
class StoreMismatch(StrEnum):
    """The mismatch that a `RECONCILED` line repaired: its field `mismatch`."""

    FOREIGN_COMMIT = "foreign step"
    CORRUPT_STORE = "corrupt store"
    STALE_LEASE = "stale lease"
    ORPHAN_WORKTREE = "orphan worktree"


@unique
class Choice(StrEnum):
    """A person's possible answer to an escalation."""

    RETRY = "retry"
    DONE = "done"
    WAIVE = "waive"
    ABORT = "abort"


@unique
class RetryMethod(StrEnum):
    """The difference between the next attempt and the last."""

    CONTINUE = "continue"
    FRESH = "fresh"
    NEXT_AGENT = "next-agent"
    SAME_STAGE = "same-stage"
    PARK = "park"


@unique
class BackoffType(StrEnum):
    """The growth of the delay from one retry to the next."""

    FIXED = "fixed"
    LINEAR = "linear"
    EXPONENTIAL = "exponential"


@unique
class CheckType(StrEnum):
    """The type of a check: run a command, look at a file or at git, ask an agent, call Python."""

    COMMAND = "command"
    FILE = "file"
    GIT = "git"
    JUDGE = "judge"
    PYTHON = "python"


@unique
class CheckRunPurpose(StrEnum):
    """The reason for one execution of a check.

    CANDIDATE: for the verdict.  AGAIN: to tell a flaky failure from a real one.  BASE: on a commit
    without the task's work.  COMPARISON: with other files than those of the candidate.
    MUTANT: with a fault in the changed lines.  BISECTION: for the landing that broke a branch.
    """

    CANDIDATE = "candidate"
    AGAIN = "again"
    BASE = "base"
    COMPARISON = "comparison"
    MUTANT = "mutant"
    BISECTION = "bisection"


@unique
class GitCheck(StrEnum):
    """The fact that a check of type `git` demands."""

    NONE = ""
    CLEAN = "clean"
    SCOPE = "scope"
    PUSHED = "pushed"
    MERGED = "merged"


@unique
class BaselineMode(StrEnum):
    """KNOWN: failures of the base are not blamed on the task.  STRICT: everything must pass."""

    STRICT = "strict"
    KNOWN = "known"


@unique
class PromptChannel(StrEnum):
    """The channel through which an agent gets its prompt."""

    ARGUMENT = "argument"
    STDIN = "stdin"
    FILE = "file"


@unique
class PlanningRole(StrEnum):
    """The reason why a plan task exists: the source of the request for its tasks."""

    GOAL = "goal"
    PHASE = "phase"
    REPLAN = "replan"
    ITERATION = "iteration"
    TASK = "task"


@unique
class PlannedBy(StrEnum):
    """The author of the tasks of a plan task."""

    PLANNER = ""
    PERSON = "person"


@unique
class RecoveryStrategy(StrEnum):
    """The way a group continues after some of its subtasks failed."""

    RETRY_FAILED_ONLY = "RETRY_FAILED_ONLY"
    ROLLBACK_AND_RETRY = "ROLLBACK_AND_RETRY"
    PARTIAL_COMMIT = "PARTIAL_COMMIT"
    ESCALATE = "ESCALATE"


@unique
class Outcome(StrEnum):
    """The result of one check.  BROKEN: it could not run, which proves nothing.  FLAKY: it failed
    and then passed on the same commit.
    """

    PASSED = "PASSED"
    FLAKY = "FLAKY"
    FAILED = "FAILED"
    BROKEN = "BROKEN"
    SKIPPED = "SKIPPED"
    WAIVED = "WAIVED"


@unique
class OnFailure(StrEnum):
    """The consequence of a failing check."""

    RETRY = "retry"
    ABORT = "abort"
    SKIP = "skip"
