"""The usage of agents, per run and per day, and its comparison with the budgets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.rows import SqlRow, to_ms
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Run, Spend, Task
from yaoki.core.settings.budget import BudgetMeasure, BudgetScope

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Transaction
    from yaoki.adapters.store.write_buffer import Params
    from yaoki.core.machine.events import Event

ADD = """
INSERT INTO totals (name, money, tokens, seconds, attempts, unknown)
VALUES (:name, :money, :tokens, :seconds, :attempts, :unknown)
ON CONFLICT (name) DO UPDATE SET
    money = totals.money + excluded.money, tokens = totals.tokens + excluded.tokens,
    seconds = totals.seconds + excluded.seconds, attempts = totals.attempts + excluded.attempts,
    unknown = totals.unknown + excluded.unknown
"""
# A total has one row, or one per shard where many writers add at once; the row without a shard also
# has the warning level.
SHARDS_OF_TOTAL = "(name = :name OR (name > :name || '#' AND name < :name || '$'))"
TOTAL = f"""
SELECT sum(money) AS money, sum(tokens) AS tokens, sum(seconds) AS seconds,
       sum(attempts) AS attempts, sum(unknown) AS unknown, max(warned) AS warned
FROM totals WHERE {SHARDS_OF_TOTAL}
"""
# Only one of several transactions that see the share at once warns.
RAISE_WARNING_LEVEL = """
INSERT INTO totals (name, warned) VALUES (:name, :warned)
ON CONFLICT (name) DO UPDATE SET warned = excluded.warned WHERE totals.warned < excluded.warned
"""
WARN_AT = 0.8
SPEND_COLUMNS = ("money", "tokens", "seconds", "attempts", "unknown")


def _sum_by_name(rows: list[Params]) -> list[Params]:
    """Sum up the rows of each name."""
    sums: dict[str, dict[str, Any]] = {}
    for row in rows:
        total = sums.setdefault(
            row["name"], {"name": row["name"], **dict.fromkeys(SPEND_COLUMNS, 0)}
        )
        for name in SPEND_COLUMNS:
            total[name] += row[name]
    return list(sums.values())


def run_total_name(run_id: str) -> str:
    return f"run:{run_id}"


def day_total_name(now: datetime) -> str:
    return f"day:{now.date().isoformat()}"


def add_spend(tx: Transaction, task: Task, events: Sequence[Event], now: datetime) -> None:
    """Count each agent run when it starts, and what it used when it ends.

    Both in the transaction of the event, so that a lost run is counted as well.
    """
    from yaoki.core.machine.events import AgentFinished, AgentRunLost, PromptSent

    for event in events:
        if isinstance(event, PromptSent) and event.spend_counted:
            _add(tx, task, Spend().with_start(), now)
        elif isinstance(event, AgentFinished):
            nothing = Spend()
            counted = task.work.spend_counted
            used = nothing.with_end(event.exit) if counted else nothing.with_run(event.exit)
            _add(tx, task, used, now)
        elif isinstance(event, AgentRunLost) and event.seconds:
            _add(tx, task, Spend(seconds=event.seconds), now)


def _add(tx: Transaction, task: Task, used: Spend, now: datetime) -> None:
    row = {name: getattr(used, name) for name in SPEND_COLUMNS}
    for name in (run_total_name(task.run_id), day_total_name(now)):
        tx.enqueue(ADD, {"name": f"{name}{tx.shard}", **row}, coalesce=_sum_by_name)


def spend_from_row(row: SqlRow | None) -> Spend:
    if row is None or row["attempts"] is None:
        return Spend()
    tokens, attempts, unknown = (int(row[name]) for name in ("tokens", "attempts", "unknown"))
    return Spend(float(row["money"]), tokens, float(row["seconds"]), attempts, unknown)


# The measures whose names are no words for a person.
_NOUNS = {
    BudgetMeasure.MONEY.value: "US dollars",
    BudgetMeasure.SECONDS.value: "seconds of agent work",
    BudgetMeasure.WALL_S.value: "seconds since the start",
}


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """A limit and how much of it is used."""

    scope: BudgetScope
    name: str
    used: float
    limit: float

    @property
    def sentence(self) -> str:
        used, limit = (f"{round(amount, 2):.15g}" for amount in (self.used, self.limit))
        noun = _NOUNS.get(self.name, self.name)
        return f"{used} of {limit} {noun} of the {self.scope} are used"

    @property
    def share(self) -> float:
        return self.used / self.limit if self.limit else 1.0


def read_budget_uses(
    tx: Transaction, run: Run, day: Mapping[str, float], now: datetime
) -> Iterator[tuple[str, BudgetUse]]:
    """Every limit of a run, with the name of the total that it is compared to."""
    key = run_total_name(run.id)
    used = spend_from_row(tx.row(TOTAL, {"name": key}))
    grants = 1 + run.budget_grants
    for name, limit in run.budget.items():
        yield key, BudgetUse(BudgetScope.RUN, name, _amount(name, used, run, now), limit * grants)
    if day:
        key = day_total_name(now)
        used = spend_from_row(tx.row(TOTAL, {"name": key}))
        for name, limit in day.items():
            yield (
                key,
                BudgetUse(BudgetScope.DAY, name, _amount(name, used, run, now), limit * grants),
            )


def _amount(name: str, used: Spend, run: Run, now: datetime) -> float:
    if name == BudgetMeasure.WALL_S:
        return (to_ms(now) - to_ms(run.created_at)) / 1000
    return float(getattr(used, name))


def read_warning_level(tx: Transaction, key: str) -> int:
    row = tx.row(TOTAL, {"name": key})
    return int(row["warned"] or 0) if row else 0
