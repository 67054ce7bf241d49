"""Warnings of a run, each told once: nobody should have to look for them in the morning."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from yaoki.ports import Entry

NOTICED = ("WARNING", "CHECKOUT_CHANGED", "BUDGET_WARNING")
KEPT_MAX = 200


@dataclass(slots=True)
class Notice:
    """Words about a task, or about the run when there is none; `at` is the first time."""

    at: datetime
    task_id: str
    words: str
    times: int = 1


@dataclass(slots=True)
class Noticed:
    """The first ones; others are counted."""

    listed: dict[tuple[str, str], Notice] = field(default_factory=dict)
    left_out: int = 0

    def add(self, entry: Entry) -> None:
        if entry.event not in NOTICED:
            return
        key = (entry.task_id, str(entry.data.get("message", "")))
        if key in self.listed:
            self.listed[key].times += 1
        elif len(self.listed) < KEPT_MAX:
            self.listed[key] = Notice(entry.at, *key)
        else:
            self.left_out += 1


def noticed(entries: Iterable[Entry]) -> Noticed:
    made = Noticed()
    for entry in entries:
        made.add(entry)
    return made
