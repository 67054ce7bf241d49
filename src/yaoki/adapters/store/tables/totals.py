"""What agents used up, per run and per day, held against the budgets before anything is begun."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from yaoki.adapters.store.database import Link
from yaoki.adapters.store.tables.rows import Fields, ms
from yaoki.adapters.store.write_buffer import Params
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
# One row, or one per shard where many add to it at once; `warned` stands in the first of them.
PARTS = "(name = :name OR (name > :name || '#' AND name < :name || '$'))"
TOTAL = f"""
SELECT sum(money) AS money, sum(tokens) AS tokens, sum(seconds) AS seconds,
       sum(attempts) AS attempts, sum(unknown) AS unknown, max(warned) AS warned
FROM totals WHERE {PARTS}
"""
# Only one of those who see the share at once tells of it.
WARNED = """
INSERT INTO totals (name, warned) VALUES (:name, :warned)
ON CONFLICT (name) DO UPDATE SET warned = excluded.warned WHERE totals.warned < excluded.warned
"""
WARN_AT = 0.8
ADDED = ("money", "tokens", "seconds", "attempts", "unknown")


def _summed(rows: list[Params]) -> list[Params]:
    """One row for each name."""
    sums: dict[str, dict[str, Any]] = {}
    for row in rows:
        known = sums.setdefault(row["name"], {"name": row["name"], **dict.fromkeys(ADDED, 0)})
        for name in ADDED:
            known[name] += row[name]
    return list(sums.values())


def of_run(run_id: str) -> str:
    return f"run:{run_id}"


def of_day(now: datetime) -> str:
    return f"day:{now.date().isoformat()}"


def spend(link: Link, task: Task, events: Sequence[Event], now: datetime) -> None:
    """Every agent run is added once, when it starts; what it took, when it ends.

    Each in the transaction that says so: a run that is lost was counted all the same.
    """
    for event in events:
        if isinstance(event, PromptSent) and event.counted:
            _add(link, task, Spend().started(), now)
        elif isinstance(event, AgentFinished):
            none = Spend()
            counted = task.work.counted
            _add(link, task, none.ended(event.exit) if counted else none.plus(event.exit), now)


def _add(link: Link, task: Task, used: Spend, now: datetime) -> None:
    row = {name: getattr(used, name) for name in ADDED}
    for name in (of_run(task.run_id), of_day(now)):
        link.put(ADD, {"name": f"{name}{link.shard}", **row}, fold=_summed)


def spent(row: Fields | None) -> Spend:
    if row is None or row["attempts"] is None:
        return Spend()
    whole = (int(row[name]) for name in ("tokens", "attempts", "unknown"))
    tokens, attempts, unknown = whole
    return Spend(float(row["money"]), tokens, float(row["seconds"]), attempts, unknown)


@dataclass(frozen=True, slots=True)
class Weight:
    """One limit and how much of it is used."""

    whose: str
    name: str
    used: float
    limit: float

    @property
    def words(self) -> str:
        return f"{self.used:g} of {self.limit:g} {self.name} of the {self.whose} are used"

    @property
    def share(self) -> float:
        return self.used / self.limit if self.limit else 1.0


def weights(
    link: Link, run: Run, day: Mapping[str, float], now: datetime
) -> Iterator[tuple[str, Weight]]:
    """Every limit that holds for a run, with the row of `totals` that it is counted in."""
    key = of_run(run.id)
    used = spent(link.row(TOTAL, {"name": key}))
    granted = 1 + run.grants
    for name, limit in run.budget.items():
        measured = _measured(name, used, run, now)
        yield key, Weight("run", name, measured, limit * granted)
    if day:
        key = of_day(now)
        used = spent(link.row(TOTAL, {"name": key}))
        for name, limit in day.items():
            yield key, Weight("day", name, _measured(name, used, run, now), limit * granted)


def _measured(name: str, used: Spend, run: Run, now: datetime) -> float:
    if name == "wall_s":
        return (ms(now) - ms(run.created_at)) / 1000
    return float(getattr(used, name))


def warned(link: Link, key: str) -> int:
    row = link.row(TOTAL, {"name": key})
    return int(row["warned"] or 0) if row else 0
