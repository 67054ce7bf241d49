"""The types of values in a plan: durations, commands, agent chains, success conditions.

The base of every model is here as well.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

from yaoki.formats.plan.field_values import (
    as_criterion_level,
    as_hidden_folder,
    as_list,
    check_branch_name,
    check_env_globs,
    check_env_names,
    check_env_sources,
    check_inside,
    check_regex,
    check_success,
    parse_duration,
    split_check_command,
    split_command,
)

_WORDS = {"type": "array", "items": {"type": "string"}}
Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": r"^(\d+d)?(\d+h)?(\d+m)?(\d+(\.\d+)?s)?(\d+ms)?$"},
                {"type": "number", "exclusiveMinimum": 0},
            ]
        }
    ),
]
_ONE_OR_MORE = {"anyOf": [{"type": "string"}, {**_WORDS, "minItems": 1}]}
AgentChain = Annotated[list[str], BeforeValidator(as_list), WithJsonSchema(_ONE_OR_MORE)]
CommandWords = Annotated[list[str], BeforeValidator(split_command), WithJsonSchema(_ONE_OR_MORE)]
CheckWords = Annotated[
    list[str], BeforeValidator(split_check_command), WithJsonSchema(_ONE_OR_MORE)
]
CriterionWord = Annotated[
    Literal["off", "told", "required"],
    BeforeValidator(as_criterion_level),
    WithJsonSchema({"enum": ["off", "told", "required", True, False]}),
]
HiddenFolder = Annotated[
    str, BeforeValidator(as_hidden_folder), WithJsonSchema({"type": ["string", "boolean"]})
]
Regex = Annotated[str, AfterValidator(check_regex)]
SuccessForm = Annotated[str, AfterValidator(check_success)]
InsidePath = Annotated[str, AfterValidator(check_inside)]
BranchName = Annotated[str, AfterValidator(check_branch_name)]
Env = Annotated[dict[str, str], AfterValidator(check_env_names)]
EnvSources = Annotated[dict[str, str], AfterValidator(check_env_sources)]
EnvGlobs = Annotated[list[str], AfterValidator(check_env_globs)]


class StrictModel(BaseModel):
    """Unknown keys are refused; nothing is converted silently."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)

    def is_given(self, name: str) -> bool:
        return name in self.model_fields_set
