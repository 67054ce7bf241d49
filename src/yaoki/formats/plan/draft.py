"""A draft of a plan: its valid parts as models, the settings' agents and checks, its defects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import PlanningRole
from yaoki.core.planner_prompt import planning_goal
from yaoki.formats.plan.defects import Defects, KeyPath
from yaoki.formats.plan.quick_part import Doubtful, QuickPart, build_quick_part

if TYPE_CHECKING:
    from yaoki.core.settings.settings import Settings
    from yaoki.formats.plan.limit_models import RaceModel
    from yaoki.formats.plan.model import AgentModel, CheckModel, PhaseModel, PlanModel, TaskModel
    from yaoki.formats.plan.plan import Plan, PromptRequirements


# The kinds of tasks whose work is a change that can be compared.
RACING_KINDS = ("change", "fix")


@dataclass(frozen=True, slots=True)
class PlacedTask:
    """A task and its place in the file."""

    path: KeyPath
    task: TaskModel
    phase: str = ""
    is_final: bool = False
    group: str = ""
    # The path of a plan key in another format.
    source_paths: Mapping[str, KeyPath] = field(default_factory=dict)

    def path_of(self, key: str = "", *parts: str | int) -> KeyPath:
        return (*self.path, *self.source_paths.get(key, (key,) if key else ()), *parts)


@dataclass(slots=True)
class Draft:
    """Everything the rules need.

    `references` are the names that something refers to, with their sort.  `agent_names` and
    `check_names` include those with a broken shape: naming one is no second mistake.
    """

    plan: PlanModel
    settings: Settings
    defects: Defects
    settings_defects: Defects
    agents: Mapping[str, AgentModel]
    checks: Mapping[str, CheckModel]
    tasks: tuple[PlacedTask, ...]
    agent_names: frozenset[str]
    check_names: frozenset[str]
    references: set[tuple[str, str]] = field(default_factory=set)
    no_agent_message: str = "no agent: name one here, or give the plan a default with agent:"

    def add_reference(self, sort: str, path: KeyPath, word: str, known: Set[str]) -> None:
        """Record a reference to `word`; a defect unless it is known."""
        if word not in known:
            hint = self._find_comment(word) if sort == "check" else ""
            word = self.defects.add_unknown(path, sort, word, known, hint)
        self.references.add((sort, word))

    def _find_comment(self, check: str) -> str:
        """Says where the settings have the check only as a comment; empty if they have not."""
        from yaoki.formats.config.key_lines import find_commented_table

        line = find_commented_table(self.settings.source_text, f"checks.{check}")
        return f"{self.settings.source}:{line} has it only as a comment" if line else ""

    def add_references(self, sort: str, path: KeyPath, words: list[str], known: Set[str]) -> None:
        """Record each; naming the same thing twice is a defect."""
        earlier: set[str] = set()
        for index, word in enumerate(words):
            self.add_reference(sort, (*path, index), word, known)
            if word in earlier:
                self.defects.add((*path, index), f"{word!r} is named twice")
            earlier.add(word)

    @property
    def is_open_ended(self) -> bool:
        """May a planner add tasks during the run?  They may use every check and agent."""
        planning = any(placed.task.kind == "plan" for placed in self.tasks)
        return planning or bool(self.planners)

    @property
    def planners(self) -> list[str]:
        return self.plan.planner or list(self.settings.planner)

    def checks_of(self, task: TaskModel) -> Sequence[str]:
        """The checks a task names, or every check of the plan, or else of the settings."""
        if task.is_given("checks") or task.kind == "plan":
            return task.checks
        return tuple(self.plan.checks or self.checks)

    def race_of(self, task: TaskModel) -> RaceModel | None:
        """The task's own race, else that of the plan; a race of one try is none."""
        owner = task if task.is_given("race") else self.plan
        races = owner.is_given("race") and task.kind in RACING_KINDS and owner.race.tries > 1
        return owner.race if races else None

    def chain_of(self, task: TaskModel) -> list[str]:
        if task.kind == "plan":
            return task.agent or self.planners
        race = self.race_of(task)
        # An agent of the task itself is closer than those of the plan's race.
        if race is not None and race.agents and (task.is_given("race") or not task.agent):
            return race.agents
        return task.agent or self.plan.agent or list(self.settings.agent)


@dataclass(frozen=True, slots=True)
class JudgedDraft:
    """A draft after the rules, its prompt requirements, and what its format adds to the plan."""

    draft: Draft
    prompt_requirements: PromptRequirements
    finish: Callable[[Plan], Plan] = lambda plan: plan


def make_draft(raw: Any, settings: Settings, defects: Defects) -> Draft:
    plan: PlanModel = build_part("PlanModel", raw, defects)
    tasks = sorted(_place_all(plan), key=lambda one: (one.is_final, defects.position_of(one.path)))
    return draft_from_model(plan, tasks, settings, defects)


def build_part(model: str, raw: Any, defects: Defects, above: KeyPath = ()) -> Any:
    """The part without the model library if it is valid for sure; else by the model, which
    records every defect.
    """
    try:
        return build_quick_part(model, raw)
    except Doubtful:
        from yaoki.formats.plan import model as models
        from yaoki.formats.plan.shape import build_model

        return build_model(getattr(models, model), raw, defects, above)


def draft_from_model(
    plan: PlanModel, tasks: Sequence[PlacedTask], settings: Settings, defects: Defects
) -> Draft:
    """The plan together with the agents and checks of the settings."""
    below = Defects(settings.source, find_line=partial(_find_line, settings))
    agents: dict[str, AgentModel] = _build_parts("AgentModel", settings.agents, below, "agents")
    checks: dict[str, CheckModel] = _build_parts("CheckModel", settings.checks, below, "checks")
    return Draft(
        plan=plan,
        settings=settings,
        defects=defects,
        settings_defects=below,
        agents={**agents, **plan.agents},
        checks={**checks, **plan.checks},
        tasks=tuple(tasks),
        agent_names=_names(defects, below, "agents", {**agents, **plan.agents}),
        check_names=_names(defects, below, "checks", {**checks, **plan.checks}),
    )


def _find_line(settings: Settings, key: str) -> int:
    from yaoki.formats.config.key_lines import find_settings_line  # only for a defect

    return find_settings_line(settings.source_text, settings.source, key)


def _names(
    defects: Defects, below: Defects, section: str, valid: Mapping[str, Any]
) -> frozenset[str]:
    broken = (path for path in (*defects.broken_paths, *below.broken_paths) if len(path) == 2)
    return frozenset(valid) | {str(name) for head, name in broken if head == section}


def _build_parts(
    model: str, raw: Mapping[str, Any], defects: Defects, section: str
) -> dict[str, Any]:
    """`build_model` removes invalid parts from its data, so it gets a copy of the settings."""
    return {
        name: build_part(model, deepcopy(dict(table)), defects, (section, name))
        for name, table in raw.items()
    }


def _place_all(plan: PlanModel) -> Iterator[PlacedTask]:
    """Every task with its place, in the order of the file, final tasks last."""
    for n, task in enumerate(plan.tasks):
        yield from _with_subtasks(PlacedTask(("tasks", n), task, task.phase))
    for p, phase in enumerate(plan.phases):
        for n, task in enumerate(phase.tasks):
            yield from _with_subtasks(PlacedTask(("phases", p, "tasks", n), task, phase.id))
        if phase.deferred and phase.id:
            yield PlacedTask(("phases", p), _planning_task(plan, phase), phase.id)
    for n, task in enumerate(plan.final_tasks):
        yield from _with_subtasks(PlacedTask(("final_tasks", n), task, is_final=True))


def _with_subtasks(placed: PlacedTask) -> Iterator[PlacedTask]:
    yield placed
    if placed.task.kind == "group":
        for n, task in enumerate(placed.task.tasks):
            path = (*placed.path, "tasks", n)
            yield PlacedTask(path, task, placed.phase, placed.is_final, placed.task.id)


def _planning_task(plan: PlanModel, phase: PhaseModel) -> TaskModel:
    """The task that fills a deferred phase; tasks that need the phase need it and its tasks."""
    values: dict[str, Any] = {
        "id": f"fill-{phase.id}",
        "goal": planning_goal(PlanningRole.PHASE, phase.goal or plan.goal, phase.id),
        "kind": "plan",
        "constraints": phase.constraints,
        "deadline": phase.deadline,
        **({"agent": phase.agent} if phase.agent else {}),
    }
    # The values come from a valid model, so they are not validated again.
    task: Any = QuickPart("TaskModel", values)
    model: TaskModel = task
    return model
