"""Translates a registry into a plan: each step is a task, each use of a validator a check."""

from __future__ import annotations

import json
from dataclasses import field

from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import CheckSpec, PromptFiles
from yaoki.core.settings.settings import Settings
from yaoki.formats.plan.defects import Defects
from yaoki.formats.plan.draft import JudgedDraft, PlacedTask, draft_from_model
from yaoki.formats.plan.limit_models import CauseModel, RetryModel
from yaoki.formats.plan.model import CheckModel, FileModel, PlanModel, TaskModel
from yaoki.formats.plan.plan import Plan, PromptRequirements
from yaoki.formats.registry.model import ConditionModel, RegistryModel, StepModel, ValidatorModel
from yaoki.formats.registry.rules import RegistryEntry

C1 = "steps"
GOAL_CHARS_MAX = 200
NAME_CHARS_MAX = 60
SOURCE_KEYS = {"id": ("stepId",), "goal": ("name",), "max_iterations": ("onFailure", "maxAttempts")}
NO_AGENT = "no agent: a registry names none; give yaoki.toml a default with agent =, or use --agent"

# A validator, the action after its failure, and its params as text.
ValidatorUse = tuple[str, str, str]


@dataclass(slots=True)
class RegistryTranslation:
    """The parts of the plan so far; a validator used in two ways becomes two checks."""

    registry: RegistryModel
    defects: Defects
    invalid: frozenset[RegistryEntry]
    checks: dict[str, CheckModel] = field(default_factory=dict)
    check_names: dict[ValidatorUse, str] = field(default_factory=dict)
    conditions: dict[str, ConditionModel] = field(default_factory=dict)
    prompt_files: dict[str, PromptFiles] = field(default_factory=dict)

    def add_task(self, key: str, step: StepModel) -> PlacedTask:
        path = ("steps", key)
        conditions = step.completionConditions
        if path in self.invalid or not all(self._is_valid(one) for one in conditions):
            # The rules of registries have already reported what is missing here.
            self.defects.broken_paths.add((*path, "checks"))
            conditions = []
        self.prompt_files[key] = self._files(step)
        checks = [self._check(condition, step.onFailure.action) for condition in conditions]
        return PlacedTask(path, _task(key, step, checks), source_paths=SOURCE_KEYS)

    def _is_valid(self, condition: ConditionModel) -> bool:
        name = condition.validator
        return name in self.registry.validators and ("validators", name) not in self.invalid

    def _files(self, step: StepModel) -> PromptFiles:
        """The prompt files of a step, as far as its valid parts determine them."""
        if not (step.c2 and step.c3):
            return PromptFiles()
        validators, patterns = self.registry.validators, self.registry.completionPatterns
        used = {one.validator for one in step.completionConditions}
        failures = (one.failurePattern for name, one in validators.items() if name in used)
        names = {
            name: (patterns[name].edition, patterns[name].adaptation)
            for name in failures
            if name in patterns and ("completionPatterns", name) not in self.invalid
        }
        return PromptFiles((C1, step.c2, step.c3), names)

    def _check(self, condition: ConditionModel, action: str) -> str:
        use = condition.validator, action, json.dumps(condition.params, sort_keys=True)
        if use not in self.check_names:
            name = self.check_names[use] = self._name(condition.validator)
            self.conditions[name] = condition
            self.checks[name] = self._model(condition, action)
            # The rules of registries judged the validator; those of plans must add nothing.
            self.defects.broken_paths.add(("checks", name))
        return self.check_names[use]

    def _model(self, condition: ConditionModel, action: str) -> CheckModel:
        validator = self.registry.validators[condition.validator]
        values: dict[str, object] = {"pattern": validator.failurePattern, "on_failure": action}
        if validator.type == "file":
            form, _, rest = (validator.successWhen or "exists").partition(":")
            paths = _paths(validator, condition)
            values["file"] = FileModel.model_validate({"path": paths[0], form: rest or True})
        elif validator.type == "custom":
            values |= {"python": condition.validator, "options": condition.params}
        else:
            values |= {"shell": validator.command, "success": validator.successWhen}
        return CheckModel.model_validate(values)

    def _name(self, validator: str) -> str:
        """The validator's own name for its first use, then a numbered one."""
        name, number = validator, 1
        while name in self.checks or (number > 1 and name in self.registry.validators):
            number += 1
            name = f"{validator[:NAME_CHARS_MAX]}.{number}"
        return name


def translate_registry(
    registry: RegistryModel, settings: Settings, defects: Defects, invalid: frozenset[RegistryEntry]
) -> JudgedDraft:
    parts = RegistryTranslation(registry, defects, invalid)
    tasks = [parts.add_task(key, step) for key, step in registry.steps.items()]
    plan = PlanModel(goal=_goal(registry), checks=parts.checks)
    draft = replace(draft_from_model(plan, tasks, settings, defects), no_agent_message=NO_AGENT)
    prompts = PromptRequirements(
        tuple(parts.prompt_files.values()), _params(registry, settings, invalid)
    )
    return JudgedDraft(draft, prompts, lambda plan: _finish(plan, parts))


def _goal(registry: RegistryModel) -> str:
    names = ", ".join(step.name or key for key, step in registry.steps.items())
    return f"{registry.agentId} {registry.version}: {names}"[:GOAL_CHARS_MAX]


def _params(
    registry: RegistryModel, settings: Settings, invalid: frozenset[RegistryEntry]
) -> dict[str, tuple[str, ...] | None]:
    """The params of each pattern; None for a pattern with a defect."""
    own = {
        name: None if _doubtful(registry, name, invalid) else tuple(pattern.params)
        for name, pattern in registry.completionPatterns.items()
    }
    return {**dict.fromkeys(settings.patterns), **own}


def _doubtful(registry: RegistryModel, pattern: str, invalid: frozenset[RegistryEntry]) -> bool:
    users = (("validators", name) for name in registry.users_of(pattern))
    return not invalid.isdisjoint((("completionPatterns", pattern), *users))


def _task(key: str, step: StepModel, checks: list[str]) -> TaskModel:
    failure, more = step.onFailure, dict[str, object]()
    if failure.action == "retry" and failure.is_given("maxAttempts"):
        more["max_iterations"] = failure.maxAttempts
    if failure.action == "skip":
        # The task gets one attempt, and the run continues without it.
        once = {"QUALITY_FAILURE": CauseModel(max_retries=0)}
        more |= {"required": False, "retry": RetryModel(cause_specific=once)}
    goal = "\n\n".join(filter(None, (step.name.strip() or key, step.description.strip())))
    return TaskModel.model_validate({"id": key, "goal": goal, "checks": checks, **more})


def _paths(validator: ValidatorModel, condition: ConditionModel) -> tuple[str, ...]:
    own = (validator.path,) if validator.path else ()
    return tuple(dict.fromkeys((*own, *condition.paths)))


# ------------------------------------------------------------------ what only a registry says


def _finish(plan: Plan, parts: RegistryTranslation) -> Plan:
    """Add what native plans do not have: extractors, several paths, names of prompt files.

    The catalogue also contains checks of the settings, which stay unchanged.
    """
    checks = dict(plan.catalogue.checks)
    for name, condition in parts.conditions.items():
        validator = parts.registry.validators[condition.validator]
        checks[name] = _with_validator(checks[name], validator, condition)
    specs = tuple(
        replace(
            spec,
            checks=tuple(checks[check.name] for check in spec.checks),
            prompts=parts.prompt_files[spec.name],
        )
        for spec in plan.specs
    )
    return replace(plan, catalogue=replace(plan.catalogue, checks=checks), specs=specs)


def _with_validator(
    check: CheckSpec, validator: ValidatorModel, condition: ConditionModel
) -> CheckSpec:
    paths = _paths(validator, condition)
    several = len(paths) > 1
    file = {form: list(paths) for form in check.file} if several else check.file
    return replace(check, file=file, extract=dict(validator.extractParams))
