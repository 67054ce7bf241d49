"""The rules of a registry: names, references, and the params of patterns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.plan.defects import Defects, KeyPath
from yaoki.formats.plan.field_values import FieldRefused, check_inside, check_success
from yaoki.formats.plan.plan import PlanEnvironment
from yaoki.formats.plan.rules import judge_entry_point, judge_name
from yaoki.formats.registry.model import (
    ConditionModel,
    FailureModel,
    PatternModel,
    RegistryModel,
    StepModel,
    ValidatorModel,
)

VERSION = lazy_compile(r"3(\.[0-9]{1,9}){0,2}")
_PARAM = lazy_compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_FORMS = "exists, absent, contains:TEXT or matches:REGEX"

# A section and a name in it.
RegistryEntry = tuple[str, str]


def judge_registry(
    registry: RegistryModel, defects: Defects, known: PlanEnvironment
) -> frozenset[RegistryEntry]:
    """Add every defect; returns the entries that have one.

    References come before what they refer to: a misspelt name counts as a reference.
    """
    rules = RegistryRules(registry, defects, known.extractors())
    rules.judge_top()
    parts: list[tuple[str, Mapping[str, Any], Callable[[KeyPath, Any], None]]] = [
        ("steps", registry.steps, rules.judge_step),
        ("validators", registry.validators, rules.judge_validator),
        ("completionPatterns", registry.completionPatterns, rules.judge_pattern),
    ]
    invalid = {(str(path[0]), str(path[1])) for path in defects.broken_paths if len(path) > 1}
    for section, entries, rule in parts:
        for name, one in entries.items():
            before = len(defects.entries)
            rule((section, name), one)
            if len(defects.entries) > before:
                invalid.add((section, name))
    return frozenset(invalid)


@dataclass(slots=True)
class RegistryRules:
    """The rules, and the names referred to so far."""

    registry: RegistryModel
    defects: Defects
    extractors: Collection[str]
    references: set[RegistryEntry] = field(default_factory=set)

    def judge_top(self) -> None:
        registry, defects = self.registry, self.defects
        if not registry.agentId.strip():
            defects.add_missing((), "agentId is missing", "agentId")
        if not registry.version:
            defects.add_missing((), "version is missing", "version")
        elif not VERSION.fullmatch(registry.version):
            defects.add(("version",), f"version {registry.version[:40]!r} is not known; 3.x is")
        if not registry.steps:
            defects.add_missing((), "there are no steps", "steps")

    # -------------------------------------------------------------- steps

    def judge_step(self, path: KeyPath, step: StepModel) -> None:
        for key in ("stepId", "name", "c2", "c3"):
            if not getattr(step, key).strip():
                self.defects.add_missing(path, f"{key} is missing", key)
        if step.stepId and step.stepId != path[-1]:
            reason = f"stepId {step.stepId[:80]!r} differs from its key"
            self.defects.add((*path, "stepId"), reason)
        earlier = list[ConditionModel]()
        for index, condition in enumerate(step.completionConditions):
            at = (*path, "completionConditions", index)
            self._condition(at, condition)
            if condition.validator and condition in earlier:
                self.defects.add(at, f"{condition.validator!r} is named twice")
            earlier.append(condition)
        self._on_failure((*path, "onFailure"), step.onFailure)

    def _on_failure(self, path: KeyPath, failure: FailureModel) -> None:
        if failure.action != "retry" and failure.is_given("maxAttempts"):
            reason = f"action {failure.action} does not retry, so maxAttempts has no effect"
            self.defects.add((*path, "maxAttempts"), reason)

    def _condition(self, path: KeyPath, condition: ConditionModel) -> None:
        name = condition.validator
        if not name:
            self.defects.add_missing(path, "validator is missing", "validator")
            return
        if name not in self.registry.validators:
            at = (*path, "validator")
            name = self._known(at, "validator", "validators", name, self.registry.validators)
        self.references.add(("validators", name))
        validator = self.registry.validators.get(name)
        if validator is not None:
            self._params(path, condition, validator)

    def _params(self, path: KeyPath, condition: ConditionModel, validator: ValidatorModel) -> None:
        """A file validator takes paths, a custom one any params, a command none."""
        if validator.type == "command" and condition.is_given("params"):
            reason = "a command validator takes no params; nothing would use them"
            self.defects.add((*path, "params"), reason)
        if validator.type == "file":
            self._paths(path, condition, validator)

    def _paths(self, path: KeyPath, condition: ConditionModel, validator: ValidatorModel) -> None:
        at = (*path, "params")
        for key in condition.params:
            if key != "paths":
                self.defects.add_unknown_key((*at, key), ["paths"])
        paths = condition.params.get("paths", [])
        if not isinstance(paths, list) or not all(isinstance(one, str) for one in paths):
            self.defects.add((*at, "paths"), "must be a list of paths")
            return
        for index, one in enumerate(paths):
            self._inside((*at, "paths", index), one)
        number = len(paths) + bool(validator.path)
        if not number:
            reason = f"{condition.validator!r} has no path; give it one, or params.paths here"
            self.defects.add_missing(at, reason, "paths")
        elif number > 1 and validator.successWhen.startswith(("contains:", "matches:")):
            self.defects.add(path, f"{validator.successWhen!r} looks at one path, not {number}")

    def _inside(self, path: KeyPath, one: str) -> None:
        try:
            check_inside(one)
        except FieldRefused as fault:
            self.defects.add(path, f"{one[:80]!r} {fault}")

    # -------------------------------------------------------------- validators

    def judge_validator(self, path: KeyPath, one: ValidatorModel) -> None:
        name = str(path[1])
        judge_name(self.defects, path, "validator", name)
        if not one.is_given("type"):
            self.defects.add_missing(path, "type is missing: command, file or custom", "type")
        {"command": self._command, "file": self._file}.get(one.type, self._custom)(path, one)
        if not one.failurePattern:
            self.defects.add_missing(path, "failurePattern is missing", "failurePattern")
        else:
            self._pattern_of(path, one)
        self._unused(path, "validator", "steps")

    def _command(self, path: KeyPath, one: ValidatorModel) -> None:
        self._no_key(path, one, "path")
        if not one.command.strip():
            self.defects.add_missing(path, "has no command to run", "command", "type")
        if not one.successWhen:
            reason = "successWhen is missing: exitCode:N, empty, contains:TEXT or matches:REGEX"
            self.defects.add_missing(path, reason, "successWhen")
            return
        self._success(path, one.successWhen)

    def _success(self, path: KeyPath, condition: str) -> None:
        try:
            check_success(condition)
        except FieldRefused as fault:
            self.defects.add((*path, "successWhen"), str(fault))

    def _file(self, path: KeyPath, one: ValidatorModel) -> None:
        self._no_key(path, one, "command")
        if one.successWhen.startswith(("contains:", "matches:")):
            self._success(path, one.successWhen)
        elif one.is_given("successWhen") and one.successWhen not in ("exists", "absent"):
            self.defects.add((*path, "successWhen"), f"of a file must be {_FORMS}")

    def _custom(self, path: KeyPath, one: ValidatorModel) -> None:
        """Code of an installed package, which returns the outcome and the params itself."""
        judge_entry_point(self.defects, path, str(path[1]))
        for key in ("command", "path", "successWhen", "extractParams"):
            self._no_key(path, one, key)

    def _no_key(self, path: KeyPath, one: ValidatorModel, key: str) -> None:
        if getattr(one, key) and (*path, "type") not in self.defects.broken_paths:
            reason = f"a {one.type} validator has no {key}; nothing would use it"
            self.defects.add((*path, key), reason)

    def _pattern_of(self, path: KeyPath, one: ValidatorModel) -> None:
        """Every extractor must be known, and provide exactly the params of the pattern."""
        name, patterns = one.failurePattern, self.registry.completionPatterns
        if name not in patterns:
            at = (*path, "failurePattern")
            name = self._known(at, "pattern", "completionPatterns", name, patterns)
        self.references.add(("completionPatterns", name))
        for param, extractor in one.extractParams.items():
            if extractor not in self.extractors:
                at = (*path, "extractParams", param)
                self.defects.add_unknown(at, "extractor", extractor, sorted(self.extractors))
        if name in patterns and one.type != "custom":
            self._fits(path, one, name, patterns[name].params)

    def _fits(self, path: KeyPath, one: ValidatorModel, name: str, declared: list[str]) -> None:
        at, similar = (*path, "extractParams"), set[str]()
        for param in one.extractParams:
            if param not in declared:
                near = self.defects.closest_name(param, declared)
                similar.add(near)
                hint = f"; did you mean {near!r}?" if near else ""
                reason = f"pattern {name!r} declares no param {param[:80]!r}{hint}"
                self.defects.add((*at, param), reason, at=self.defects.keys.get((*at, param)))
        for param in dict.fromkeys(declared):
            if param not in one.extractParams and param not in similar:
                reason = f"no extractor gives {param[:80]!r}, which pattern {name!r} declares"
                self.defects.add(at if one.is_given("extractParams") else path, reason)

    # -------------------------------------------------------------- patterns

    def judge_pattern(self, path: KeyPath, one: PatternModel) -> None:
        judge_name(self.defects, path, "pattern", str(path[1]))
        for key in ("edition", "adaptation"):
            if not getattr(one, key):
                self.defects.add_missing(path, f"{key} is missing", key)
        earlier = set[str]()
        for index, param in enumerate(one.params):
            at = (*path, "params", index)
            if not _PARAM.fullmatch(param):
                self.defects.add(at, f"{param[:80]!r} is not the name of a param")
            elif param in earlier:
                self.defects.add(at, f"{param!r} is declared twice")
            earlier.add(param)
        self._unused(path, "pattern", "validators")

    # -------------------------------------------------------------- uses

    def _known(
        self, path: KeyPath, sort: str, section: str, word: str, known: Collection[str]
    ) -> str:
        """The name that was meant, or the word itself; a broken entry counts as known."""
        if (section, word) in self.defects.broken_paths or (section,) in self.defects.broken_paths:
            return word
        return self.defects.add_unknown(path, sort, word, known) or word

    def _unused(self, path: KeyPath, sort: str, users: str) -> None:
        """An unused entry is a mistake, unless a broken part might have used it."""
        if (str(path[0]), str(path[1])) in self.references:
            return
        if not any(broken[:1] == (users,) for broken in self.defects.broken_paths):
            at = self.defects.keys.get(path)
            self.defects.add(path, f"nothing uses {sort} {str(path[1])[:80]!r}", at=at)
