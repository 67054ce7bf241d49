"""The progress of a run over time: how many tasks were done, open or escalated, and the cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar, NamedTuple

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import FINAL_CHECK_NAME
from yaoki.ports import JournalEntry
from yaoki.views.history.agent_usage import AgentUsage

POINTS_MAX = 4_000


class BurndownPoint(NamedTuple):
    """The state of a run at one instant."""

    at: datetime
    total: int
    done: int
    escalated: int
    cancelled: int
    open: int
    cost: float | None
    tokens: int | None
    agent_runs: int


# The state of a task after an event, as the burn-down counts it.
STATE_AFTER = {
    "TASK_SUBMITTED": "OPEN",
    "TASK_LANDED": "DONE",
    "ESCALATE_DECISION": "ESCALATED",
    "TASK_UNDONE": "ESCALATED",
    "TASK_CANCELLED": "CANCELLED",
    "TASK_REPLACED": "REPLACED",
    "TASK_UNLANDED": "OPEN",
    "RERUN_GRANTED": "OPEN",
}


@dataclass(slots=True)
class Burndown:
    """One point per change; also when each task last landed.

    The run's final checks are not tasks of the plan and are not counted.
    """

    EVENTS: ClassVar[tuple[str, ...]] = (
        *STATE_AFTER,
        "TASKS_PLANNED",
        "ESCALATION_ANSWERED",
        *AgentUsage.EVENTS,
    )
    states: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    landed_at: dict[str, datetime] = field(default_factory=dict)
    points: list[BurndownPoint] = field(default_factory=list)
    usage: AgentUsage = field(default_factory=AgentUsage)
    last_at: datetime | None = None
    final_checks: set[str] = field(default_factory=set)
    # When tasks that replace others were submitted.
    heir_submitted_at: dict[str, datetime] = field(default_factory=dict)

    def add(self, entry: JournalEntry) -> None:
        self.last_at = entry.at
        if entry.event == "TASK_SUBMITTED":
            self._add_submission(entry)
        if entry.task_id in self.final_checks:
            return
        if entry.event in AgentUsage.EVENTS:
            self.usage.add(entry)
        else:
            self._move(entry.task_id, self._state_after(entry))
        if entry.event == "TASK_LANDED" or self._is_planned_by_person(entry):
            self.landed_at[entry.task_id] = entry.at
        if entry.event == "TASK_REPLACED":
            self._drop_replaced(str(entry.data.get("by", "")))
        self._add_point(entry.at)

    def _add_submission(self, entry: JournalEntry) -> None:
        spec = entry.data.get("spec") or {}
        if spec.get("kind") == "check" and str(spec.get("name", "")).startswith(FINAL_CHECK_NAME):
            self.final_checks.add(entry.task_id)
        elif entry.data.get("lineage"):
            self.heir_submitted_at[entry.task_id] = entry.at

    def _drop_replaced(self, heir: str) -> None:
        """Both tasks existed for a moment within one transaction; drop the points between."""
        began = self.heir_submitted_at.pop(heir, None)
        while began is not None and len(self.points) > 1 and self.points[-1].at >= began:
            self.points.pop()

    def _state_after(self, entry: JournalEntry) -> str:
        if self._is_planned_by_person(entry):
            return "DONE"
        if entry.event == "ESCALATION_ANSWERED":
            return "CANCELLED" if entry.data.get("choice") == "abort" else "OPEN"
        return STATE_AFTER.get(entry.event, self.states.get(entry.task_id, "OPEN"))

    @staticmethod
    def _is_planned_by_person(entry: JournalEntry) -> bool:
        """A person planned the tasks; an agent's plan lands like other work."""
        return entry.event == "TASKS_PLANNED" and bool(entry.data.get("by"))

    def _move(self, task_id: str, state: str) -> None:
        if not task_id:
            return
        before = self.states.get(task_id)
        if before is not None:
            self.counts[before] -= 1
        self.states[task_id] = state
        self.counts[state] += 1

    def _add_point(self, at: datetime) -> None:
        count = self.counts
        total = len(self.states) - count["REPLACED"]
        open_ = count["OPEN"] + count["ESCALATED"]
        point = BurndownPoint(
            at,
            total,
            count["DONE"],
            count["ESCALATED"],
            count["CANCELLED"],
            open_,
            self.usage.known_cost,
            self.usage.known_tokens,
            self.usage.runs,
        )
        if self.points and self.points[-1].at == at:
            self.points[-1] = point
        else:
            self.points.append(point)
        if len(self.points) > POINTS_MAX:
            # Keep the first and the newest; every second point between them suffices for a chart.
            self.points[1:-1] = self.points[2:-1:2]


def thin_points(points: Sequence[BurndownPoint], most: int) -> list[BurndownPoint]:
    """Select points evenly; the first and the last are always included."""
    if len(points) <= most:
        return list(points)
    step = (len(points) - 1) / (most - 1)
    return [points[round(n * step)] for n in range(most)]
