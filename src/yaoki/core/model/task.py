"""A run and its tasks, with the lease, the counts and the work of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from yaoki.core.lazy_dataclass import dataclass, field, replace
from yaoki.core.model.agent_enums import (
    AccountProblem,
)
from yaoki.core.model.enums import (
    CONTENT_KINDS,
    AttemptMode,
    Choice,
    FailureKind,
    PendingRequest,
    QueueEntry,
    Reason,
    RecoveryStrategy,
    Stage,
    State,
    TaskKind,
    WaitReason,
)
from yaoki.core.model.names import RunId, TaskId
from yaoki.core.model.stored_word import stored_as

if TYPE_CHECKING:
    from yaoki.core.model.merge_queue import QueueChoice
    from yaoki.core.model.outcome import AgentExit, ClosedAccount, Failure, GivenUpAgent
    from yaoki.core.model.race import CandidateScore, RaceJudgment
    from yaoki.core.model.spec import AgentSpec, CheckRevision, TaskSpec
    from yaoki.core.model.treatment import Treatment, TreatmentOutcome


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to act on a task: its holder, the claim (`epoch`) and the end."""

    task_id: TaskId
    holder: str
    epoch: int
    expires_at: datetime


@dataclass(frozen=True)
class Counts:
    """The counts that a lineage of tasks has used up.  No count ever decreases."""

    failures: Mapping[str, int] = field(default_factory=dict)
    faults: int = 0
    deliveries: int = 0
    interruptions: int = 0
    reruns: int = 0
    replans: int = 0
    attempts: int = field(default=0, metadata=stored_as("executions"))
    refused_landings: int = field(default=0, metadata=stored_as("landings"))
    unanswered: int = 0

    def failures_of(self, kind: FailureKind) -> int:
        return self.failures.get(kind.value, 0)

    @property
    def total_failures(self) -> int:
        """Failed attempts; an interruption is not one."""
        return sum(n for kind, n in self.failures.items() if kind != FailureKind.LOST)

    @property
    def content_failures(self) -> int:
        return sum(self.failures_of(kind) for kind in CONTENT_KINDS)


@dataclass(frozen=True)
class Spend:
    """The usage of agents in all agent runs that were started, finished or not.

    `unknown` counts the agent runs without a reported cost or token count, also unfinished ones.
    """

    money: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    attempts: int = 0
    unknown: int = 0

    def with_start(self) -> Spend:
        """The spend with one more agent run whose cost is still unknown."""
        return replace(self, attempts=self.attempts + 1, unknown=self.unknown + 1)

    def with_end(self, exit_: AgentExit) -> Spend:
        """The figures of an agent run that was counted at its start."""
        total = self.with_run(exit_)
        return replace(total, attempts=total.attempts - 1, unknown=total.unknown - 1)

    def with_run(self, exit_: AgentExit) -> Spend:
        """The spend with one more agent run that was not counted at its start."""
        unknown = exit_.cost is None or exit_.tokens is None
        return Spend(
            round(self.money + (exit_.cost or 0.0), 6),
            self.tokens + (exit_.tokens or 0),
            round(self.seconds + exit_.seconds, 3),
            self.attempts + 1,
            self.unknown + unknown,
        )

    def plus(self, other: Spend) -> Spend:
        return Spend(
            round(self.money + other.money, 6),
            self.tokens + other.tokens,
            round(self.seconds + other.seconds, 3),
            self.attempts + other.attempts,
            self.unknown + other.unknown,
        )

    def minus(self, other: Spend) -> Spend:
        return Spend(
            self.money - other.money,
            self.tokens - other.tokens,
            self.seconds - other.seconds,
            self.attempts - other.attempts,
            self.unknown - other.unknown,
        )


@dataclass(frozen=True)
class Work:
    """The commits of the current attempt so far.

    `diff_digest` identifies the changes of the attempt itself, without those of its base.
    """

    # The commit of the run branch that the attempt began on.
    base: str = ""
    # The agent's own work, as it left it; empty until the agent has ended.
    head: str = ""
    # `head` merged onto `onto`, after its checks passed: exactly this commit lands.
    verified_commit: str = field(default="", metadata=stored_as("proven"))
    # The commit of the run branch, or of the merge queue, below `verified_commit`.
    onto: str = ""
    worktree: str = ""
    host: str = ""
    # The tree of `head`; until the agent has ended, the one it began with.
    tree: str = ""
    diff_digest: str = field(default="", metadata=stored_as("diff"))
    protected_hashes: Mapping[str, str] = field(default_factory=dict, metadata=stored_as("guards"))
    prompt_sent: bool = field(default=False, metadata=stored_as("started"))
    spend_counted: bool = field(default=False, metadata=stored_as("counted"))
    # The files in which `head` differs from `base`; a landing may differ in fewer.
    attempt_file_count: int = field(default=0, metadata=stored_as("changed"))
    landing_refusals: int = field(default=0, metadata=stored_as("refused"))
    left_out_files: tuple[str, ...] = field(default=(), metadata=stored_as("left_out"))
    exit: AgentExit | None = None
    # Made when the agent has ended; None in an attempt without an agent.
    queue_choice: QueueChoice | None = None
    # The commit of the run branch on which its checks passed, before others landed.
    passed_onto: str = ""
    # Proofs that failed with the work of other tasks in them.
    joint_failures: int = 0
    # Proofs that failed on top of work that did not land.
    discarded_proofs: int = 0
    # Its last proof was void, and those that are queued now are likely to fail as well; or the
    # change itself is rejected.
    avoids_queue: bool = False
    # The treatment of the failure before this attempt, until it is judged.
    treatment: Treatment | None = None
    # The candidate of a race that made it; empty for a task's own work.
    candidate: TaskId = TaskId("")

    @property
    def queue_entry(self) -> QueueEntry:
        """A task whose landing was refused has passed once, so it will probably pass again.

        A task whose proof was discarded may be as wrong as its predecessor, so it takes an early
        look first.
        """
        if self.avoids_queue:
            return QueueEntry.EARLY_LOOK
        if self.joint_failures:
            return QueueEntry.ALONE
        if self.landing_refusals:
            return QueueEntry.TOGETHER
        if self.discarded_proofs or self.queue_choice is None or not self.queue_choice.enters:
            return QueueEntry.EARLY_LOOK
        return QueueEntry.TOGETHER if self.queue_choice.takes_along else QueueEntry.ALONE

    @property
    def is_queued(self) -> bool:
        return self.queue_entry is not QueueEntry.EARLY_LOOK


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a person, and the answers it accepts.

    `note`: what has changed since it was asked; screens show this above the text.
    """

    text: str
    choices: tuple[Choice, ...]
    note: str = ""


@dataclass(frozen=True)
class Task:
    """A node of the graph in its present state; `evolve` makes every later state from this one.

    `waivers` are the checks that a person waived for the work `waived_work`; other work ends them.
    `first_base` is the commit at which its first attempt began.  `session` is the agent's own
    conversation, which a retry in the same worktree continues, and `session_failures` are the last
    failures of attempts that had one: an agent that begins a new conversation is told of them.
    `same_work_failures` counts failures in a row with the same fingerprint and the same diff,
    `same_fingerprint_failures` those of one agent with the same fingerprint.  `failure_kinds` lists
    its own failed attempts in order.  `lineage` is the first task in a chain of replacements,
    `parent` the group of a subtask.
    `revert_cause` is the failure for which its landed work is reverted; `revert_failed` says that
    such a revert was not possible, so that bisection does not blame this landing forever.
    For a group: `recovered_subtasks` were tried again; it lands without `left_out_subtasks`.
    `closed_account` is not a part of its state: the store adds it for a decision about its account,
    and `closed_chain_accounts` with it: until when no agent can use an account of its chain, None
    for one that needs a person.  Nor are `treatment_outcomes`: the newest first, those of all runs
    against the pattern of the failure that is decided about.
    `given_up_agents`: those of its chain that another agent took over from, in order.
    `check_revision` has replaced the checks and the set-up in `spec`; `earlier_checks` are those
    that proved its landed commit, if they were replaced after that.
    `candidates` are those of the last round of a racing task.  A candidate has the id of its
    `race_task`, and a `score` once it is proven or has failed; `settled_spend` is the part of its
    spend that the racing task has counted, if it is proven for a second time.  `judge` is the task
    that compares them in this round; it has a `judgment` once it has ended.  `judge_obstacle` is
    not a part of its state: why the store cannot add a judge, for the decision of the race.
    """

    id: TaskId
    run_id: RunId
    n: int
    spec: TaskSpec
    state: State = State.WAITING
    stage: Stage = Stage.PREPARE
    attempt: int = 0
    epoch: int = 0
    lease: Lease | None = None
    due_at: datetime | None = None
    counts: Counts = field(default_factory=Counts)
    forgiven_counts: Counts = field(default_factory=Counts, metadata=stored_as("forgiven"))
    work: Work = field(default_factory=Work)
    failure: Failure | None = None
    feedback: Failure | None = None
    failed_work_digest: str = field(default="", metadata=stored_as("failed_tree"))
    same_work_failures: int = field(default=0, metadata=stored_as("same_failures"))
    same_fingerprint_failures: int = field(default=0, metadata=stored_as("alike_failures"))
    failure_kinds: tuple[str, ...] = field(default=(), metadata=stored_as("kinds"))
    agent_index: int = 0
    given_up_agents: tuple[GivenUpAgent, ...] = ()
    needs_fresh_worktree: bool = field(default=False, metadata=stored_as("fresh_next"))
    reason: Reason | None = None
    question: Question | None = None
    answer_text: str = field(default="", metadata=stored_as("words"))
    waivers: tuple[str, ...] = ()
    waived_work: str = ""
    waiting_for: WaitReason = WaitReason.CLAIM
    request: PendingRequest = PendingRequest.NONE
    mode: AttemptMode = AttemptMode.NORMAL
    landed_commit: str = ""
    session: str = ""
    session_failures: tuple[str, ...] = ()
    first_base: str = field(default="", metadata=stored_as("began_at"))
    lineage: str = ""
    parent: str = ""
    revert_cause: Failure | None = field(default=None, metadata=stored_as("blame"))
    revert_failed: bool = field(default=False, metadata=stored_as("unmovable"))
    recovery_strategy: RecoveryStrategy | None = field(default=None, metadata=stored_as("strategy"))
    recovered_subtasks: tuple[str, ...] = field(default=(), metadata=stored_as("recovered"))
    left_out_subtasks: tuple[str, ...] = field(default=(), metadata=stored_as("left_out"))
    spend: Spend = field(default_factory=Spend, metadata=stored_as("spent_on"))
    forgiven_spend: Spend = field(default_factory=Spend)
    closed_account: ClosedAccount | None = None
    closed_chain_accounts: Mapping[str, datetime | None] = field(default_factory=dict)
    treatment_outcomes: tuple[TreatmentOutcome, ...] = ()
    check_revision: CheckRevision | None = None
    earlier_checks: CheckRevision | None = None
    candidates: tuple[TaskId, ...] = ()
    race_task: TaskId = TaskId("")
    score: CandidateScore | None = None
    settled_spend: Spend = field(default_factory=Spend)
    judge: TaskId = TaskId("")
    judgment: RaceJudgment | None = None
    judge_obstacle: str = ""

    @property
    def proof_spec(self) -> TaskSpec:
        """Its specification, with the checks and the set-up that proved its landed commit."""
        return self.earlier_checks.apply_to(self.spec) if self.earlier_checks else self.spec

    @property
    def work_identity(self) -> str:
        """Identifies the changes of this attempt; empty for a check, which has none of its own."""
        match self.spec.kind:
            case TaskKind.CHECK:
                return ""
            case TaskKind.GROUP:
                return self.work.head
            case _:
                return self.work.diff_digest or self.work.tree

    @property
    def keeps_waived_work(self) -> bool:
        """Is the work still the one for which a person waived a check?"""
        return bool(self.waived_work) and self.waived_work == self.work_identity

    @property
    def check_revision_number(self) -> int:
        """The revision of the plan that its checks are from; 0 for those it was submitted with."""
        return self.check_revision.number if self.check_revision else 0

    @property
    def agent(self) -> AgentSpec | None:
        if not self.spec.agents:
            return None
        return self.spec.agents[min(self.agent_index, len(self.spec.agents) - 1)]

    @property
    def account(self) -> str:
        """The account that its present agent bills; empty without an agent."""
        return self.agent.billed_account if self.agent else ""

    @property
    def other_agent_indices(self) -> tuple[int, ...]:
        """The agents of the chain that may continue: those after the present one, then those
        before it, without those that would fail again.
        """
        agents = self.spec.agents
        given_up = {agents[one.index].name for one in self.given_up_agents if one.cause.is_final}
        circle = ((self.agent_index + step) % len(agents) for step in range(1, len(agents)))
        return tuple(index for index in circle if agents[index].name not in given_up)

    @property
    def substitute_indices(self) -> tuple[int, ...]:
        """The positions of other agents: with another account the present one would do the same."""
        present, agents = self.agent, self.spec.agents
        return tuple(
            index
            for index in self.other_agent_indices
            if present is None or agents[index].name != present.name
        )

    @property
    def other_accounts(self) -> tuple[str, ...]:
        """The accounts of these agents, without the present one."""
        accounts = (self.spec.agents[index].billed_account for index in self.other_agent_indices)
        return tuple(dict.fromkeys(name for name in accounts if name != self.account))

    @property
    def usable_substitute_indices(self) -> tuple[int, ...]:
        """The substitutes without those whose account needs a person, as far as it is known."""
        return self.substitutes_without(
            {name for name, until in self.closed_chain_accounts.items() if until is None}
        )

    def substitutes_without(self, refused_accounts: Collection[str]) -> tuple[int, ...]:
        """The substitutes with other accounts than these."""
        agents = self.spec.agents
        return tuple(
            index
            for index in self.substitute_indices
            if agents[index].billed_account not in refused_accounts
        )

    @property
    def refused_agent_indices(self) -> tuple[int, ...]:
        """The agents whose key was refused or whose credit was used up, in order: the question of
        the task names each.
        """
        problem = self.failure.account_problem if self.failure else AccountProblem.NONE
        own = {self.agent_index} if problem.needs_person else set()
        others = {one.index for one in self.given_up_agents if one.cause.needs_person}
        return tuple(sorted(own | others))

    @property
    def refused_accounts(self) -> tuple[str, ...]:
        """The accounts of these agents."""
        agents = self.spec.agents
        return tuple(
            dict.fromkeys(agents[index].billed_account for index in self.refused_agent_indices)
        )

    def next_agent_index(self, unusable_accounts: Collection[str]) -> int | None:
        """The next agent of the chain whose account is not one of these."""
        agents = self.spec.agents
        return next(
            (
                index
                for index in self.other_agent_indices
                if agents[index].billed_account not in unusable_accounts
            ),
            None,
        )

    @property
    def can_switch_agent(self) -> bool:
        """Would its next step start an agent?  A person who took it over is not replaced."""
        return self.stage is Stage.PREPARE and not self.taken_over

    @property
    def awaiting_rerun(self) -> bool:
        return self.waiting_for is WaitReason.RERUN

    @property
    def awaiting_race(self) -> bool:
        """A racing task whose candidates work, or a candidate that must not be claimed."""
        return self.waiting_for is WaitReason.RACE

    @property
    def starts_race(self) -> bool:
        """Do candidates make its next attempt?  A person who took it over works alone."""
        return self.spec.race is not None and not self.taken_over

    @property
    def decision_due(self) -> bool:
        return self.waiting_for is WaitReason.DECISION

    @property
    def cancel_requested(self) -> bool:
        return self.request is PendingRequest.CANCEL

    @property
    def recall_requested(self) -> bool:
        return self.request is PendingRequest.RECALL

    @property
    def undo_requested(self) -> bool:
        return self.request is PendingRequest.UNDO

    @property
    def is_rerun(self) -> bool:
        return self.mode is AttemptMode.RERUN

    @property
    def taken_over(self) -> bool:
        return self.mode is AttemptMode.TAKEN_OVER

    @property
    def can_be_reverted(self) -> bool:
        """Can its landed work be reverted and done again?  That of a group cannot."""
        kind = self.spec.kind
        return not self.revert_failed and (kind.is_change or kind is TaskKind.REPORT)

    @property
    def can_be_built_on(self) -> bool:
        """May dependents start?  Not on work that is about to be reverted."""
        return self.state is State.DONE and not self.undo_requested

    def unforgiven_failures(self, kind: FailureKind) -> int:
        """Failures of this kind since a person last gave a fresh budget."""
        return self.counts.failures_of(kind) - self.forgiven_counts.failures_of(kind)

    @property
    def budgeted_attempts(self) -> int:
        """Attempts since a person last gave a fresh budget; for a race its rounds.

        Each counts from its start, so that a lost one is counted as well.  One in which the model
        never answered does not count.
        """
        counts, forgiven = self.counts, self.forgiven_counts
        unanswered = counts.unanswered - forgiven.unanswered
        return max(0, counts.attempts - forgiven.attempts - unanswered)

    @property
    def failed_attempts(self) -> int:
        """Failed attempts of this task, without those of the task it replaces; no interruptions."""
        return sum(kind != FailureKind.LOST for kind in self.failure_kinds)

    @property
    def total_unforgiven_failures(self) -> int:
        return self.counts.total_failures - self.forgiven_counts.total_failures
