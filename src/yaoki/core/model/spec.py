"""What is asked: policies, checks, agents, and the specification of a task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from yaoki.core.model.enums import (
    BackoffType,
    CheckType,
    FailureKind,
    OnFailure,
    PlanningRole,
    TaskKind,
)
from yaoki.core.model.stored_word import stored_as


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before the next try."""

    type: BackoffType = BackoffType.EXPONENTIAL
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
    hints: Mapping[FailureKind, str] = field(default_factory=dict)
    message_max: int = 500
    trace_link: bool = True


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """One thing that must hold.  `type` is `command`, `file`, `git`, `judge` or `python`.

    `argv` or `shell` for a command; `file` maps exists/absent/contains/matches; `git` is
    clean, scope, pushed or merged.  `extract` names what makes which param of a failure.
    `agent` judges by what `ask` says counts; `entry` names a function of an installed package,
    called with `options`.  `definition` are globs of files that say how the check is made, besides
    those that its command leads to.
    """

    name: str
    type: CheckType = CheckType.COMMAND
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
    definition: tuple[str, ...] = ()


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
class PlanningBrief:
    """What a plan task may make.  `role`: goal, phase, replan, iteration or task.

    `deadline` counts from when it can start; zero is none.  `iteration`: which one it plans.
    """

    role: PlanningRole = PlanningRole.TASK
    phase: str = ""
    tasks_max: int = 100
    kinds: tuple[TaskKind, ...] = (TaskKind.CHANGE, TaskKind.REPORT, TaskKind.CHECK)
    deadline: timedelta = timedelta(0)
    iteration: int = 0


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """A task as the plan gives it: frozen at submit, changed only by a new revision.

    `group` names the group it is a subtask of.  Of a group: `atomic` is all or nothing, `partial`
    lets it land without what failed.  Of a plan task: `fill` says what it may make.  Only a worker
    that declares all `tags` takes it.  A `patient` proof that fails asks nobody while a planner or
    another iteration may fix it.  `iteration` is the one of a continuous run that made it; zero for
    the plan's own tasks.  Set-up runs again where its inputs changed: manifests, lock files and
    what `setup_inputs` names.  Ignored files that match `discard` are not saved.
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
