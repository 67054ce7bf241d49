"""The warnings of a run, each listed once with its number of occurrences."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.views.indistinct import INDISTINCT_WORDS, is_indistinct

if TYPE_CHECKING:
    from yaoki.ports import JournalEntry

UNDO_DROPPED = "UNDO_DROPPED"
WARNING_EVENTS = (
    *("WARNING", "CHECKOUT_CHANGED", "BUDGET_WARNING", "PLAN_RECHECKED", UNDO_DROPPED),
)
# The report lists these events; the end of a run does not repeat the last one.
NOTED_EVENTS = (*WARNING_EVENTS, "CHECKOUT_FILES_ADDED")
# Together they tell of landed work that no check tells from its base.
LANDING_EVENTS = ("QUALITY_JUDGMENT", "TASK_LANDED")
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
    events: tuple[str, ...] = WARNING_EVENTS
    # The commits that passed although no check tells them from their base, by task.
    _indistinct: dict[str, str] = field(default_factory=dict)

    def add(self, entry: JournalEntry) -> None:
        if entry.event in LANDING_EVENTS:
            words = self._landing_words(entry)
        else:
            words = _words(entry) if entry.event in self.events else ""
        if not words:
            return
        key = (entry.task_id, words)
        if key in self.by_text:
            self.by_text[key].times += 1
        elif len(self.by_text) < WARNINGS_MAX:
            self.by_text[key] = RunWarning(entry.at, *key)
        else:
            self.left_out += 1

    def _landing_words(self, entry: JournalEntry) -> str:
        data = entry.data
        if entry.event == "TASK_LANDED":
            commit = self._indistinct.pop(entry.task_id, "")
            return INDISTINCT_WORDS if commit and commit == data.get("commit") else ""
        self._indistinct.pop(entry.task_id, None)
        if data["passed"] and is_indistinct(data.get("checks", {}), data.get("same_at_base", ())):
            self._indistinct[entry.task_id] = data["commit"]
        return ""


def _words(entry: JournalEntry) -> str:
    """Empty if the entry warns of nothing: the undo that a final check wanted has a warning."""
    if entry.event == UNDO_DROPPED:
        wanted = entry.data.get("commit")
        return f"its undo was refused: {entry.data['why']}" if wanted else ""
    return str(entry.data.get("message", ""))


def collect_warnings(entries: Iterable[JournalEntry]) -> RunWarnings:
    warnings = RunWarnings()
    for entry in entries:
        warnings.add(entry)
    return warnings
