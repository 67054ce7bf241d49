# ruff: noqa: N815 - the keys are the registry's own
"""A steps registry as people write it.  Shapes only, with the keys of the format."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.settings.keys import RETRIES_MAX
from yaoki.formats.plan.field_values import field_error
from yaoki.formats.plan.fields import InsidePath, StrictModel

_PART = lazy_compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def check_path_part(value: str) -> str:
    """A valid part of the path of a prompt file; it cannot leave its folder."""
    if not _PART.fullmatch(value):
        raise field_error(f"{value[:80]!r} cannot be part of the path of a prompt file")
    return value


PathPart = Annotated[str, AfterValidator(check_path_part)]


class PatternModel(StrictModel):
    """A named failure, and the prompt template for it."""

    description: str = Field("")
    edition: PathPart = Field("")
    adaptation: PathPart = Field("")
    params: list[str] = Field([])


class ValidatorModel(StrictModel):
    """A condition, and the pattern of its failure."""

    type: Literal["command", "file", "custom"] = Field("command")
    command: str = Field("")
    path: InsidePath = Field("")
    successWhen: str = Field("")
    failurePattern: str = Field("")
    extractParams: dict[str, str] = Field({})


class ConditionModel(StrictModel):
    """A validator that must pass before the step is complete."""

    validator: str = Field("")
    params: dict[str, Any] = Field({})

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of a file validator besides its own."""
        paths = self.params.get("paths", ())
        return tuple(paths) if isinstance(paths, list) else ()


class FailureModel(StrictModel):
    """The consequence of a failing condition."""

    action: Literal["retry", "abort", "skip"] = Field("retry")
    maxAttempts: int = Field(1, ge=1, le=RETRIES_MAX)


class StepModel(StrictModel):
    """A step of the registry."""

    stepId: str = Field("")
    name: str = Field("")
    description: str = Field("")
    c2: PathPart = Field("")
    c3: PathPart = Field("")
    completionConditions: list[ConditionModel] = Field([])
    onFailure: FailureModel = Field(default_factory=FailureModel)


class RegistryModel(StrictModel):
    """The whole file."""

    agentId: str = Field("")
    version: str = Field("")
    completionPatterns: dict[str, PatternModel] = Field({})
    validators: dict[str, ValidatorModel] = Field({})
    steps: dict[str, StepModel] = Field({})

    def users_of(self, pattern: str) -> dict[str, ValidatorModel]:
        """The validators with this failure pattern."""
        return {name: one for name, one in self.validators.items() if one.failurePattern == pattern}
