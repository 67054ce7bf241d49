"""The choice of the next task: priority with ageing, fair between runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yaoki.core.model import RunId

AGEING = timedelta(minutes=10)


def rank(ready_at: datetime, priority: int, ageing: timedelta = AGEING) -> int:
    """Milliseconds; the smallest starts first.

    One step of priority is worth `ageing` of waiting.  Both sides grow at the same pace, so the
    order of two waiting tasks never changes and an index can hold it.
    """
    return round((ready_at - priority * ageing).timestamp() * 1000)


def fair_order(
    waiting: Mapping[RunId, int], active: Mapping[RunId, int], limit: int
) -> list[RunId]:
    """The run for each free slot: always the one with the fewest active tasks."""
    remaining, busy = dict(waiting), {run: active.get(run, 0) for run in waiting}
    order: list[RunId] = []
    while len(order) < limit:
        open_runs = [run for run, n in remaining.items() if n > 0]
        if not open_runs:
            break
        run = min(open_runs, key=lambda r: (busy[r], list(remaining).index(r)))
        order.append(run)
        remaining[run] -= 1
        busy[run] += 1
    return order


def slots_per_run(order: Sequence[RunId]) -> dict[RunId, int]:
    """The number of slots of each run."""
    return {run: list(order).count(run) for run in dict.fromkeys(order)}
