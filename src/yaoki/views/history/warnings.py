"""The warnings of a run, each listed once with its number of occurrences."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from yaoki.core.lazy_dataclass import dataclass, field

if TYPE_CHECKING:
    from yaoki.ports import JournalEntry

WARNING_EVENTS = ("WARNING", "CHECKOUT_CHANGED", "BUDGET_WARNING", "PLAN_RECHECKED")
WARNINGS_MAX = 200


@dataclass(slots=True)
class RunWarning:
    """A warning about a task, or about the run without one; `at` is its first occurrence."""

    at: datetime
    task_id: str
    words: str
    times: int = 1


@dataclass(slots=True)
class RunWarnings:
    """The first warnings; further ones are only counted."""

    by_text: dict[tuple[str, str], RunWarning] = field(default_factory=dict)
    left_out: int = 0

    def add(self, entry: JournalEntry) -> None:
        if entry.event not in WARNING_EVENTS:
            return
        key = (entry.task_id, str(entry.data.get("message", "")))
        if key in self.by_text:
            self.by_text[key].times += 1
        elif len(self.by_text) < WARNINGS_MAX:
            self.by_text[key] = RunWarning(entry.at, *key)
        else:
            self.left_out += 1


def collect_warnings(entries: Iterable[JournalEntry]) -> RunWarnings:
    warnings = RunWarnings()
    for entry in entries:
        warnings.add(entry)
    return warnings
