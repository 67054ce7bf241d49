"""Folds of the journal that the page continues with each request: burn-down and reliability."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import field
from datetime import datetime
from typing import ClassVar, Generic, NamedTuple, Protocol, TypeVar

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import FINAL_CHECK_NAME
from yaoki.ports import JournalEntry
from yaoki.views.history import AgentUsage

PAGE = 2_000
# About a second of work on a small machine; the next request continues from there.
ENTRIES_PER_LOOK = 40_000
LINES_AT_ONCE = 50_000
RECENT_KEPT = 100
POINTS_KEPT = 4_000


class JournalFold(Protocol):
    EVENTS: ClassVar[tuple[str, ...]]

    def add(self, entry: JournalEntry) -> None: ...


FoldType = TypeVar("FoldType", bound=JournalFold)
# The entries of these events, after one number and before another, up to a limit.
ReadEntries = Callable[[tuple[str, ...], int, int, int], Sequence[JournalEntry]]


class IncrementalFold(Generic[FoldType]):
    """A fold that follows the journal: each read continues where the last one stopped."""

    def __init__(self, fold: FoldType, read: ReadEntries) -> None:
        self._fold, self._read = fold, read
        self._turn = threading.Lock()
        self._after = 0

    def read_up_to(self, end: int) -> tuple[FoldType, bool, int]:
        """The fold, whether it is complete up to `end`, and its last entry."""
        with self._turn:
            for _ in range(ENTRIES_PER_LOOK // PAGE):
                if self._after >= end:
                    break
                self._read_page(end)
            return self._fold, self._after >= end, self._after

    def _read_page(self, end: int) -> None:
        """For rare events the database scans many entries, so the scan is limited."""
        far = min(self._after + LINES_AT_ONCE, end)
        page = self._read(self._fold.EVENTS, self._after, far + 1, PAGE)
        for entry in page:
            self._fold.add(entry)
        self._after = page[-1].seq if len(page) == PAGE else far


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
        if len(self.points) > POINTS_KEPT:
            # Keep the first and the newest; every second point between them suffices for a chart.
            self.points[1:-1] = self.points[2:-1:2]


def thin_points(points: Sequence[BurndownPoint], most: int) -> list[BurndownPoint]:
    """Select points evenly; the first and the last are always included."""
    if len(points) <= most:
        return list(points)
    step = (len(points) - 1) / (most - 1)
    return [points[round(n * step)] for n in range(most)]


@dataclass(slots=True)
class Reliability:
    """Faults around the work that did no harm."""

    EVENTS: ClassVar[tuple[str, ...]] = (
        "LEASE_EXPIRED",
        "RESULT_REFUSED",
        "DEAD_LETTERED",
        "RECONCILED",
        "LAND_REFUSED",
        "SNAPSHOT_RESTORE",
        "RETRY_DECISION",
        "ATTEMPT_STARTED",
        "TASK_LANDED",
        "CHECKOUT_CHANGED",
    )
    ORDINARY: ClassVar[frozenset[str]] = frozenset({"ATTEMPT_STARTED", "TASK_LANDED"})
    counts: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    reconciled: Counter[str] = field(default_factory=Counter)
    holders: set[str] = field(default_factory=set)
    attempts_lost: int = 0
    since: datetime | None = None
    recent: deque[JournalEntry] = field(default_factory=lambda: deque(maxlen=RECENT_KEPT))

    def add(self, entry: JournalEntry) -> None:
        self.since = self.since or entry.at
        if entry.event == "RETRY_DECISION":
            if (entry.data.get("failure") or {}).get("kind") != "LOST":
                return
            self.attempts_lost += 1
        self.counts[entry.event] += 1
        if entry.event == "LEASE_EXPIRED":
            self.holders.add(str(entry.data.get("holder", "")))
        elif entry.event == "RESULT_REFUSED":
            self.refused[str(entry.data.get("refused") or "STALE")] += 1
        elif entry.event == "RECONCILED":
            self.reconciled[str(entry.data.get("mismatch", "mismatch"))] += 1
        if entry.event not in self.ORDINARY:
            self.recent.append(entry)

    @property
    def numbers(self) -> dict[str, int]:
        count = self.counts
        return {
            "kills_survived": len(self.holders),
            "leases_expired": count["LEASE_EXPIRED"],
            "results_refused": count["RESULT_REFUSED"],
            "attempts_lost": self.attempts_lost,
            "dead_letters": count["DEAD_LETTERED"],
            "reconciled": count["RECONCILED"],
            "landings_verified_again": count["LAND_REFUSED"],
            "snapshots_restored": count["SNAPSHOT_RESTORE"],
            "landings": count["TASK_LANDED"],
            "attempts": count["ATTEMPT_STARTED"],
        }
