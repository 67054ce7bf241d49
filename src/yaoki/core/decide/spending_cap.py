"""Rule 18.7: a running agent is stopped when its reports reach a budget."""

from __future__ import annotations

from collections.abc import Iterable

from yaoki.core.model import EndCause, Task, Usage
from yaoki.core.settings.budget import BudgetMeasure, BudgetScope, SpendLeft

# A running agent reports these measures only.
_REPORTED = (BudgetMeasure.MONEY, BudgetMeasure.TOKENS)


def task_spend_left(task: Task) -> tuple[SpendLeft, ...]:
    """The rest of the task's own budget, since a person last granted it."""
    used = task.spend.minus(task.forgiven_spend)
    return tuple(
        SpendLeft(BudgetScope.TASK, measure, limit - getattr(used, measure))
        for measure in _REPORTED
        if (limit := task.spec.budget.get(measure)) is not None
    )


def limits_agents(spend_left: Iterable[SpendLeft]) -> bool:
    """Can the report of a running agent reach one of these budgets?"""
    return any(left.measure in _REPORTED for left in spend_left)


def find_reached_cap(spend_left: Iterable[SpendLeft], own: Usage, together: Usage) -> EndCause:
    """The budget that is used up; `NONE` while none is, or while the usage is unknown.

    `own` is the usage of one agent, which counts against the budget of its task; `together` that of
    all agents of the run that still work.
    """
    for left in spend_left:
        usage = own if left.scope is BudgetScope.TASK else together
        amount = _amount(left.measure, usage)
        if amount is not None and amount >= left.amount:
            is_own = left.scope is BudgetScope.TASK
            return EndCause.TASK_BUDGET if is_own else EndCause.RUN_BUDGET
    return EndCause.NONE


def add_usage(usages: Iterable[Usage]) -> Usage:
    """The sum of what is known."""
    known = list(usages)
    costs = [usage.cost for usage in known if usage.cost is not None]
    tokens = [usage.tokens for usage in known if usage.tokens is not None]
    return Usage(sum(costs) if costs else None, sum(tokens) if tokens else None)


def _amount(measure: BudgetMeasure, usage: Usage) -> float | None:
    match measure:
        case BudgetMeasure.MONEY:
            return usage.cost
        case BudgetMeasure.TOKENS:
            return usage.tokens
        case _:
            return None
