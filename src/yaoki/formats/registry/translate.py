"""A registry in our own words: each step a task, each use of a validator a check."""

from __future__ import annotations

import json
from dataclasses import field, replace

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import CheckSpec, PromptFiles
from yaoki.core.settings.settings import Settings
from yaoki.formats.plan.defects import Defects
from yaoki.formats.plan.draft import JudgedDraft, PlacedTask, draft_from_model
from yaoki.formats.plan.model import (
    CauseModel,
    CheckModel,
    FileModel,
    PlanModel,
    RetryModel,
    TaskModel,
)
from yaoki.formats.plan.plan import Plan, PromptRequirements
from yaoki.formats.registry.model import ConditionModel, RegistryModel, StepModel, ValidatorModel
from yaoki.formats.registry.rules import RegistryEntry

C1 = "steps"
GOAL_CHARS_MAX = 200
NAME_CHARS_MAX = 60
SOURCE_KEYS = {"id": ("stepId",), "goal": ("name",), "max_iterations": ("onFailure", "maxAttempts")}
NO_AGENT = "no agent: a registry names none; give yaoki.toml a default with agent =, or use --agent"

# A validator, what follows its failure, and the params it is asked with, as text.
ValidatorUse = tuple[str, str, str]


@dataclass(slots=True)
class RegistryTranslation:
    """What was made so far; one validator used in two ways is two checks."""

    registry: RegistryModel
    defects: Defects
    unsound: frozenset[RegistryEntry]
    checks: dict[str, CheckModel] = field(default_factory=dict)
    check_names: dict[ValidatorUse, str] = field(default_factory=dict)
    conditions: dict[str, ConditionModel] = field(default_factory=dict)
    prompt_files: dict[str, PromptFiles] = field(default_factory=dict)

    def add_task(self, key: str, step: StepModel) -> PlacedTask:
        path = ("steps", key)
        conditions = step.completionConditions
        if path in self.unsound or not all(self._sound(one) for one in conditions):
            # What is missing here was told already.
            self.defects.broken_paths.add((*path, "checks"))
            conditions = []
        self.prompt_files[key] = self._files(step)
        named = [self._check(condition, step.onFailure.action) for condition in conditions]
        return PlacedTask(path, _task(key, step, named), source_paths=SOURCE_KEYS)

    def _sound(self, condition: ConditionModel) -> bool:
        name = condition.validator
        return name in self.registry.validators and ("validators", name) not in self.unsound

    def _files(self, step: StepModel) -> PromptFiles:
        """Of a registry with defects as much as can be said."""
        if not (step.c2 and step.c3):
            return PromptFiles()
        validators, patterns = self.registry.validators, self.registry.completionPatterns
        asked = {one.validator for one in step.completionConditions}
        called = (one.failurePattern for name, one in validators.items() if name in asked)
        names = {
            name: (patterns[name].edition, patterns[name].adaptation)
            for name in called
            if name in patterns and ("completionPatterns", name) not in self.unsound
        }
        return PromptFiles((C1, step.c2, step.c3), names)

    def _check(self, condition: ConditionModel, action: str) -> str:
        use = condition.validator, action, json.dumps(condition.params, sort_keys=True)
        if use not in self.check_names:
            name = self.check_names[use] = self._name(condition.validator)
            self.conditions[name] = condition
            self.checks[name] = self._model(condition, action)
            # The validator was judged; our own rules have nothing to add.
            self.defects.broken_paths.add(("checks", name))
        return self.check_names[use]

    def _model(self, condition: ConditionModel, action: str) -> CheckModel:
        validator = self.registry.validators[condition.validator]
        given: dict[str, object] = {"pattern": validator.failurePattern, "on_failure": action}
        if validator.type == "file":
            form, _, rest = (validator.successWhen or "exists").partition(":")
            paths = _paths(validator, condition)
            given["file"] = FileModel.model_validate({"path": paths[0], form: rest or True})
        elif validator.type == "custom":
            given |= {"python": condition.validator, "options": condition.params}
        else:
            given |= {"shell": validator.command, "success": validator.successWhen}
        return CheckModel.model_validate(given)

    def _name(self, validator: str) -> str:
        """Its own name the first time; no other validator's."""
        name, number = validator, 1
        while name in self.checks or (number > 1 and name in self.registry.validators):
            number += 1
            name = f"{validator[:NAME_CHARS_MAX]}.{number}"
        return name


def translate_registry(
    registry: RegistryModel, settings: Settings, defects: Defects, unsound: frozenset[RegistryEntry]
) -> JudgedDraft:
    made = RegistryTranslation(registry, defects, unsound)
    tasks = [made.add_task(key, step) for key, step in registry.steps.items()]
    plan = PlanModel(goal=_goal(registry), checks=made.checks)
    held = replace(draft_from_model(plan, tasks, settings, defects), no_agent_message=NO_AGENT)
    asked = PromptRequirements(
        tuple(made.prompt_files.values()), _params(registry, settings, unsound)
    )
    return JudgedDraft(held, asked, lambda plan: _finished(plan, made))


def _goal(registry: RegistryModel) -> str:
    names = ", ".join(step.name or key for key, step in registry.steps.items())
    return f"{registry.agentId} {registry.version}: {names}"[:GOAL_CHARS_MAX]


def _params(
    registry: RegistryModel, settings: Settings, unsound: frozenset[RegistryEntry]
) -> dict[str, tuple[str, ...] | None]:
    """Of a pattern with a defect nobody can say what it gives; that was told already."""
    own = {
        name: None if _doubtful(registry, name, unsound) else tuple(pattern.params)
        for name, pattern in registry.completionPatterns.items()
    }
    return {**dict.fromkeys(settings.patterns), **own}


def _doubtful(registry: RegistryModel, pattern: str, unsound: frozenset[RegistryEntry]) -> bool:
    users = (("validators", name) for name in registry.users_of(pattern))
    return not unsound.isdisjoint((("completionPatterns", pattern), *users))


def _task(key: str, step: StepModel, checks: list[str]) -> TaskModel:
    failure, more = step.onFailure, dict[str, object]()
    if failure.action == "retry" and failure.is_given("maxAttempts"):
        more["max_iterations"] = failure.maxAttempts
    if failure.action == "skip":
        # One try, and the run goes on without it.
        once = {"QUALITY_FAILURE": CauseModel(max_retries=0)}
        more |= {"required": False, "retry": RetryModel(cause_specific=once)}
    goal = "\n\n".join(filter(None, (step.name.strip() or key, step.description.strip())))
    return TaskModel.model_validate({"id": key, "goal": goal, "checks": checks, **more})


def _paths(validator: ValidatorModel, condition: ConditionModel) -> tuple[str, ...]:
    own = (validator.path,) if validator.path else ()
    return tuple(dict.fromkeys((*own, *condition.paths)))


# ------------------------------------------------------------------ what only a registry says


def _finished(plan: Plan, made: RegistryTranslation) -> Plan:
    """Extractors, several paths, and the names of prompt files: no plan of our own has them.

    Checks of the settings stand in the catalogue as well, and stay as they are.
    """
    checks = dict(plan.catalogue.checks)
    for name, asked in made.conditions.items():
        checks[name] = _dressed(checks[name], made.registry.validators[asked.validator], asked)
    specs = tuple(
        replace(
            spec,
            checks=tuple(checks[check.name] for check in spec.checks),
            prompts=made.prompt_files[spec.name],
        )
        for spec in plan.specs
    )
    return replace(plan, catalogue=replace(plan.catalogue, checks=checks), specs=specs)


def _dressed(check: CheckSpec, validator: ValidatorModel, asked: ConditionModel) -> CheckSpec:
    paths = _paths(validator, asked)
    several = len(paths) > 1
    file = {form: list(paths) for form in check.file} if several else check.file
    return replace(check, file=file, extract=dict(validator.extractParams))
