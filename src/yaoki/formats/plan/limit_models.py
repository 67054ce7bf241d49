"""The parts of a plan that set limits: retries, budgets, mutants, races, planned tasks,
iterations.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from yaoki.core.model.race import RACE_TRIES_MAX
from yaoki.core.settings.budget import MONEY_MAX, TOKENS_MAX
from yaoki.core.settings.keys import MILLISECONDS_MAX, RETRIES_MAX, SECONDS_MAX
from yaoki.core.settings.retry import RETRYABLE_KINDS
from yaoki.formats.plan.field_values import as_mutant_rules, as_race_rules, as_race_start
from yaoki.formats.plan.fields import Duration, StrictModel

Retries = Annotated[int, Field(ge=0, le=RETRIES_MAX)]
Delay = Annotated[float, Field(ge=0, le=MILLISECONDS_MAX)]


class BackoffModel(StrictModel):
    """The wait before the next attempt."""

    type: Literal["fixed", "linear", "exponential"] = Field("exponential")
    initial_delay_ms: Delay = Field(0, description="the first wait")
    max_delay_ms: Delay = Field(0, description="the longest wait")
    multiplier: float = Field(2, ge=1, le=1_000, description="growth of an exponential wait")
    jitter: float = Field(0, ge=0, le=1, description="random share of the wait")


class CauseModel(StrictModel):
    """Retries of one kind of failure."""

    max_retries: Retries = Field(0, description="0: a person is asked at once")
    backoff: BackoffModel = Field(default_factory=BackoffModel)
    modification_hint: str = Field("", description="words for the agent after such a failure")


class RetryModel(StrictModel):
    """The overrides of one task to the retry rules of the settings."""

    max_retries: Retries = Field(0, description="0: a person is asked at once")
    backoff: BackoffModel = Field(default_factory=BackoffModel)
    retryable_failures: list[str] = Field(
        [],
        description="kinds that are tried again; default: those of the settings",
        json_schema_extra={"items": {"enum": [kind.value for kind in RETRYABLE_KINDS]}},
    )
    cause_specific: dict[str, CauseModel] = Field(
        {},
        description="rules per kind of failure",
        json_schema_extra={"propertyNames": {"enum": [kind.value for kind in RETRYABLE_KINDS]}},
    )


class BudgetModel(StrictModel):
    """The limits of what one task may spend."""

    attempts: int = Field(0, ge=1, le=1_000, description="failed attempts, all kinds together")
    money: float = Field(0, gt=0, le=MONEY_MAX, description="US dollars")
    tokens: int = Field(0, ge=1, le=TOKENS_MAX, description="tokens")
    seconds: float = Field(0, gt=0, le=SECONDS_MAX, description="seconds agents may work")


class MutantsModel(StrictModel):
    """Faults put into the changed lines, which a test must notice."""

    max: int = Field(30, ge=0, le=1_000, description="most mutants of one change; 0: none")
    survive: float = Field(0.3, ge=0, le=1, description="share of the mutants that may survive")
    required: bool = Field(False, description="true: the task fails if more survive")
    timeout: Duration = Field(
        timedelta(minutes=10), description="no further mutant starts after this time"
    )


_MUTANTS_TABLE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "max": {"type": "integer", "minimum": 0, "maximum": 1_000},
        "survive": {"type": "number", "minimum": 0, "maximum": 1},
        "required": {"type": "boolean"},
        "timeout": {"type": ["string", "number"]},
    },
}
MutantsOrWord = Annotated[
    MutantsModel,
    BeforeValidator(as_mutant_rules),
    WithJsonSchema({"anyOf": [{"enum": ["off", "told", "required", True, False]}, _MUTANTS_TABLE]}),
]


class RaceStartModel(StrictModel):
    """When a further candidate of a race starts; without a value, at once."""

    failure: bool = Field(False, description="after the one before it failed")
    after: Duration = Field(timedelta(0), description="after the one before it has run this long")


_RACE_START_SCHEMA = {
    "anyOf": [
        {"enum": ["at-once", "after-failure"]},
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["after"],
            "properties": {"after": {"type": ["string", "number"]}},
        },
    ]
}
RaceStartOrWord = Annotated[
    RaceStartModel, BeforeValidator(as_race_start), WithJsonSchema(_RACE_START_SCHEMA)
]


class RaceModel(StrictModel):
    """Several candidates for the work of one task, of which the best proven one lands."""

    tries: int = Field(3, ge=1, le=RACE_TRIES_MAX, description="candidates; 1: no race")
    agents: list[str] = Field([], description="agents that take turns; default: the task's chain")
    start: RaceStartOrWord = Field(
        default_factory=RaceStartModel,
        description="when a further candidate starts: at-once, after-failure, or {after: 10m}",
    )
    until: Literal["first", "all"] = Field(
        "first", description="the first proven candidate wins, or all are compared"
    )
    judge: str = Field(
        "", description="agent asked which of several equal candidates is best; needs until: all"
    )


_RACE_TABLE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "tries": {"type": "integer", "minimum": 1, "maximum": RACE_TRIES_MAX},
        "agents": {"type": "array", "items": {"type": "string"}},
        "start": _RACE_START_SCHEMA,
        "until": {"enum": ["first", "all"]},
        "judge": {"type": "string"},
    },
}
RaceOrWord = Annotated[
    RaceModel,
    BeforeValidator(as_race_rules),
    WithJsonSchema({"anyOf": [{"enum": ["off", False]}, _RACE_TABLE]}),
]


class RunBudgetModel(StrictModel):
    """The limits of what one run may spend; at a limit it pauses and asks."""

    attempts: int = Field(0, ge=1, le=1_000_000, description="agent runs")
    money: float = Field(0, gt=0, le=MONEY_MAX, description="US dollars")
    tokens: int = Field(0, ge=1, le=TOKENS_MAX, description="tokens")
    seconds: float = Field(0, gt=0, le=SECONDS_MAX, description="seconds agents may work")
    wall_s: float = Field(0, gt=0, le=SECONDS_MAX, description="seconds from its beginning")


PlannableKind = Literal["change", "fix", "report", "check"]


def all_plannable_kinds() -> list[PlannableKind]:
    return ["change", "fix", "report", "check"]


class ConstraintsModel(StrictModel):
    """Bounds on the answer of a planner."""

    max_tasks: int = Field(100, ge=1, le=1_000, description="most tasks of the answer")
    kinds: list[PlannableKind] = Field(
        default_factory=all_plannable_kinds,
        min_length=1,
        description="kinds of tasks that the answer may contain",
    )


class ContinuousModel(StrictModel):
    """Continuous mode: execute, commit, evaluate, decide, repeat."""

    max_iterations: int = Field(10, ge=1, le=1_000, description="most iterations")
    pause_on_failure: bool = Field(True, description="ask a person after a failed iteration")
    max_failures: int = Field(
        3, ge=1, le=1_000, description="failed iterations in a row that end the run"
    )
