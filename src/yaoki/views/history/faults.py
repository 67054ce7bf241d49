"""The faults around the work of all runs: lost workers, refused results, repairs."""

from __future__ import annotations

from collections import Counter, deque
from datetime import datetime
from typing import ClassVar

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import FailureKind
from yaoki.ports import JournalEntry
from yaoki.views.history.entry_values import read_failure

RECENT_MAX = 100


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
    recent: deque[JournalEntry] = field(default_factory=lambda: deque(maxlen=RECENT_MAX))

    def add(self, entry: JournalEntry) -> None:
        self.since = self.since or entry.at
        if entry.event == "RETRY_DECISION":
            if read_failure(entry).kind != FailureKind.LOST:
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
