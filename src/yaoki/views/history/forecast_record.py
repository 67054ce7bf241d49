"""The forecast that a user was told, and what happened: recorded, never computed afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from yaoki.core.forecast.forecast import Forecast, Quantiles
from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.machine.value_codec import from_data
from yaoki.ports import JournalEntry
from yaoki.views.history.run import AgentUsage

FORECAST_EVENT = "RUN_FORECAST"
# After these the run is no longer the one that was forecast.
_OBSTACLES = {
    "ESCALATION_ANSWERED": "a person answered before its end",
    "WAIT_ENDED": "a person ended a wait",
    "RUN_PAUSED": "it was paused",
    "CANCEL_REQUESTED": "a person cancelled some of it",
    "UNDO_REQUESTED": "landed work was reverted",
    "PLAN_EXTENDED": "its plan was extended",
    "PLAN_RECHECKED": "its checks were revised",
    "PHASE_FILLED": "a phase got its tasks later",
    "TASKS_PLANNED": "tasks were planned later",
}
STOPPED = "it was stopped and resumed"


class ForecastResult(StrEnum):
    """Where the real value is, compared with P10 and P90."""

    INSIDE = "inside"
    BELOW = "below"
    ABOVE = "above"


def compare(value: float, bounds: Quantiles) -> ForecastResult:
    if value < bounds.low:
        return ForecastResult.BELOW
    return ForecastResult.ABOVE if value > bounds.high else ForecastResult.INSIDE


@dataclass(frozen=True, slots=True)
class ForecastScore:
    """What a run took, beside its forecast; `cost` is None unless every agent run reported one."""

    forecast: Forecast
    seconds: float
    agent_runs: int
    cost: float | None

    @property
    def time_result(self) -> ForecastResult:
        return compare(self.seconds, self.forecast.seconds)

    @property
    def runs_result(self) -> ForecastResult:
        return compare(self.agent_runs, self.forecast.agent_runs)

    @property
    def cost_result(self) -> ForecastResult | None:
        """None where a cost is unknown."""
        bounds = self.forecast.money
        if self.cost is None or bounds is None or self.forecast.unknown_costs:
            return None
        return compare(self.cost, bounds)


@dataclass(slots=True)
class ForecastRecord:
    """The last forecast before the work of one run, and the usage until its first end."""

    EVENTS: ClassVar[tuple[str, ...]] = (
        FORECAST_EVENT,
        "FINAL_SUMMARY",
        "LEASE_EXPIRED",
        *AgentUsage.EVENTS,
        *_OBSTACLES,
    )
    forecast: Forecast | None = None
    at: datetime | None = None
    ended_at: datetime | None = None
    # Why the run cannot be compared with its forecast.
    obstacle: str = ""
    _usage: AgentUsage = field(default_factory=AgentUsage)

    def add(self, entry: JournalEntry) -> None:
        if entry.event == FORECAST_EVENT:
            self.forecast, self.at = from_data(Forecast, entry.data), entry.at
            self.ended_at, self.obstacle, self._usage = None, "", AgentUsage()
        elif self.forecast is None or self.ended_at is not None:
            return
        elif entry.event == "FINAL_SUMMARY":
            self.ended_at = entry.at
        elif entry.event in _OBSTACLES:
            self.obstacle = self.obstacle or _OBSTACLES[entry.event]
        elif entry.event == "LEASE_EXPIRED":
            self.obstacle = self.obstacle or ("" if entry.data.get("counted") else STOPPED)
        else:
            self._usage.add(entry)

    @property
    def score(self) -> ForecastScore | None:
        """None before the end, and for a run that became another one."""
        if self.forecast is None or self.at is None or self.ended_at is None or self.obstacle:
            return None
        seconds = (self.ended_at - self.at).total_seconds()
        cost = None if self._usage.cost_unknown_runs else self._usage.known_cost
        return ForecastScore(self.forecast, seconds, self._usage.runs, cost)


def collect_forecasts(entries: Iterable[JournalEntry]) -> dict[str, ForecastRecord]:
    """The runs with a forecast; `entries` are oldest first."""
    records: dict[str, ForecastRecord] = {}
    for entry in entries:
        if entry.event == FORECAST_EVENT or entry.run_id in records:
            records.setdefault(entry.run_id, ForecastRecord()).add(entry)
    return records
