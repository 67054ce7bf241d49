"""The native plan as people write it.  Shapes only; `rules` checks how the parts fit together.

No value is null: a key is given, or it is left out.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, model_validator

from yaoki.core.settings.keys import RETRIES_MAX
from yaoki.formats.plan.field_values import (
    PRESETS,
    check_account_names,
    check_preset,
    field_error,
    permissions_defect,
)
from yaoki.formats.plan.fields import (
    AgentChain,
    BranchName,
    CheckWords,
    CommandWords,
    CriterionWord,
    Duration,
    Env,
    EnvGlobs,
    EnvSources,
    HiddenFolder,
    InsidePath,
    Regex,
    StrictModel,
    SuccessForm,
)
from yaoki.formats.plan.limit_models import (
    BudgetModel,
    ConstraintsModel,
    ContinuousModel,
    MutantsModel,
    MutantsOrWord,
    RaceModel,
    RaceOrWord,
    RetryModel,
    RunBudgetModel,
)

PRIORITY_MAX = 1_000_000
# Caches that tools can rebuild: saving them would hide what an agent wrote.
DISCARD = (
    *("**/__pycache__/**", "**/.pytest_cache/**", "**/.mypy_cache/**", "**/.ruff_cache/**"),
    *("**/.hypothesis/**", "**/node_modules/.cache/**", "**/.DS_Store"),
)
NOT_GIVEN = timedelta(0)


Priority = Annotated[int, Field(ge=-PRIORITY_MAX, le=PRIORITY_MAX)]
ConversationWord = Literal["continue", "fresh", "auto"]
LearningWord = Literal["observe", "choose"]


class AccountModel(StrictModel):
    """One of several accounts of an agent."""

    env: Env = Field({}, description="variables that choose the account")
    env_from: EnvSources = Field(
        {}, description="variables of the agent, each with the worker's variable it is taken from"
    )
    concurrency: int = Field(0, ge=0, le=1_000, description="runs at the same time; 0: no limit")


class AgentModel(StrictModel):
    """The command and options of one agent."""

    preset: Annotated[str, BeforeValidator(check_preset)] = Field(
        "command",
        description="command: any command line; scripted: for rehearsals; or a known agent",
        json_schema_extra={"anyOf": [{"enum": list(PRESETS)}, {"type": "string"}]},
    )
    command: CommandWords = Field(
        [],
        description="words, or one line that is split; {prompt} {prompt_file} {worktree} {task} "
        "{attempt} {model} are filled in",
    )
    prompt: Literal["argument", "stdin", "file"] = Field(
        "argument", description="how the agent gets its prompt; only with command"
    )
    env: Env = Field({}, description="variables set for the agent")
    pass_env: EnvGlobs = Field(
        [], description="variables passed on from the worker; * matches any part"
    )
    env_from: EnvSources = Field(
        {}, description="variables of the agent, each with the worker's variable it is taken from"
    )
    model: str = Field("", description="value of {model}; known agents get it by their own option")
    account: str = Field(
        "", description="account that is billed; agents of one account share its limits"
    )
    accounts: Annotated[dict[str, AccountModel], AfterValidator(check_account_names)] = Field(
        {},
        description="several accounts of this agent, by name and in this order: the next one "
        "continues when one is at its limit or refused",
    )
    concurrency: int = Field(0, ge=0, le=1_000, description="runs at the same time; 0: no limit")
    options: dict[str, Any] = Field(
        {}, description="further options of the preset; known agents: program, arguments, base_url"
    )

    permissions: Literal["", "all", "edits"] = Field(
        "",
        description="all: the agent may do everything without asking; edits: change files of its "
        "worktree and run the commands of its checks; by default all, over ACP edits",
    )

    @model_validator(mode="after")
    def _known_agents_choose_their_channel(self) -> AgentModel:
        if defect := permissions_defect(self.preset, self.permissions):
            raise field_error(defect)
        if self.account and self.accounts:
            raise field_error("an agent has either account or accounts; leave one out")
        if self.preset != "command" and self.is_given("prompt"):
            raise field_error(
                f"preset {self.preset} chooses how it gets its prompt; leave prompt out"
            )
        return self


class FileModel(StrictModel):
    """A condition on one file of the worktree."""

    path: InsidePath = Field("", description="relative to the repository")
    exists: bool = Field(False, description="the file exists")
    absent: bool = Field(False, description="the file does not exist")
    contains: str = Field("", description="it contains this text")
    matches: Regex = Field("", description="it matches this pattern")


Criterion = Literal["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"]


def all_criteria() -> list[Criterion]:
    return ["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"]


class JudgeModel(StrictModel):
    """Another agent that reviews the work."""

    agent: str = Field("", description="the name of an agent")
    ask: str = Field("", description="what counts, in words for the judge")


class CheckModel(StrictModel):
    """A check: a command, a file, a state of git, a judge, or a check from a package."""

    run: CheckWords = Field(
        [],
        description="words, or one line that is split; {report} {worktree} {base} {commit}",
    )
    shell: str = Field("", description="one line of shell")
    file: FileModel = Field(default_factory=FileModel)
    git: Literal["clean", "scope", "pushed", "merged", ""] = Field(
        "", json_schema_extra={"enum": ["clean", "scope", "pushed", "merged"]}
    )
    judge: JudgeModel = Field(default_factory=JudgeModel)
    python: str = Field("", description="an entry point of the group yaoki.checks")
    options: dict[str, Any] = Field({}, description="what the entry point is called with")
    success: SuccessForm = Field(
        "exitCode:0", description="exitCode:N, empty, contains:TEXT or matches:REGEX"
    )
    pattern: str = Field("", description="the failure pattern of this check")
    required: bool = Field(True, description="false: reported, never failing a task")
    on_failure: Literal["retry", "abort", "skip"] = Field(
        "retry", validation_alias=AliasChoices("on_failure", "onFailure")
    )
    timeout: Duration = Field(NOT_GIVEN, description="default: 10m")
    baseline: Literal["strict", "known"] = Field(
        "strict", description="strict: all must pass; known: failures of the base are not blamed"
    )
    reader: str = Field("", description="reader of its output; default: chosen by the command")
    rerun: bool = Field(True, description="a failing check runs once more on the same commit")
    cwd: InsidePath = Field(".", description="relative to the repository")
    env: Env = Field({}, description="variables set for the check")
    definition: list[str] = Field([], description="globs of the files that define it")
    inputs: list[str] = Field(
        [],
        description="globs of the files that its result depends on; it sees no others, and its "
        "verdict is reused while they are unchanged",
    )
    hidden: HiddenFolder = Field(
        "",
        description="a folder outside the repository whose files no agent sees; they are in the "
        "proof room while the check runs. true: a hidden check without files",
    )


class TaskModel(StrictModel):
    """A node of the graph."""

    id: str = Field("", description="its name in the plan")
    goal: str = Field("", description="what the agent is asked to do")
    prompt: str = Field("", description="another word for goal")
    ticket: str = Field("", description="an issue in a tracker; the landed commit refers to it")
    kind: Literal["change", "fix", "report", "check", "plan", "group"] = Field(
        "change", description="what counts as success"
    )
    needs: list[str] = Field([], description="tasks that must be done before")
    checks: list[str] = Field(
        [], description="checks that prove it; default: every check of the plan"
    )
    scope: list[str] = Field([], description="globs of the paths it may change")
    agent: AgentChain = Field([], description="an agent, or a chain of them")
    priority: Priority = Field(0, description="higher starts earlier")
    required: bool = Field(True, description="false: the run completes without it")
    retry: RetryModel = Field(default_factory=RetryModel)
    conversation: ConversationWord = Field(
        "continue",
        description="the agent's conversation after a failure of its work: continue, fresh, or "
        "auto: what fixed such failures more often; default: that of the plan",
    )
    learn: LearningWord = Field(
        "observe",
        description="choose: the results of earlier attempts draw agent, conversation and "
        "template of the next one; default: that of the plan",
    )
    timeout: Duration = Field(
        NOT_GIVEN, description="longest agent run; default: from the settings"
    )
    hang: Duration = Field(
        NOT_GIVEN,
        description="time without activity after which the agent is ended; default: from the "
        "settings",
    )
    budget: BudgetModel = Field(default_factory=BudgetModel)
    max_iterations: int = Field(1, ge=1, le=RETRIES_MAX, description="attempts at the work")
    setup: list[CommandWords] = Field([], description="commands after those of the plan")
    setup_inputs: list[str] = Field([], description="globs after those of the plan")
    may_change_nothing: bool = Field(
        False, description="the task is done if its checks pass, even if nothing was changed"
    )
    red: CriterionWord = Field(
        "off",
        description="a test must fail without the change, so only for a fix of existing code: off, "
        "told, required or true; default: that of the plan, for a fix required",
    )
    mutants: MutantsOrWord = Field(
        default_factory=MutantsModel,
        description="faults in the changed lines, which a test must notice: off, told, required, "
        "or a table; default: that of the plan",
    )
    race: RaceOrWord = Field(
        default_factory=RaceModel,
        description="several candidates for its work: off or a table; default: that of the plan",
    )
    discard: list[str] = Field([], description="globs after those of the plan")
    fixes: list[str] = Field([], description="failures of the base that must be fixed")
    allow_mass_deletion: bool = Field(False, description="it may delete most of the files")
    allow_weaker_tests: bool = Field(False, description="it may delete, skip or loosen tests")
    quality: list[Criterion] = Field(
        default_factory=all_criteria,
        description="the criteria on its diff; default: all",
    )
    phase: str = Field("", description="the phase it belongs to")
    tasks: list[TaskModel] = Field([], description="of a group: its subtasks")
    atomic: bool = Field(False, description="of a group: all of it or nothing")
    partial: bool = Field(False, description="of a group: it may land without what failed")
    constraints: ConstraintsModel = Field(
        default_factory=ConstraintsModel, description="of a plan task: which tasks it may create"
    )
    deadline: Duration = Field(
        NOT_GIVEN, description="of a plan task: time limit, counted from when it can start"
    )
    tags: list[str] = Field([], max_length=20, description="tags that its worker must declare")


class PhaseModel(StrictModel):
    """A group of tasks that waits for other phases."""

    id: str = Field("", description="its name")
    needs: list[str] = Field([], description="phases that must be done before")
    tasks: list[TaskModel] = Field([], description="its tasks")
    deferred: bool = Field(False, description="filled during the run, by a planner or a person")
    goal: str = Field("", description="of a deferred phase: what its tasks are for")
    agent: AgentChain = Field([], description="of a deferred phase: who plans it")
    constraints: ConstraintsModel = Field(
        default_factory=ConstraintsModel, description="of a deferred phase: what may fill it"
    )
    deadline: Duration = Field(
        NOT_GIVEN, description="of a deferred phase: time to fill it, from when it can begin"
    )


class PlanModel(StrictModel):
    """A plan: the goal, the agents, the checks and the tasks."""

    goal: str = Field("", description="what the whole run is for")
    base: BranchName = Field("", description="branch to start from; default: the current one")
    agents: dict[str, AgentModel] = Field({}, description="agents by name")
    agent: AgentChain = Field([], description="the chain of a task that names none")
    checks: dict[str, CheckModel] = Field({}, description="checks by name, in their order")
    patterns: list[str] = Field([], description="your own failure patterns")
    phases: list[PhaseModel] = Field([], description="ordered groups of tasks")
    tasks: list[TaskModel] = Field([], description="the work")
    setup: list[CommandWords] = Field(
        [], description="commands run in each new worktree and proof room"
    )
    setup_inputs: list[str] = Field(
        [], description="globs of files that set-up reads, besides manifests and lock files"
    )
    discard: list[str] = Field(
        default_factory=lambda: list(DISCARD),
        description="globs of ignored files that are not saved when a worktree goes",
    )
    quality: list[Criterion] = Field(
        default_factory=all_criteria, description="the criteria on the diffs of its tasks"
    )
    red: CriterionWord = Field(
        "off",
        description="for its changes and fixes: a test must fail without the change, so only if "
        "all of them fix existing code",
    )
    mutants: MutantsOrWord = Field(
        default_factory=MutantsModel,
        description="faults in the changed lines of its tasks, which a test must notice; "
        "default: off",
    )
    conversation: ConversationWord = Field(
        "continue",
        description="for its tasks: the conversation after a failure; default: retry.conversation "
        "of the settings",
    )
    learn: LearningWord = Field(
        "observe",
        description="for its tasks: observe or choose; default: retry.learn of the settings",
    )
    race: RaceOrWord = Field(
        default_factory=RaceModel,
        description="several candidates for the work of each change and fix; default: off",
    )
    planner: AgentChain = Field(
        [], description="agents that plan more tasks when something is missing"
    )
    budget: RunBudgetModel = Field(default_factory=RunBudgetModel)
    continuous: ContinuousModel = Field(default_factory=ContinuousModel)
    done_when: list[str] = Field([], description="checks proven on the run branch at the end")
    final_tasks: list[TaskModel] = Field([], description="tasks that run after all others")
    priority: Priority = Field(0, description="priority of the run among all runs")
    language: Literal["en", "ja"] = Field(
        "en", description="language of the words about a failure, in the prompt of a retry"
    )
