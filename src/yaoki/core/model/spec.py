"""Specifications: retry policies, checks, agents and tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from yaoki.core.lazy_dataclass import dataclass, field, fields, replace
from yaoki.core.model.agent_enums import (
    Permissions,
)
from yaoki.core.model.enums import (
    CONTENT_KINDS,
    BackoffType,
    BaselineMode,
    CheckType,
    CriterionLevel,
    FailureKind,
    GitCheck,
    OnFailure,
    PlanningRole,
    PromptChannel,
    TaskKind,
)
from yaoki.core.model.mutant import MutantRules
from yaoki.core.model.race import JudgingBrief, RaceRules
from yaoki.core.model.stored_word import stored_as
from yaoki.core.model.treatment import ConversationMode, LearningMode


@dataclass(frozen=True, slots=True)
class Backoff:
    """The delay before the next try."""

    type: BackoffType = BackoffType.EXPONENTIAL
    initial: timedelta = timedelta(seconds=1)
    multiplier: float = 2.0
    maximum: timedelta = timedelta(seconds=30)
    jitter: float = 0.1


@dataclass(frozen=True, slots=True)
class RetryRule:
    """The number of retries for one kind of failure, and their delay."""

    retries_max: int
    backoff: Backoff = field(default_factory=Backoff)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The retry rules of one task.  A kind without a rule is not retried."""

    rules: Mapping[FailureKind, RetryRule]
    content_retries_max: int = 3
    total_attempts_max: int = 12
    faults_max: int = 3
    deliveries_max: int = 5
    landing_refusals_max: int = field(default=10, metadata=stored_as("landings_max"))
    reruns_max: int = 1
    rate_limit_wait_max: timedelta = timedelta(hours=6)
    account_wait_max: timedelta = timedelta(hours=12)
    account_probe_max: timedelta = timedelta(minutes=10)
    fail_over_after: timedelta = timedelta(minutes=5)
    conversation: ConversationMode = ConversationMode.CONTINUE
    learn: LearningMode = LearningMode.OBSERVE
    hints: Mapping[FailureKind, str] = field(default_factory=dict)
    message_max: int = 500
    trace_link: bool = True

    def for_candidate(self) -> RetryPolicy:
        """The policy of a candidate in a race: its failed work is not tried again.

        Interruptions and limits are repeated as usual.
        """
        rules = {
            kind: replace(rule, retries_max=0) if kind in CONTENT_KINDS else rule
            for kind, rule in self.rules.items()
        }
        return replace(self, rules=rules, content_retries_max=0, reruns_max=0)

    def for_race(self) -> RetryPolicy:
        """The policy of a racing task: its candidates have repeated all but failed work already."""
        rules = {
            kind: rule if kind in CONTENT_KINDS else replace(rule, retries_max=0)
            for kind, rule in self.rules.items()
        }
        return replace(self, rules=rules)


@dataclass(frozen=True, slots=True)
class HiddenFiles:
    """The files of a hidden check.  No agent sees them; the proof room contains them only while
    the check runs.

    `folder` is where they were when the plan was submitted, `digest` identifies their content; both
    are empty for a hidden check that has no files.
    """

    folder: str = ""
    digest: str = ""
    count: int = 0


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """The definition of a check.  Its `type` decides which of the other fields are used.

    A command has `argv` or `shell`; `file` maps exists/absent/contains/matches; `agent` judges by
    the criteria in `ask`; `entry` names a function of an installed package, called with `options`.
    `extract` maps the params of a failure to their extractors.  `definition`: globs of files
    that define the check, besides those that its command refers to.  If `hidden` is set, agents see
    neither the command nor the output of the check.
    """

    name: str
    type: CheckType = CheckType.COMMAND
    argv: tuple[str, ...] = ()
    shell: str = ""
    path: str = ""
    file: Mapping[str, Any] = field(default_factory=dict)
    git: GitCheck = GitCheck.NONE
    success: str = "exitCode:0"
    pattern: str = ""
    required: bool = True
    on_failure: OnFailure = OnFailure.RETRY
    timeout: timedelta = timedelta(minutes=10)
    baseline: BaselineMode = BaselineMode.STRICT
    rerun: bool = True
    reader: str = ""
    cwd: str = "."
    env: Mapping[str, str] = field(default_factory=dict)
    extract: Mapping[str, str] = field(default_factory=dict)
    agent: AgentSpec | None = None
    ask: str = ""
    entry: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    definition: tuple[str, ...] = ()
    hidden: HiddenFiles | None = None
    # Globs of the files that its result depends on; it sees no others.  Empty: the whole commit.
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptFiles:
    """The template files for the failures of a task; empty: the default ones.

    `stem` is their folder, part by part; `names` gives a pattern its edition and adaptation.
    """

    stem: tuple[str, ...] = ()
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentAccount:
    """One of several accounts that an agent can work with, and the variables that choose it."""

    name: str
    env: Mapping[str, str] = field(default_factory=dict)
    env_from: Mapping[str, str] = field(default_factory=dict)
    concurrency: int = 0


def title_of_agent(name: str, account: str) -> str:
    """The name that people see: that of the account if the agent has several."""
    return account if account.startswith(f"{name}/") else name


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """The command and options of one agent; `options` belong to the preset.

    `env_from` gives it variables of the worker under other names.  An agent with several
    `accounts` appears in a chain once for each account.
    """

    name: str
    preset: str = "command"
    command: tuple[str, ...] = ()
    prompt: PromptChannel = PromptChannel.ARGUMENT
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    model: str = ""
    account: str = ""
    concurrency: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    permissions: Permissions = Permissions.PRESET
    env_from: Mapping[str, str] = field(default_factory=dict)
    accounts: tuple[AgentAccount, ...] = ()

    @property
    def billed_account(self) -> str:
        """The name of the agent, unless the plan gives an account."""
        return self.account or self.name

    @property
    def title(self) -> str:
        """The name that people see: that of the account if the agent has several."""
        return title_of_agent(self.name, self.account)

    @property
    def passed_variables(self) -> tuple[str, ...]:
        """The variables of the worker whose values the agent gets."""
        return (*self.pass_env, *self.env_from.values())

    def list_by_account(self) -> tuple[AgentSpec, ...]:
        """The agent once for each of its accounts, in their order."""
        if not self.accounts:
            return (self,)
        return tuple(
            replace(
                self,
                accounts=(),
                account=f"{self.name}/{one.name}",
                env={**self.env, **one.env},
                env_from={**self.env_from, **one.env_from},
                concurrency=one.concurrency or self.concurrency,
            )
            for one in self.accounts
        )


def list_chain(agents: Iterable[AgentSpec]) -> tuple[AgentSpec, ...]:
    """The chain of a task: each agent once for each of its accounts."""
    return tuple(one for agent in agents for one in agent.list_by_account())


@dataclass(frozen=True, slots=True)
class PlanningBrief:
    """The bounds on the tasks that a plan task may create.

    `deadline` counts from the time when it can start; zero means none.  `iteration`: the one that
    it plans.
    """

    role: PlanningRole = PlanningRole.TASK
    phase: str = ""
    tasks_max: int = 100
    kinds: tuple[TaskKind, ...] = (
        *(TaskKind.CHANGE, TaskKind.FIX, TaskKind.REPORT, TaskKind.CHECK),
    )
    deadline: timedelta = timedelta(0)
    iteration: int = 0


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """A task as the plan defines it: fixed at submit, changed only by a new revision.

    `group` names the group of a subtask.  For a group: `atomic` is all or nothing, `partial` lets
    it land without failed subtasks.  For a plan task: `planning_brief` says what it may create.
    Only a worker that declares all `tags` may claim the task.  A final check that fails and
    `defers_escalation` asks no person while a planner or another iteration may fix it.  `iteration`
    is the iteration of a continuous run that created the task; zero for the plan's own tasks.
    Set-up runs again when its inputs change: manifests, lock files and `setup_inputs`.  Ignored
    files that match `discard` are not saved.  The judge of a race has the works that it compares in
    its `judging_brief`.
    """

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
    policy: RetryPolicy = field(default_factory=lambda: RetryPolicy(rules={}))
    setup: tuple[tuple[str, ...], ...] = ()
    setup_inputs: tuple[str, ...] = ()
    may_change_nothing: bool = False
    # Must a test fail without the change?
    red: CriterionLevel = CriterionLevel.OFF
    # Must a test notice faults in the changed lines?
    mutants: MutantRules = field(default_factory=MutantRules)
    # Several candidates try the work; None: one agent at a time.
    race: RaceRules | None = None
    discard: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()
    allow_mass_deletion: bool = False
    allow_weaker_tests: bool = False
    quality: tuple[str, ...] = ("Q1", "Q2", "Q3", "Q4", "Q5", "Q6")
    phase: str = ""
    language: str = "en"
    budget: Mapping[str, float] = field(default_factory=dict)
    prompts: PromptFiles = field(default_factory=PromptFiles)
    group: str = ""
    atomic: bool = False
    partial: bool = False
    planning_brief: PlanningBrief | None = field(default=None, metadata=stored_as("fill"))
    defers_escalation: bool = field(default=False, metadata=stored_as("patient"))
    tags: tuple[str, ...] = ()
    iteration: int = 0
    ticket: str = ""
    judging_brief: JudgingBrief | None = None


@dataclass(frozen=True, slots=True)
class AcceptanceRules:
    """The rules of yaoki itself for the change of a task, besides the checks of the plan.

    The fields are those of `TaskSpec`.
    """

    scope: tuple[str, ...] = ()
    may_change_nothing: bool = False
    red: CriterionLevel = CriterionLevel.OFF
    mutants: MutantRules = field(default_factory=MutantRules)
    fixes: tuple[str, ...] = ()
    allow_mass_deletion: bool = False
    allow_weaker_tests: bool = False
    quality: tuple[str, ...] = ()

    @classmethod
    def of(cls, spec: TaskSpec) -> AcceptanceRules:
        return cls(**{one.name: getattr(spec, one.name) for one in fields(cls)})

    def apply_to(self, spec: TaskSpec) -> TaskSpec:
        return replace(spec, **{one.name: getattr(self, one.name) for one in fields(self)})

    def list_changes(self, spec: TaskSpec) -> tuple[str, ...]:
        """The keys of the task that these rules change."""
        names = (one.name for one in fields(self))
        return tuple(name for name in names if getattr(self, name) != getattr(spec, name))


@dataclass(frozen=True, slots=True)
class CheckRevision:
    """The checks, the set-up and the rules that a later revision of the plan gives a task.

    `rules`: None in a revision that was made when a revision changed no rules.
    """

    number: int
    checks: tuple[CheckSpec, ...] = ()
    setup: tuple[tuple[str, ...], ...] = ()
    setup_inputs: tuple[str, ...] = ()
    rules: AcceptanceRules | None = None

    @classmethod
    def of(cls, spec: TaskSpec, number: int = 0) -> CheckRevision:
        """All that a revision contains, as the task has it."""
        rules = AcceptanceRules.of(spec)
        return cls(number, spec.checks, spec.setup, spec.setup_inputs, rules)

    def apply_to(self, spec: TaskSpec) -> TaskSpec:
        """The task of this revision."""
        ruled = self.rules.apply_to(spec) if self.rules else spec
        return replace(ruled, checks=self.checks, setup=self.setup, setup_inputs=self.setup_inputs)

    def changes_setup(self, spec: TaskSpec) -> bool:
        return (self.setup, self.setup_inputs) != (spec.setup, spec.setup_inputs)

    def list_changed_rules(self, spec: TaskSpec) -> tuple[str, ...]:
        """The keys of the rules that differ from those of the task."""
        return self.rules.list_changes(spec) if self.rules else ()

    def describe_change(self, spec: TaskSpec) -> str:
        """The most important change for the task, as the subject of a sentence with its verb."""
        if self.checks != spec.checks:
            return "checks were"
        return "rules were" if self.list_changed_rules(spec) else "set-up was"
