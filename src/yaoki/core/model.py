"""The nouns: run, task, attempt, check, finding, verdict, failure, lease."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum, unique
from typing import Any, NewType

RunId = NewType("RunId", str)
TaskId = NewType("TaskId", str)

# The task that proves a plan's done_when; later proofs of the same run are numbered.
DONE_WHEN = "done_when"

# How often a judge is asked about one commit before a person decides.
JUDGE_TRIES_MAX = 3

# The group of entry points by which installed packages bring checks of their own.
CHECK_ENTRY_POINTS = "yaoki.checks"

# What must hold of any change, whatever the plan checks; a person may waive each by its name.
BUILT_IN = (
    *("scope", "mass-deletion", "conflict-markers", "test-integrity"),
    *("Q1", "Q2", "Q3", "Q4", "Q5", "Q6"),
)


@unique
class State(StrEnum):
    """Where a task stands.  Ready and blocked are derived, never stored."""

    WAITING = "WAITING"
    ACTIVE = "ACTIVE"
    ESCALATED = "ESCALATED"
    DONE = "DONE"
    CANCELLED = "CANCELLED"
    REPLACED = "REPLACED"

    @property
    def final(self) -> bool:
        return self in {State.DONE, State.CANCELLED, State.REPLACED}


@unique
class Stage(StrEnum):
    """The next piece of work of a task."""

    PREPARE = "PREPARE"
    WORK = "WORK"
    VERIFY = "VERIFY"
    LAND = "LAND"


@unique
class TaskKind(StrEnum):
    """What counts as success follows from the kind."""

    CHANGE = "change"
    REPORT = "report"
    CHECK = "check"
    PLAN = "plan"
    GROUP = "group"


@unique
class Kind(StrEnum):
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


# Failures of what the agent made: they are told to the agent in the next prompt.
CONTENT = frozenset({Kind.INCOMPLETE, Kind.QUALITY_FAILURE, Kind.TIMEOUT, Kind.CONFLICT})


@unique
class Reason(StrEnum):
    """Why a task is blocked."""

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
class Choice(StrEnum):
    """What a person may answer to an escalation."""

    RETRY = "retry"
    DONE = "done"
    WAIVE = "waive"
    ABORT = "abort"


@unique
class Outcome(StrEnum):
    """What one check said.  BROKEN: it could not run, which proves nothing.  FLAKY: it failed,
    and passed when it was run again on the same commit.
    """

    PASSED = "PASSED"
    FLAKY = "FLAKY"
    FAILED = "FAILED"
    BROKEN = "BROKEN"
    SKIPPED = "SKIPPED"
    WAIVED = "WAIVED"


@unique
class OnFailure(StrEnum):
    """What a failing check asks for."""

    RETRY = "retry"
    ABORT = "abort"
    SKIP = "skip"


# ------------------------------------------------------------------ what is asked


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before the next try."""

    type: str = "exponential"
    initial: timedelta = timedelta(seconds=1)
    multiplier: float = 2.0
    maximum: timedelta = timedelta(seconds=30)
    jitter: float = 0.1


@dataclass(frozen=True, slots=True)
class RetryRule:
    """How often one kind of failure is tried again, and when."""

    retries_max: int
    backoff: Backoff = field(default_factory=Backoff)


@dataclass(frozen=True, slots=True)
class Policy:
    """The retry rules of one task.  A kind without a rule is not retried."""

    rules: Mapping[Kind, RetryRule]
    content_retries_max: int = 3
    total_attempts_max: int = 12
    faults_max: int = 3
    deliveries_max: int = 5
    landings_max: int = 10
    rate_limit_wait_max: timedelta = timedelta(hours=6)
    hints: Mapping[Kind, str] = field(default_factory=dict)
    message_max: int = 500
    trace_link: bool = True


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """One thing that must hold.  `type` is `command`, `file`, `git`, `judge` or `python`.

    `argv` or `shell` for a command; `file` maps exists/absent/contains/matches; `git` is
    clean, scope, pushed or merged.  `extract` names what makes which param of a failure.
    `agent` judges by what `ask` says counts; `entry` names a function of an installed package,
    called with `options`.
    """

    name: str
    type: str = "command"
    argv: tuple[str, ...] = ()
    shell: str = ""
    path: str = ""
    file: Mapping[str, Any] = field(default_factory=dict)
    git: str = ""
    success: str = "exitCode:0"
    pattern: str = ""
    required: bool = True
    on_failure: OnFailure = OnFailure.RETRY
    timeout: timedelta = timedelta(minutes=10)
    baseline: str = "strict"
    rerun: bool = True
    reader: str = ""
    cwd: str = "."
    env: Mapping[str, str] = field(default_factory=dict)
    extract: Mapping[str, str] = field(default_factory=dict)
    agent: AgentSpec | None = None
    ask: str = ""
    entry: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PromptFiles:
    """Which files hold the words about a task's failures; empty: the usual ones.

    `stem` is their folder, part by part; `names` gives a pattern its edition and adaptation.
    """

    stem: tuple[str, ...] = ()
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """How to call one agent.  `prompt` says by which channel it gets its words.

    `preset` is `command` or `scripted` here; `options` belong to the preset.
    """

    name: str
    preset: str = "command"
    command: tuple[str, ...] = ()
    prompt: str = "argument"
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    model: str = ""
    account: str = ""
    concurrency: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Spec:
    """A task as the plan gives it: frozen at submit, changed only by a new revision."""

    name: str
    goal: str
    kind: TaskKind = TaskKind.CHANGE
    needs: tuple[str, ...] = ()
    checks: tuple[CheckSpec, ...] = ()
    agents: tuple[AgentSpec, ...] = ()
    scope: tuple[str, ...] = ()
    priority: int = 0
    required: bool = True
    timeout: timedelta = timedelta(hours=1)
    hang: timedelta = timedelta(minutes=10)
    policy: Policy = field(default_factory=lambda: Policy(rules={}))
    setup: tuple[tuple[str, ...], ...] = ()
    fixes: tuple[str, ...] = ()
    allow_mass_deletion: bool = False
    allow_weaker_tests: bool = False
    quality: tuple[str, ...] = ("Q1", "Q2", "Q3", "Q4", "Q5", "Q6")
    phase: str = ""
    language: str = "en"
    budget: Mapping[str, float] = field(default_factory=dict)
    prompts: PromptFiles = field(default_factory=PromptFiles)


# ------------------------------------------------------------------ what was seen


@dataclass(frozen=True, slots=True)
class Item:
    """One detail of a failing check: a test, a file, a line."""

    name: str
    message: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check saw on one commit."""

    check: str
    outcome: Outcome
    required: bool = True
    on_failure: OnFailure = OnFailure.RETRY
    pattern: str = ""
    message: str = ""
    items: tuple[Item, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    exit_code: int | None = None
    output: str = ""
    log: str = ""
    seconds: float = 0.0
    transient: bool = False

    @property
    def settled(self) -> bool:
        """Does this finding let the list go on?"""
        return self.outcome not in {Outcome.FAILED, Outcome.BROKEN} or not self.required


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the checks said of one commit.

    Nothing checked is nothing proven: a verdict without a passing (or by a person
    waived) finding does not pass, and skipped is not passed.
    """

    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        good = {Outcome.PASSED, Outcome.FLAKY, Outcome.WAIVED}
        proven = any(f.outcome in good for f in self.findings)
        return proven and all(f.settled for f in self.findings)

    @property
    def failing(self) -> Finding | None:
        return next((f for f in self.findings if not f.settled), None)


@dataclass(frozen=True, slots=True)
class AgentExit:
    """How an agent ended.  `ended_by` is empty when it ended by itself.

    Otherwise: deadline, hang, lease, cancel, output, stop.  `error` is the bounded
    tail of its error channel; `question` what it asked.  `failed`: its own note says so.
    `start_fault`: this machine could not start it.  `report_bytes`: how much it said on its
    output; `said`: the end of it.

    `limit` is what its service or its own bounds said: rate, money, auth, overloaded (or out of
    reach), session (the conversation is gone), request (refused as malformed), notfound,
    forbidden, context (too long for the model), turns (its own bound), unfinished (it ended
    without a last word), denied (it was not allowed to go on), unknown (it failed as no rule
    explains).
    """

    code: int | None = None
    signal: int | None = None
    ended_by: str = ""
    seconds: float = 0.0
    output_bytes: int = 0
    error: str = ""
    question: str = ""
    retry_after: timedelta | None = None
    limit: str = ""
    retry_safe: bool = True
    session: str = ""
    start_error: str = ""
    start_fault: bool = False
    failed: bool = False
    report_bytes: int = 0
    said: str = ""

    @property
    def clean(self) -> bool:
        """Nothing it left behind says that it did not come to its own end."""
        bad = self.ended_by or self.start_error or self.limit or self.failed
        return self.code == 0 and not bad


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt did not land."""

    kind: Kind
    message: str
    pattern: str = ""
    check: str = ""
    items: tuple[Item, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    output: str = ""
    fingerprint: str = ""
    retry_after: timedelta | None = None
    retry_safe: bool = True
    ours: bool = False
    reason: Reason | None = None
    code: str = ""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to act on a task: who, by which claim, until when."""

    task_id: TaskId
    holder: str
    epoch: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Counts:
    """What was used up, per lineage.  None of these ever falls."""

    failures: Mapping[str, int] = field(default_factory=dict)
    faults: int = 0
    deliveries: int = 0
    interruptions: int = 0
    reruns: int = 0
    replans: int = 0
    executions: int = 0
    landings: int = 0

    def of(self, kind: Kind) -> int:
        return self.failures.get(kind.value, 0)

    @property
    def total(self) -> int:
        """Failed tries; an interruption is not one."""
        return sum(n for kind, n in self.failures.items() if kind != Kind.LOST)

    @property
    def content(self) -> int:
        return sum(self.of(kind) for kind in CONTENT)


@dataclass(frozen=True, slots=True)
class Work:
    """The commits of the current attempt, as far as it got."""

    base: str = ""
    head: str = ""
    proven: str = ""
    onto: str = ""
    worktree: str = ""
    host: str = ""
    tree: str = ""
    guards: Mapping[str, str] = field(default_factory=dict)
    started: bool = False
    changed: int = 0
    refused: int = 0
    exit: AgentExit | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked, and what they may answer."""

    text: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """A node of the graph as it stands.  `evolve` makes every later one from this."""

    id: TaskId
    run_id: RunId
    n: int
    spec: Spec
    state: State = State.WAITING
    stage: Stage = Stage.PREPARE
    attempt: int = 0
    epoch: int = 0
    lease: Lease | None = None
    due_at: datetime | None = None
    counts: Counts = field(default_factory=Counts)
    forgiven: Counts = field(default_factory=Counts)
    work: Work = field(default_factory=Work)
    failure: Failure | None = None
    feedback: Failure | None = None
    failed_tree: str = ""
    same_failures: int = 0
    agent_index: int = 0
    fresh_next: bool = False
    reason: Reason | None = None
    question: Question | None = None
    words: str = ""
    waivers: tuple[str, ...] = ()
    take_over: bool = False
    cancel_wanted: bool = False
    undo_wanted: bool = False
    landed: str = ""

    @property
    def agent(self) -> AgentSpec | None:
        if not self.spec.agents:
            return None
        return self.spec.agents[min(self.agent_index, len(self.spec.agents) - 1)]

    def spent(self, kind: Kind) -> int:
        """Failures of this kind since a person last gave a fresh budget."""
        return self.counts.of(kind) - self.forgiven.of(kind)

    @property
    def spent_total(self) -> int:
        return self.counts.total - self.forgiven.total


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What the tasks of a run share by name, so that each task need not repeat it."""

    checks: Mapping[str, CheckSpec] = field(default_factory=dict)
    agents: Mapping[str, AgentSpec] = field(default_factory=dict)
    policies: Mapping[str, Policy] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """One plan carried out on one repository."""

    id: RunId
    goal: str
    repo: str
    base_branch: str
    base: str
    created_at: datetime
    catalogue: Catalogue = field(default_factory=Catalogue)
    done_when: tuple[str, ...] = ()
    source: str = ""
    parallel: int = 2
    revision: int = 1
    priority: int = 0
    cancel_wanted: bool = False
    merged: str = ""
    summed_at: datetime | None = None

    @property
    def branch(self) -> str:
        return f"yaoki/{self.id}"


def task_branch(task_id: str) -> str:
    """Beside the run branch `yaoki/<run>`, not below it: git keeps refs as paths."""
    return f"yaoki/{task_id}"
