"""The budget of one task: how much of it is used, and the words of messages about it."""

from __future__ import annotations

from collections.abc import Iterable

from yaoki.core.model import Task
from yaoki.core.text import format_duration

_MEASURES = ("attempts", "money", "tokens", "seconds")


def find_spent_budget(task: Task, measures: Iterable[str] = _MEASURES) -> str:
    """The first measure of the task's own budget that is used up; empty if none is."""
    limits = task.spec.budget
    spent = (name for name in measures if name in limits and _spent(task, name) >= limits[name])
    return next(spent, "")


def describe_spent_budget(task: Task, measure: str) -> str:
    limit = budget_words(measure, task.spec.budget[measure])
    return f"used {_amount(measure, _spent(task, measure))} of its {limit}"


def _spent(task: Task, measure: str) -> float:
    """Since a person last gave a fresh budget."""
    if measure == "attempts":
        return task.budgeted_attempts
    spent: float = getattr(task.spend.minus(task.forgiven_spend), measure)
    return spent


def _amount(name: str, value: float) -> str:
    match name:
        case "money":
            return f"${value:,.2f}"
        case "seconds":
            return format_duration(value)
        case _:
            return f"{value:,.0f}"


def budget_words(name: str, limit: float) -> str:
    noun = {"money": "", "seconds": " of work"}.get(name, f" {name}")
    return f"{_amount(name, limit)}{noun}"
