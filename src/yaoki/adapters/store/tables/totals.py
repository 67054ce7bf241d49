"""What agents used up, per run and per day, held against the budgets before anything is begun."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from yaoki.adapters.store.database import Transaction
from yaoki.adapters.store.rows import SqlRow, to_ms
from yaoki.adapters.store.write_buffer import Params
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.machine.events import AgentFinished, Event, PromptSent
from yaoki.core.model import Run, Spend, Task

ADD = """
INSERT INTO totals (name, money, tokens, seconds, attempts, unknown)
VALUES (:name, :money, :tokens, :seconds, :attempts, :unknown)
ON CONFLICT (name) DO UPDATE SET
    money = totals.money + excluded.money, tokens = totals.tokens + excluded.tokens,
    seconds = totals.seconds + excluded.seconds, attempts = totals.attempts + excluded.attempts,
    unknown = totals.unknown + excluded.unknown
"""
# One row, or one per shard where many add to it at once; `read_warning_level` stands in the first
# of them.
SHARDS_OF_TOTAL = "(name = :name OR (name > :name || '#' AND name < :name || '$'))"
TOTAL = f"""
SELECT sum(money) AS money, sum(tokens) AS tokens, sum(seconds) AS seconds,
       sum(attempts) AS attempts, sum(unknown) AS unknown, max(warned) AS warned
FROM totals WHERE {SHARDS_OF_TOTAL}
"""
# Only one of those who see the share at once tells of it.
RAISE_WARNING_LEVEL = """
INSERT INTO totals (name, warned) VALUES (:name, :warned)
ON CONFLICT (name) DO UPDATE SET warned = excluded.warned WHERE totals.warned < excluded.warned
"""
WARN_AT = 0.8
SPEND_COLUMNS = ("money", "tokens", "seconds", "attempts", "unknown")


def _summed(rows: list[Params]) -> list[Params]:
    """One row for each name."""
    sums: dict[str, dict[str, Any]] = {}
    for row in rows:
        known = sums.setdefault(
            row["name"], {"name": row["name"], **dict.fromkeys(SPEND_COLUMNS, 0)}
        )
        for name in SPEND_COLUMNS:
            known[name] += row[name]
    return list(sums.values())


def run_total_name(run_id: str) -> str:
    return f"run:{run_id}"


def day_total_name(now: datetime) -> str:
    return f"day:{now.date().isoformat()}"


def add_spend(link: Transaction, task: Task, events: Sequence[Event], now: datetime) -> None:
    """Every agent run is added once, when it starts; what it took, when it ends.

    Each in the transaction that says so: a run that is lost was counted all the same.
    """
    for event in events:
        if isinstance(event, PromptSent) and event.spend_counted:
            _add(link, task, Spend().with_start(), now)
        elif isinstance(event, AgentFinished):
            none = Spend()
            counted = task.work.spend_counted
            _add(
                link, task, none.with_end(event.exit) if counted else none.with_run(event.exit), now
            )


def _add(link: Transaction, task: Task, used: Spend, now: datetime) -> None:
    row = {name: getattr(used, name) for name in SPEND_COLUMNS}
    for name in (run_total_name(task.run_id), day_total_name(now)):
        link.enqueue(ADD, {"name": f"{name}{link.shard}", **row}, coalesce=_summed)


def spend_from_row(row: SqlRow | None) -> Spend:
    if row is None or row["attempts"] is None:
        return Spend()
    whole = (int(row[name]) for name in ("tokens", "attempts", "unknown"))
    tokens, attempts, unknown = whole
    return Spend(float(row["money"]), tokens, float(row["seconds"]), attempts, unknown)


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """One limit and how much of it is used."""

    scope: str
    name: str
    used: float
    limit: float

    @property
    def sentence(self) -> str:
        return f"{self.used:g} of {self.limit:g} {self.name} of the {self.scope} are used"

    @property
    def share(self) -> float:
        return self.used / self.limit if self.limit else 1.0


def read_budget_uses(
    link: Transaction, run: Run, day: Mapping[str, float], now: datetime
) -> Iterator[tuple[str, BudgetUse]]:
    """Every limit that holds for a run, with the row of `totals` that it is counted in."""
    key = run_total_name(run.id)
    used = spend_from_row(link.row(TOTAL, {"name": key}))
    granted = 1 + run.budget_grants
    for name, limit in run.budget.items():
        measured = _measured(name, used, run, now)
        yield key, BudgetUse("run", name, measured, limit * granted)
    if day:
        key = day_total_name(now)
        used = spend_from_row(link.row(TOTAL, {"name": key}))
        for name, limit in day.items():
            yield key, BudgetUse("day", name, _measured(name, used, run, now), limit * granted)


def _measured(name: str, used: Spend, run: Run, now: datetime) -> float:
    if name == "wall_s":
        return (to_ms(now) - to_ms(run.created_at)) / 1000
    return float(getattr(used, name))


def read_warning_level(link: Transaction, key: str) -> int:
    row = link.row(TOTAL, {"name": key})
    return int(row["warned"] or 0) if row else 0
