"""The budgets of runs and days, applied before an agent starts: pause at a limit, warn near it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.tables import totals
from yaoki.adapters.store.tables.task_loader import load_run
from yaoki.core.bounded_cache import BoundedCache
from yaoki.core.machine.events import AgentFinished, AgentRunLost, Event, PromptSent
from yaoki.core.model import Pause, PauseCause, Run, RunId, Task
from yaoki.core.settings.budget import BudgetMeasure, BudgetScope, SpendLeft

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Transaction
    from yaoki.adapters.store.rows import SqlRow
    from yaoki.adapters.store.tables.writes import EventWriter

UNLIMITED = 1 << 30


class BudgetLimits:
    """`day_budget` holds for all runs of the store together."""

    def __init__(self, writer: EventWriter, day_budget: Mapping[str, float]) -> None:
        self._writer, self._day_budget = writer, day_budget
        # A run's budget is fixed at submit.
        self._run_has_budget: BoundedCache[str, bool] = BoundedCache()

    def allow_start(self, tx: Transaction, run_id: RunId, now: datetime) -> bool:
        """May an agent of the run start?  At a limit the run pauses and asks; near it, it warns."""
        if not self._applies_to_next_claim(tx, run_id):
            return True
        run = load_run(tx, run_id)
        for key, use in self._uses(tx, run, now):
            if use.share >= 1:
                self._writer.pause_run(tx, run_id, str(Pause(PauseCause.BUDGET, use.sentence)))
                return False
            self._warn(tx, run, key, use)
        return True

    def starts_left(
        self, tx: Transaction, run_id: RunId, now: datetime, active: Sequence[SqlRow]
    ) -> int:
        """The number of agents that may start before a limit on attempts; active tasks count as
        used.
        """
        if not self._applies_to_next_claim(tx, run_id):
            return UNLIMITED
        remaining = [UNLIMITED]
        for _, use in self._uses(tx, load_run(tx, run_id), now):
            if use.name == BudgetMeasure.ATTEMPTS:
                all_runs = use.scope is BudgetScope.DAY
                counted = (row["n"] for row in active if all_runs or row["run_id"] == run_id)
                remaining.append(max(0, int(use.limit - use.used) - sum(counted)))
        return min(remaining)

    def spend_left(self, tx: Transaction, run_id: RunId, now: datetime) -> tuple[SpendLeft, ...]:
        """The rest of each budget of the run and the day."""
        if not self._has_budget(tx, run_id):
            return ()
        uses = self._uses(tx, load_run(tx, run_id), now)
        return tuple(
            SpendLeft(use.scope, BudgetMeasure(use.name), use.limit - use.used) for _, use in uses
        )

    def warn_if_near(
        self, tx: Transaction, task: Task, events: Sequence[Event], now: datetime
    ) -> None:
        """After an agent started or ended, warn at once when a limit is near."""
        counted = any(
            isinstance(event, AgentFinished | AgentRunLost | PromptSent) for event in events
        )
        if counted and self._has_budget(tx, task.run_id):
            run = load_run(tx, task.run_id)
            for key, use in self._uses(tx, run, now):
                self._warn(tx, run, key, use)

    def _applies_to_next_claim(self, tx: Transaction, run_id: RunId) -> bool:
        """Only a claim that would start an agent costs anything.

        After a worker's death, finished work is only verified and landed: no budget stops that.
        """
        if not self._has_budget(tx, run_id):
            return False
        return tx.row(sql.READY_FOR_AGENT, {"run_id": run_id}) is not None

    def _has_budget(self, tx: Transaction, run_id: RunId) -> bool:
        if self._day_budget:
            return True
        if run_id not in self._run_has_budget:
            self._run_has_budget[run_id] = bool(load_run(tx, run_id).budget)
        return self._run_has_budget[run_id]

    def _uses(
        self, tx: Transaction, run: Run, now: datetime
    ) -> Iterator[tuple[str, totals.BudgetUse]]:
        return totals.read_budget_uses(tx, run, self._day_budget, now)

    def _warn(self, tx: Transaction, run: Run, key: str, use: totals.BudgetUse) -> None:
        """Once per grant."""
        level = run.budget_grants + 1
        if use.share < totals.WARN_AT or totals.read_warning_level(tx, key) >= level:
            return
        if tx.run(totals.RAISE_WARNING_LEVEL, {"name": key, "warned": level}):
            data = {"message": use.sentence, "limit": use.limit, "used": use.used}
            self._writer.append_event(tx, run.id, "BUDGET_WARNING", data)
