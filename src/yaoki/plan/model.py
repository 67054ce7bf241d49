"""The native plan as people write it.  Shapes only: what the parts say of one another is in rules.

Nothing is optional in the sense of null: a key is given, or it is left out.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from yaoki.core.nearest import did_you_mean
from yaoki.core.settings import MILLISECONDS_MAX, RETRIES_MAX, RETRYABLE
from yaoki.plan.fields import (
    Argv,
    Branch,
    Chain,
    Command,
    Duration,
    Env,
    EnvGlobs,
    Inside,
    Regex,
    Success,
    refusal,
)

PRIORITY_MAX = 1_000_000
NONE = timedelta(0)


def known_kind(value: Any) -> Any:
    if value in ("plan", "group"):
        raise refusal(
            f"kind {value!r} needs tasks that are made during a run, which this version cannot; "
            "use change, report or check"
        )
    return value


def known_preset(value: Any) -> Any:
    if isinstance(value, str) and value not in ("command", "scripted"):
        near = did_you_mean(value, ("command", "scripted"))
        raise refusal(
            f"unknown preset {value!r}{near}; this version has 'command' (any command line, given "
            "by command:) and 'scripted'"
        )
    return value


def known_budget(value: Any) -> Any:
    for name in value if isinstance(value, dict) else ():
        if name in ("money", "tokens", "seconds"):
            raise refusal(
                f"this version cannot enforce a budget of {name}; "
                "use attempts here, or timeout: on the task"
            )
    return value


class Strict(BaseModel):
    """Unknown keys are refused; nothing is converted silently."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    def given(self, name: str) -> bool:
        return name in self.model_fields_set


Priority = Annotated[int, Field(ge=-PRIORITY_MAX, le=PRIORITY_MAX)]
Retries = Annotated[int, Field(ge=0, le=RETRIES_MAX)]
Delay = Annotated[float, Field(ge=0, le=MILLISECONDS_MAX)]


class BackoffModel(Strict):
    """How long to wait before the next try."""

    type: Literal["fixed", "linear", "exponential"] = Field("exponential")
    initial_delay_ms: Delay = Field(0, description="the first wait")
    max_delay_ms: Delay = Field(0, description="the longest wait")
    multiplier: float = Field(2, ge=1, le=1_000, description="growth of an exponential wait")
    jitter: float = Field(0, ge=0, le=1, description="share of the wait left to chance")


class CauseModel(Strict):
    """Retries of one kind of failure."""

    max_retries: Retries = Field(0, description="0: a person is asked at once")
    backoff: BackoffModel = Field(default_factory=BackoffModel)


class RetryModel(Strict):
    """What one task changes of the settings' retry rules."""

    max_retries: Retries = Field(0, description="0: a person is asked at once")
    backoff: BackoffModel = Field(default_factory=BackoffModel)
    cause_specific: dict[str, CauseModel] = Field(
        {},
        description="rules per kind of failure",
        json_schema_extra={"propertyNames": {"enum": [kind.value for kind in RETRYABLE]}},
    )


class BudgetModel(Strict):
    """What one task may use up."""

    attempts: int = Field(0, ge=1, le=1_000, description="failed attempts, all kinds together")


class AgentModel(Strict):
    """How to call one agent."""

    preset: Annotated[Literal["command", "scripted"], BeforeValidator(known_preset)] = Field(
        "command", description="command: any command line; scripted: for rehearsals"
    )
    command: Command = Field(
        [],
        description="words, or one line that is split; {prompt} {prompt_file} {worktree} {task} "
        "{attempt} {model} are filled in",
    )
    prompt: Literal["argument", "stdin", "file"] = Field(
        "argument", description="how the agent gets its prompt"
    )
    env: Env = Field({}, description="variables set for the agent")
    pass_env: EnvGlobs = Field(
        [], description="variables handed on from the worker; * stands for any part"
    )
    model: str = Field("", description="fills {model}")
    account: str = Field("", description="who is billed; agents of one account share its limits")
    concurrency: int = Field(0, ge=0, le=1_000, description="runs at the same time; 0: no limit")
    options: dict[str, Any] = Field({}, description="what the preset takes besides")


class FileModel(Strict):
    """What must hold of one file of the worktree."""

    path: Inside = Field("", description="relative to the repository")
    exists: bool = Field(False, description="it is there")
    absent: bool = Field(False, description="it is not there")
    contains: str = Field("", description="it holds this text")
    matches: Regex = Field("", description="it matches this pattern")


Criterion = Literal["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"]


def all_criteria() -> list[Criterion]:
    return ["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"]


class JudgeModel(Strict):
    """Another agent that looks at the work."""

    agent: str = Field("", description="the name of an agent")
    ask: str = Field("", description="what counts, in words for the judge")


class CheckModel(Strict):
    """One thing that must hold: a command, a file, a state of git, a judge or a package's check."""

    run: Argv = Field([], description="a command as a list; {report} {worktree} {base} {commit}")
    shell: str = Field("", description="one line of shell")
    file: FileModel = Field(default_factory=FileModel)
    git: Literal["clean", "scope", "pushed", "merged", ""] = Field(
        "", json_schema_extra={"enum": ["clean", "scope", "pushed", "merged"]}
    )
    judge: JudgeModel = Field(default_factory=JudgeModel)
    python: str = Field("", description="an entry point of the group yaoki.checks")
    options: dict[str, Any] = Field({}, description="what the entry point is called with")
    success: Success = Field(
        "exitCode:0", description="exitCode:N, empty, contains:TEXT or matches:REGEX"
    )
    pattern: str = Field("", description="the name of what failed")
    required: bool = Field(True, description="false: reported, never failing a task")
    on_failure: Literal["retry", "abort", "skip"] = Field(
        "retry", validation_alias=AliasChoices("on_failure", "onFailure")
    )
    timeout: Duration = Field(NONE, description="10m unless said")
    baseline: Literal["strict", "known"] = Field(
        "strict", description="strict: all must pass; known: failures of the base are not blamed"
    )
    reader: str = Field("", description="who reads its output; found by the command unless said")
    rerun: bool = Field(True, description="a failure is looked at once more on the same commit")
    cwd: Inside = Field(".", description="relative to the repository")
    env: Env = Field({}, description="variables set for the check")


class TaskModel(Strict):
    """One node of the graph."""

    id: str = Field("", description="its name in the plan")
    goal: str = Field("", description="what the agent is asked to do")
    prompt: str = Field("", description="another word for goal")
    kind: Annotated[Literal["change", "report", "check"], BeforeValidator(known_kind)] = Field(
        "change", description="what counts as success"
    )
    needs: list[str] = Field([], description="tasks that must be done before")
    checks: list[str] = Field([], description="what proves it; every check of the plan unless said")
    scope: list[str] = Field([], description="globs of the paths it may change")
    agent: Chain = Field([], description="an agent, or a chain of them")
    priority: Priority = Field(0, description="higher starts earlier")
    required: bool = Field(True, description="false: the run completes without it")
    retry: RetryModel = Field(default_factory=RetryModel)
    timeout: Duration = Field(NONE, description="longest agent run; the settings' unless said")
    hang: Duration = Field(NONE, description="silence that ends it; the settings' unless said")
    budget: Annotated[BudgetModel, BeforeValidator(known_budget)] = Field(
        default_factory=BudgetModel
    )
    max_iterations: int = Field(1, ge=1, le=RETRIES_MAX, description="tries at its content")
    setup: list[Command] = Field([], description="commands after those of the plan")
    fixes: list[str] = Field([], description="failures of the base that must turn green")
    allow_mass_deletion: bool = Field(False, description="it may delete most of the files")
    allow_weaker_tests: bool = Field(False, description="it may delete, skip or loosen tests")
    quality: list[Criterion] = Field(
        default_factory=all_criteria,
        description="the criteria on its diff; all of them unless said",
    )
    phase: str = Field("", description="the phase it belongs to")


class PhaseModel(Strict):
    """A group of tasks that waits for other groups."""

    id: str = Field("", description="its name")
    needs: list[str] = Field([], description="phases that must be done before")
    tasks: list[TaskModel] = Field([], description="its tasks")
    deferred: bool = Field(False, description="not available in this version")


class PlanModel(Strict):
    """A plan: the goal, who works, what proves it, and the tasks."""

    goal: str = Field("", description="what the whole run is for")
    base: Branch = Field("", description="branch to start from; the current one unless said")
    agents: dict[str, AgentModel] = Field({}, description="agents by name")
    agent: Chain = Field([], description="the chain of a task that names none")
    checks: dict[str, CheckModel] = Field({}, description="checks by name, in their order")
    patterns: list[str] = Field([], description="patterns of your own")
    phases: list[PhaseModel] = Field([], description="ordered groups of tasks")
    tasks: list[TaskModel] = Field([], description="the work")
    setup: list[Command] = Field([], description="commands run in each new worktree")
    quality: list[Criterion] = Field(
        default_factory=all_criteria, description="the criteria on the diffs of its tasks"
    )
    done_when: list[str] = Field([], description="checks proven on the run branch at the end")
    final_tasks: list[TaskModel] = Field([], description="tasks that run after all others")
    priority: Priority = Field(0, description="of the run among runs")
    language: Literal["en", "ja"] = Field("en", description="language of prompts and messages")
