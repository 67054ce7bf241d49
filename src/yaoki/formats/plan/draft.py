"""A plan half-way: its sound parts as models, the settings' parts laid below, defects so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from yaoki.core.model import PlanningRole
from yaoki.core.planner_prompt import planning_goal
from yaoki.core.settings.settings import Settings
from yaoki.formats.plan.defects import Defects, KeyPath
from yaoki.formats.plan.model import AgentModel, CheckModel, PhaseModel, PlanModel, TaskModel
from yaoki.formats.plan.plan import Plan, PromptRequirements
from yaoki.formats.plan.shape import ModelType, build_model


@dataclass(frozen=True, slots=True)
class PlacedTask:
    """A task and where it stands."""

    path: KeyPath
    task: TaskModel
    phase: str = ""
    is_final: bool = False
    group: str = ""
    # Where another format has a key of ours.
    source_paths: Mapping[str, KeyPath] = field(default_factory=dict)

    def path_of(self, key: str = "", *parts: str | int) -> KeyPath:
        return (*self.path, *self.source_paths.get(key, (key,) if key else ()), *parts)


@dataclass(slots=True)
class Draft:
    """Everything the rules look at.

    `used` are the names something refers to, by sort of thing.  `agent_names` and `check_names`
    count those whose shape was refused as well: to name such a one is no second mistake.
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
        """Note that `word` is used; a defect unless it is known."""
        if word not in known:
            word = self.defects.add_unknown(path, sort, word, known)
        self.references.add((sort, word))

    def add_references(self, sort: str, path: KeyPath, words: list[str], known: Set[str]) -> None:
        """Note each; naming a thing twice is a defect, for it changes nothing."""
        seen: set[str] = set()
        for index, word in enumerate(words):
            self.add_reference(sort, (*path, index), word, known)
            if word in seen:
                self.defects.add((*path, index), f"{word!r} is named twice")
            seen.add(word)

    @property
    def is_open_ended(self) -> bool:
        """May tasks come that nobody has written yet?  They may use every check and agent."""
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

    def chain_of(self, task: TaskModel) -> list[str]:
        if task.kind == "plan":
            return task.agent or self.planners
        return task.agent or self.plan.agent or list(self.settings.agent)


@dataclass(frozen=True, slots=True)
class JudgedDraft:
    """A judged draft, what it asks of the prompt files, and what its format adds to the plan."""

    draft: Draft
    prompt_requirements: PromptRequirements
    finish: Callable[[Plan], Plan] = lambda plan: plan


def make_draft(raw: Any, settings: Settings, defects: Defects) -> Draft:
    plan = build_model(PlanModel, raw, defects)
    tasks = sorted(_placed(plan), key=lambda one: (one.is_final, defects.position_of(one.path)))
    return draft_from_model(plan, tasks, settings, defects)


def draft_from_model(
    plan: PlanModel, tasks: Sequence[PlacedTask], settings: Settings, defects: Defects
) -> Draft:
    """The plan with the settings' agents and checks below it."""
    below = Defects(settings.source)
    agents = _shaped_all(AgentModel, settings.agents, below, "agents")
    checks = _shaped_all(CheckModel, settings.checks, below, "checks")
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


def _names(
    defects: Defects, below: Defects, section: str, sound: Mapping[str, Any]
) -> frozenset[str]:
    refused = (path for path in (*defects.broken_paths, *below.broken_paths) if len(path) == 2)
    return frozenset(sound) | {str(name) for head, name in refused if head == section}


def _shaped_all(
    model: type[ModelType], raw: Mapping[str, Any], defects: Defects, section: str
) -> dict[str, ModelType]:
    """Taking out what is wrong changes the data, so it works on a copy of the settings'."""
    return {
        name: build_model(model, deepcopy(dict(given)), defects, (section, name))
        for name, given in raw.items()
    }


def _placed(plan: PlanModel) -> Iterator[PlacedTask]:
    """Every task with its place; they are numbered in the order of the file, final ones last."""
    for n, task in enumerate(plan.tasks):
        yield from _with_subtasks(PlacedTask(("tasks", n), task, task.phase))
    for p, phase in enumerate(plan.phases):
        for n, task in enumerate(phase.tasks):
            yield from _with_subtasks(PlacedTask(("phases", p, "tasks", n), task, phase.id))
        if phase.deferred and phase.id:
            yield PlacedTask(("phases", p), _filling(plan, phase), phase.id)
    for n, task in enumerate(plan.final_tasks):
        yield from _with_subtasks(PlacedTask(("final_tasks", n), task, is_final=True))


def _with_subtasks(placed: PlacedTask) -> Iterator[PlacedTask]:
    yield placed
    if placed.task.kind == "group":
        for n, task in enumerate(placed.task.tasks):
            path = (*placed.path, "tasks", n)
            yield PlacedTask(path, task, placed.phase, placed.is_final, placed.task.id)


def _filling(plan: PlanModel, phase: PhaseModel) -> TaskModel:
    """The task that fills a deferred phase; whoever needs the phase needs it and what it makes."""
    given: dict[str, Any] = {
        "id": f"fill-{phase.id}",
        "goal": planning_goal(PlanningRole.PHASE, phase.goal or plan.goal, phase.id),
        "kind": "plan",
        "constraints": phase.constraints,
        "deadline": phase.deadline,
        **({"agent": phase.agent} if phase.agent else {}),
    }
    # Made of parts that were read already: their spellings are not asked for again.
    return TaskModel.model_construct(set(given), **given)
