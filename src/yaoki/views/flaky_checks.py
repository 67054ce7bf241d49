"""Landed work with flaky checks, derived from the journal of its judgment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from yaoki.core.model import Outcome
from yaoki.core.text import list_some

if TYPE_CHECKING:
    from yaoki.ports import JournalEntry

TASKS_SHOWN = 10


def find_flaky_checks(
    judgments: Iterable[JournalEntry], landed: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """By task the checks that were flaky on its landed commit; `landed`: the commits."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in judgments:
        data = entry.data
        if data["passed"] and landed.get(entry.task_id) == data["commit"]:
            found[entry.task_id] = list_flaky(data.get("checks", {}))
    return {task_id: checks for task_id, checks in found.items() if checks}


def list_flaky(outcomes: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(check for check, outcome in outcomes.items() if outcome == Outcome.FLAKY)


def describe_flaky_landings(names: Mapping[str, str], flaky: Mapping[str, Sequence[str]]) -> str:
    """The landed tasks with their flaky checks; empty if there is none."""
    tasks = [f"{names[task_id]} ({', '.join(checks)})" for task_id, checks in flaky.items()]
    return f"landed with flaky checks: {list_some(tasks, TASKS_SHOWN)}" if tasks else ""
