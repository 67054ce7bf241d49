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
from yaoki.views.history.agent_usage import AgentUsage
from yaoki.views.history.entry_values import DAMAGED_FIELDS

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
_TASK_ENDS = ("TASK_LANDED", "ESCALATE_DECISION", "TASK_CANCELLED")
_CANDIDATE_ENDS = ("CANDIDATE_PROVEN", "CANDIDATE_FAILED", "CANDIDATE_RETIRED")
STOPPED = "it was stopped and resumed"
UNREADABLE = "entries of its journal cannot be read"


class ForecastResult(StrEnum):
    """The position of the real value, compared with P10 and P90."""

    INSIDE = "inside"
    BELOW = "below"
    ABOVE = "above"


def compare(value: float, bounds: Quantiles) -> ForecastResult:
    if value < bounds.low:
        return ForecastResult.BELOW
    return ForecastResult.ABOVE if value > bounds.high else ForecastResult.INSIDE


@dataclass(frozen=True, slots=True)
class ForecastScore:
    """A result beside its forecast; `cost` is None unless every agent run reported one."""

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
    """The last forecast before the work of one run, and the usage until its first end.

    The end is that of `yaoki run`: the run is finished, or every open task waits for a person.
    """

    EVENTS: ClassVar[tuple[str, ...]] = (
        FORECAST_EVENT,
        "FINAL_SUMMARY",
        "LEASE_EXPIRED",
        "TASK_CLAIMED",
        "RACE_STARTED",
        *_TASK_ENDS,
        *_CANDIDATE_ENDS,
        *AgentUsage.EVENTS,
        *_OBSTACLES,
    )
    forecast: Forecast | None = None
    at: datetime | None = None
    # Why the run cannot be compared with its forecast.
    obstacle: str = ""
    _ended_at: datetime | None = None
    _usage: AgentUsage = field(default_factory=AgentUsage)
    # Tasks that a worker has begun and that are neither over nor escalated.
    _begun: set[str] = field(default_factory=set)
    # Candidates of races; the end of the race cancels those that still work.
    _candidates: set[str] = field(default_factory=set)
    _last_end: datetime | None = None
    _asks: bool = False

    def add(self, entry: JournalEntry) -> None:
        if entry.event == FORECAST_EVENT:
            self._begin(entry)
        elif self.forecast is not None and self._ended_at is None and not self.obstacle:
            self._follow(entry)

    def _begin(self, entry: JournalEntry) -> None:
        """A planned run gets its forecast when a person approves the plan."""
        self.forecast, self.at = from_data(Forecast, entry.data), entry.at
        self.obstacle, self._ended_at, self._last_end, self._asks = "", None, None, False
        self._usage, self._begun = AgentUsage(), set()

    def _follow(self, entry: JournalEntry) -> None:
        if entry.event == "FINAL_SUMMARY":
            self._ended_at = entry.at
        elif entry.event == "RACE_STARTED":
            self._candidates.update(entry.data.get("candidates", ()))
        elif entry.event == "CANCEL_REQUESTED" and entry.task_id in self._candidates:
            pass  # not by a person
        elif entry.event in _OBSTACLES:
            # After its end a person may do anything.
            self._ended_at = self.ended_at
            self.obstacle = "" if self._ended_at else _OBSTACLES[entry.event]
        elif entry.event == "LEASE_EXPIRED":
            self.obstacle = "" if entry.data.get("counted") else STOPPED
        elif entry.event == "TASK_CLAIMED":
            self._begun.add(entry.task_id)
        elif entry.event in _CANDIDATE_ENDS:
            self._begun.discard(entry.task_id)
        elif entry.event in _TASK_ENDS:
            self._begun.discard(entry.task_id)
            self._last_end = entry.at
            self._asks = self._asks or entry.event == "ESCALATE_DECISION"
        else:
            self._usage.add(entry)

    @property
    def ended_at(self) -> datetime | None:
        """The instant at which the run was finished or only a person could continue it."""
        waits = self._asks and not self._begun
        return self._ended_at or (self._last_end if waits else None)

    @property
    def score(self) -> ForecastScore | None:
        """The comparison; None before the end, and for a run that is no longer the one forecast."""
        ended_at = self.ended_at
        if self.forecast is None or self.at is None or ended_at is None or self.obstacle:
            return None
        cost = None if self._usage.cost_unknown_runs else self._usage.known_cost
        seconds = (ended_at - self.at).total_seconds()
        return ForecastScore(self.forecast, seconds, self._usage.runs, cost)


def collect_forecasts(
    entries: Iterable[JournalEntry], unreadable: list[int]
) -> dict[str, ForecastRecord]:
    """The runs with a forecast; `entries` are oldest first.

    An entry without its fields is added to `unreadable`, and its run is not compared.
    """
    records: dict[str, ForecastRecord] = {}
    for entry in entries:
        if entry.event == FORECAST_EVENT or entry.run_id in records:
            record = records.get(entry.run_id) or ForecastRecord()
            try:
                record.add(entry)
            except DAMAGED_FIELDS:
                unreadable.append(entry.seq)
                record.obstacle = UNREADABLE
            if record.forecast is not None:
                records[entry.run_id] = record
    return records
