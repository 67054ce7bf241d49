"""The arguments of each tool: schema and limits in one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from yaoki.adapters.agents.result_file import TEXT_MAX, WAIT_MAX_S
from yaoki.core.text import did_you_mean, one_line
from yaoki.errors import PlanInvalid

NAME_MAX = 200
TASKS_MAX = 1000
DEFECTS_MAX = 20

TextArgument = Annotated[str, Field(max_length=TEXT_MAX)]
NameArgument = Annotated[str, Field(max_length=NAME_MAX)]
RunArgument = Annotated[
    str, Field(max_length=NAME_MAX, description="The run; by default your own, else the newest.")
]
TaskArgument = Annotated[
    str, Field(min_length=1, max_length=NAME_MAX, description="A task by id, number or name.")
]
TasksArgument = Annotated[
    list[dict[str, Any]],
    Field(
        min_length=1,
        max_length=TASKS_MAX,
        description="Each task has id and goal; optional: needs, checks, agent, scope, replaces.",
    ),
]


class ToolArguments(BaseModel):
    """Strict: unknown names are refused and no value is converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ResultArguments(ToolArguments):
    status: Literal["failed", "conflict", "question", "done"]
    summary: Annotated[TextArgument, Field(description="One sentence: what happened.")] = ""
    question: Annotated[
        TextArgument, Field(description="With status question: the question for a person.")
    ] = ""
    retry_safe: Annotated[
        bool, Field(description="With status failed: may yaoki retry the task automatically?")
    ] = True
    partial_changes: Annotated[
        bool,
        Field(description="With status failed: something outside the worktree may be half done."),
    ] = False
    retry_after_s: Annotated[
        float,
        Field(
            ge=0,
            le=WAIT_MAX_S,
            description="With status failed: seconds to wait before the retry.",
        ),
    ] = 0


class AskArguments(ToolArguments):
    question: Annotated[
        TextArgument, Field(min_length=1, description="One question that a person can answer.")
    ]


class StatusArguments(ToolArguments):
    run: RunArgument = ""


class WhyArguments(ToolArguments):
    task: TaskArgument
    run: RunArgument = ""


class SubmitArguments(ToolArguments):
    plan: Annotated[
        dict[str, Any] | None, Field(description="A whole plan; a person must approve it.")
    ] = None
    phase: Annotated[
        NameArgument, Field(description="The deferred phase to fill; pass its tasks as well.")
    ] = ""
    tasks: Annotated[list[dict[str, Any]], Field(max_length=TASKS_MAX)] = []
    run: RunArgument = ""


class ExtendArguments(ToolArguments):
    tasks: TasksArgument
    run: RunArgument = ""


class AddRetryTaskArguments(ToolArguments):
    task: TaskArgument
    goal: Annotated[
        TextArgument, Field(description="The goal of the new task; by default that of the old one.")
    ] = ""
    run: RunArgument = ""


class CompleteArguments(ToolArguments):
    run: RunArgument = ""


ArgumentsType = TypeVar("ArgumentsType", bound=ToolArguments)


def read_arguments(
    shape: type[ArgumentsType], given: Mapping[str, Any], tool: str
) -> ArgumentsType:
    """The arguments; all defects are reported at once."""
    try:
        return shape.model_validate(dict(given))
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        defects = [_words(one, shape) for one in errors[:DEFECTS_MAX]]
    raise PlanInvalid(
        f"{tool}: {defects[0]}", hint="see the tool's schema for its arguments", defects=defects[1:]
    )


def _words(error: Mapping[str, Any], shape: type[ToolArguments]) -> str:
    where = one_line(".".join(map(str, error["loc"])), NAME_MAX)
    if error["type"] == "extra_forbidden":
        return f"unknown argument {where!r}{did_you_mean(where, shape.model_fields)}"
    return f"{where}: {error['msg']}"


def arguments_schema(shape: type[ToolArguments]) -> dict[str, Any]:
    """The JSON Schema, without class names."""
    schema = shape.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    return schema
