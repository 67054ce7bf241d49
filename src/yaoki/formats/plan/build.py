"""Builds the plan's values from a draft without defects."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from yaoki.core.environment import VIRTUAL_ENV
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import (
    AgentAccount,
    AgentSpec,
    BaselineMode,
    Catalogue,
    CheckSpec,
    CheckType,
    ContinuousMode,
    CriterionLevel,
    GitCheck,
    HiddenFiles,
    OnFailure,
    Permissions,
    PlanningBrief,
    PlanningRole,
    PromptChannel,
    RaceEnd,
    RaceRules,
    RaceStart,
    RetryPolicy,
    TaskKind,
    TaskSpec,
)
from yaoki.core.model.check_types import TYPE_BY_PLAN_KEY
from yaoki.core.model.mutant import MutantRules
from yaoki.core.model.spec import list_chain
from yaoki.core.settings.settings import build_retry_policy
from yaoki.formats.plan.field_values import HIDDEN_WITHOUT_FILES
from yaoki.formats.plan.limits import plan_retry, task_hang, task_retry, task_timeout
from yaoki.formats.plan.order import collect_needs
from yaoki.formats.plan.plan import Plan

if TYPE_CHECKING:
    from yaoki.core.settings.retry import RetrySettings
    from yaoki.formats.plan.draft import Draft, PlacedTask
    from yaoki.formats.plan.limit_models import BudgetModel, RunBudgetModel
    from yaoki.formats.plan.model import AgentModel, CheckModel, TaskModel

CHECK_TIMEOUT = timedelta(minutes=10)
PLAN_RETRIES_MAX = 2
_OVERRIDES = ("retry", "max_iterations", "budget", "conversation", "learn")


def build_plan(draft: Draft, source: str) -> Plan:
    catalogue = Catalogue(_checks(draft), _agents(draft), _policies(draft))
    needs = collect_needs(draft)
    return Plan(
        goal=draft.plan.goal.strip(),
        base=draft.plan.base,
        catalogue=catalogue,
        specs=_specs(draft, catalogue, needs),
        done_when=tuple(draft.plan.done_when),
        source=source,
        priority=draft.plan.priority,
        language=_language(draft),
        planner_agents=tuple(draft.planners),
        default_agents=tuple(draft.plan.agent or draft.settings.agent),
        budget=_limits_of(draft.plan.budget),
        continuous=_continuous(draft),
    )


def _limits_of(budget: BudgetModel | RunBudgetModel) -> dict[str, float]:
    return {name: float(getattr(budget, name)) for name in sorted(budget.model_fields_set)}


def _continuous(draft: Draft) -> ContinuousMode | None:
    mode = draft.plan.continuous
    if not draft.plan.is_given("continuous"):
        return None
    return ContinuousMode(mode.max_iterations, mode.max_failures, mode.pause_on_failure)


def _language(draft: Draft) -> str:
    return draft.plan.language if draft.plan.is_given("language") else draft.settings.language


def _checks(draft: Draft) -> dict[str, CheckSpec]:
    """The checks in use, in the order in which they were declared."""
    used = set(draft.checks) if draft.is_open_ended else set(draft.plan.done_when)
    for placed in draft.tasks:
        used.update(draft.checks_of(placed.task))
    return {name: _check_spec(draft, name, c) for name, c in draft.checks.items() if name in used}


def _check_spec(draft: Draft, name: str, check: CheckModel) -> CheckSpec:
    """The check; a judge check also has the agent that judges."""
    spec, judge = check_spec(name, check), check.judge.agent
    if name in draft.plan.checks and VIRTUAL_ENV not in spec.env:
        spec = replace(spec, env={**_virtual_environment(draft), **spec.env})
    if not judge:
        return spec
    return replace(spec, agent=agent_spec(judge, draft.agents[judge]).list_by_account()[0])


def _virtual_environment(draft: Draft) -> dict[str, str]:
    """The virtual environment on which the checks of the settings agree, if there is one."""
    given = (raw.get("env") for raw in draft.settings.checks.values())
    named = {env[VIRTUAL_ENV] for env in given if isinstance(env, Mapping) and VIRTUAL_ENV in env}
    return {VIRTUAL_ENV: named.pop()} if len(named) == 1 else {}


def _agents(draft: Draft) -> dict[str, AgentSpec]:
    used = {name for placed in draft.tasks for name in draft.chain_of(placed.task)}
    used.update((*draft.planners, *draft.plan.agent, *draft.settings.agent))
    races = (draft.race_of(placed.task) for placed in draft.tasks)
    used.update(race.judge for race in races if race is not None and race.judge)
    used = set(draft.agents) if draft.is_open_ended else used
    used.update(check.agent.name for check in _checks(draft).values() if check.agent)
    return {name: agent_spec(name, a) for name, a in draft.agents.items() if name in used}


def _policies(draft: Draft) -> dict[str, RetryPolicy]:
    """The retry policy of the plan, and one for each task that overrides it."""
    own = {
        f"task:{placed.task.id}": _retry_policy(draft, task_retry(draft, placed.task))
        for placed in draft.tasks
        if any(placed.task.is_given(key) for key in _OVERRIDES)
    }
    return {"default": _retry_policy(draft, plan_retry(draft)), **own}


def _retry_policy(draft: Draft, retry: RetrySettings) -> RetryPolicy:
    return build_retry_policy(retry, draft.settings.limits, draft.settings.escalate)


def check_spec(name: str, check: CheckModel) -> CheckSpec:
    conditions = {"exists", "absent", "contains", "matches"} & check.file.model_fields_set
    return CheckSpec(
        name=name,
        type=_check_type(check),
        argv=tuple(check.run),
        shell=check.shell,
        path=check.file.path,
        file={key: getattr(check.file, key) for key in sorted(conditions)},
        git=GitCheck(check.git),
        success=check.success,
        pattern=check.pattern,
        required=check.required,
        on_failure=OnFailure(check.on_failure),
        timeout=check.timeout or CHECK_TIMEOUT,
        baseline=BaselineMode(check.baseline),
        reader=check.reader,
        rerun=check.rerun,
        cwd=check.cwd,
        env=dict(check.env),
        ask=check.judge.ask.strip(),
        entry=check.python,
        options=dict(check.options),
        definition=tuple(check.definition),
        hidden=_hidden(check.hidden),
        inputs=tuple(check.inputs),
    )


def _hidden(folder: str) -> HiddenFiles | None:
    if not folder:
        return None
    return HiddenFiles() if folder == HIDDEN_WITHOUT_FILES else HiddenFiles(folder)


def _check_type(check: CheckModel) -> CheckType:
    """A command if the check has no key of any type, which is a defect of the plan."""
    types = (kind for key, kind in TYPE_BY_PLAN_KEY.items() if check.is_given(key))
    return next(types, CheckType.COMMAND)


def agent_spec(name: str, agent: AgentModel) -> AgentSpec:
    return AgentSpec(
        name=name,
        preset=agent.preset,
        command=tuple(agent.command),
        prompt=PromptChannel(agent.prompt),
        env=dict(agent.env),
        pass_env=tuple(agent.pass_env),
        model=agent.model,
        account=agent.account,
        concurrency=agent.concurrency,
        options=dict(agent.options),
        permissions=Permissions(agent.permissions),
        env_from=dict(agent.env_from),
        accounts=tuple(
            AgentAccount(key, dict(one.env), dict(one.env_from), one.concurrency)
            for key, one in agent.accounts.items()
        ),
    )


def _specs(
    draft: Draft, catalogue: Catalogue, needs: dict[str, tuple[str, ...]]
) -> tuple[TaskSpec, ...]:
    """The subtasks of an optional group are optional, too."""
    specs = tuple(_spec(draft, placed, catalogue, needs) for placed in draft.tasks)
    optional = {spec.name for spec in specs if spec.kind is TaskKind.GROUP and not spec.required}
    return tuple(
        replace(spec, required=False) if spec.group in optional else spec for spec in specs
    )


def _spec(
    draft: Draft, placed: PlacedTask, catalogue: Catalogue, needs: dict[str, tuple[str, ...]]
) -> TaskSpec:
    task = placed.task
    common_setup, setup_inputs = _common_setup(draft)
    return TaskSpec(
        name=task.id,
        goal=(task.goal or task.prompt).strip(),
        kind=TaskKind(task.kind),
        needs=needs[task.id],
        checks=tuple(catalogue.checks[name] for name in draft.checks_of(task)),
        agents=_chain(draft, task, catalogue),
        scope=tuple(task.scope),
        priority=task.priority,
        required=task.required,
        timeout=task_timeout(draft, task),
        hang=task_hang(draft, task),
        policy=_policy(task, catalogue),
        setup=(*common_setup, *(tuple(words) for words in task.setup)),
        setup_inputs=(*setup_inputs, *draft.plan.setup_inputs, *task.setup_inputs),
        may_change_nothing=task.may_change_nothing,
        red=_red(draft, task),
        mutants=_mutants(draft, task),
        race=_race(draft, task),
        discard=(*draft.plan.discard, *task.discard),
        fixes=tuple(task.fixes),
        allow_mass_deletion=task.allow_mass_deletion,
        allow_weaker_tests=task.allow_weaker_tests,
        quality=tuple(task.quality if task.is_given("quality") else draft.plan.quality),
        phase=placed.phase,
        language=_language(draft),
        budget={**draft.settings.budget.task, **_limits_of(task.budget)},
        group=placed.group,
        atomic=task.atomic,
        partial=_partial(draft, task),
        planning_brief=_planning_brief(placed),
        tags=tuple(sorted(set(task.tags))),
        ticket=" ".join(task.ticket.split()),
    )


def _red(draft: Draft, task: TaskModel) -> CriterionLevel:
    """The task's own word, else that of the plan; a fix needs it unless one of them says no."""
    kind = TaskKind(task.kind)
    if not kind.is_change:
        return CriterionLevel.OFF
    for model in (task, draft.plan):
        if model.is_given("red"):
            return CriterionLevel(model.red)
    return CriterionLevel.REQUIRED if kind is TaskKind.FIX else CriterionLevel.OFF


def _mutants(draft: Draft, task: TaskModel) -> MutantRules:
    """The task's own rules, else those of the plan; off if neither has any."""
    for model in (task, draft.plan):
        if model.is_given("mutants"):
            given = model.mutants
            return MutantRules(given.max, given.survive, given.required, given.timeout)
    return MutantRules()


def _race(draft: Draft, task: TaskModel) -> RaceRules | None:
    race = draft.race_of(task)
    if race is None:
        return None
    start = RaceStart.AFTER_FAILURE if race.start.failure else RaceStart.AT_ONCE
    return RaceRules(
        race.tries,
        RaceStart.AFTER if race.start.after else start,
        race.start.after,
        RaceEnd(race.until),
        agents_take_turns=draft.chain_of(task) is race.agents,
        judge=race.judge,
    )


def _common_setup(draft: Draft) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """The set-up of all tasks and its inputs: the plan's own, else that of the settings.

    A plan with an empty `setup` wants none.
    """
    if draft.plan.is_given("setup"):
        return tuple(tuple(words) for words in draft.plan.setup), ()
    return draft.settings.setup.commands, draft.settings.setup.inputs


def _policy(task: TaskModel, catalogue: Catalogue) -> RetryPolicy:
    """A planner may correct a bad answer at most twice."""
    policy = catalogue.policies.get(f"task:{task.id}", catalogue.policies["default"])
    if task.kind != "plan":
        return policy
    retries = min(policy.content_retries_max, PLAN_RETRIES_MAX)
    return replace(policy, content_retries_max=retries, reruns_max=0)


def _partial(draft: Draft, task: TaskModel) -> bool:
    if task.kind != "group" or task.atomic:
        return False
    return (
        task.partial if task.is_given("partial") else draft.settings.recovery.partial_commit_enabled
    )


def _planning_brief(placed: PlacedTask) -> PlanningBrief | None:
    task = placed.task
    if task.kind != "plan":
        return None
    deferred = task.id == f"fill-{placed.phase}"
    return PlanningBrief(
        role=PlanningRole.PHASE if deferred else PlanningRole.TASK,
        phase=placed.phase,
        tasks_max=task.constraints.max_tasks,
        kinds=tuple(TaskKind(kind) for kind in task.constraints.kinds),
        deadline=task.deadline,
    )


def _chain(draft: Draft, task: TaskModel, catalogue: Catalogue) -> tuple[AgentSpec, ...]:
    if task.kind in {"check", "group"}:
        return ()
    return list_chain(catalogue.agents[name] for name in draft.chain_of(task))
