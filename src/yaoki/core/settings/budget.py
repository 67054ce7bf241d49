"""Limits on what agents may use: per attempt, task, run and day.  Zero means no limit."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum, unique

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.settings.keys import SECONDS_MAX, setting

MONEY_MAX = 1_000_000
TOKENS_MAX = 1_000_000_000_000


@unique
class BudgetMeasure(StrEnum):
    """A measure that a budget limits; the keys of `budget` in plans and settings."""

    MONEY = "money"
    TOKENS = "tokens"
    SECONDS = "seconds"
    ATTEMPTS = "attempts"
    WALL_S = "wall_s"


@unique
class BudgetScope(StrEnum):
    """The scope of a budget."""

    TASK = "task"
    RUN = "run"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class SpendLeft:
    """The rest of a budget; negative if more than all of it is used."""

    scope: BudgetScope
    measure: BudgetMeasure
    amount: float


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """Limits of a run or a day: a warning is sent at 80 %, and the run pauses at 100 %."""

    task_money: float = setting(0.0, "US dollars that one task may cost", high=MONEY_MAX)
    task_tokens: int = setting(0, "tokens that one task may use", high=TOKENS_MAX)
    task_seconds: float = setting(0.0, "seconds that agents may work on one task", high=SECONDS_MAX)
    run_money: float = setting(0.0, "US dollars that one run may cost", high=MONEY_MAX)
    run_tokens: int = setting(0, "tokens that one run may use", high=TOKENS_MAX)
    run_seconds: float = setting(0.0, "seconds that agents may work in one run", high=SECONDS_MAX)
    run_attempts: int = setting(0, "agent runs in one run")
    run_wall_s: float = setting(0.0, "seconds since the start of a run", high=SECONDS_MAX)
    day_money: float = setting(
        0.0, "US dollars that all runs may cost in a day (UTC)", high=MONEY_MAX
    )
    day_tokens: int = setting(0, "tokens that all runs may use in a day (UTC)", high=TOKENS_MAX)
    day_seconds: float = setting(
        0.0, "seconds that agents may work in a day (UTC)", high=SECONDS_MAX
    )
    day_attempts: int = setting(0, "agent runs in a day (UTC)")

    @property
    def task(self) -> Mapping[str, float]:
        return self._of("task")

    @property
    def run(self) -> Mapping[str, float]:
        return self._of("run")

    @property
    def day(self) -> Mapping[str, float]:
        return self._of("day")

    def _of(self, scope: str) -> dict[str, float]:
        limits = {name: getattr(self, f"{scope}_{name}", 0) for name in BudgetMeasure}
        return {name: float(limit) for name, limit in limits.items() if limit}
