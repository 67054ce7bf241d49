"""How many tasks a second so many workers bring about: a small closed queueing model.

A task makes a round through three places and then comes back as the next one:

- `think`: the agent works (seconds, no limit on how many at once);
- `wide`: what any core can do for it; there are `cores` of them (seconds of one core);
- `narrow`: what only one may do at a time: the writer's turn on SQLite, the log of a server, the
  one branch that landings go to (seconds).

Mean value analysis gives the rate for n rounds at once, one customer after the other:

    wait_k(n) = demand_k * (1 + queue_k(n - 1))
    rate(n)   = n / (think + sum of wait_k(n))
    queue_k(n) = rate(n) * wait_k(n)

A place with c servers counts as a queue of demand / c and a delay of demand * (c - 1) / c
(Seidmann).  The limits are read off at once: rate <= 1 / narrow, and rate <= cores / wide.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

SPLITS = 400
# Fits that differ by less than this are equally good: points are not measured more exactly.
AS_GOOD = 0.03


@dataclass(frozen=True, slots=True)
class Demand:
    """What one task asks for, in seconds."""

    wide: float
    narrow: float
    think: float = 0.0
    cores: int = 2

    @property
    def limit(self) -> float:
        """Tasks a second that no number of workers can exceed."""
        return min(1 / self.narrow, self.cores / self.wide if self.wide else float("inf"))

    @property
    def knee(self) -> float:
        """So many at once are enough to come near the limit; more only wait."""
        return (self.think + self.wide + self.narrow) * self.limit


def rate(demand: Demand, at_once: int) -> float:
    """Tasks a second with so many at once."""
    shared = demand.wide / demand.cores
    delay = demand.think + demand.wide - shared
    queues, found = (0.0, 0.0), 0.0
    for n in range(1, at_once + 1):
        waits = (shared * (1 + queues[0]), demand.narrow * (1 + queues[1]))
        found = n / (delay + sum(waits))
        queues = (found * waits[0], found * waits[1])
    return found


@dataclass(frozen=True, slots=True)
class Fit:
    """What the points say of a task's demands.

    Rates alone often cannot tell cores that are all busy from a place that only one may use: both
    stop growing.  `widest` and `narrowest` are the two ends of what fits as well as `best`; where
    they differ, the machine was too small to see the limit of the store itself.
    """

    best: Demand
    widest: Demand
    narrowest: Demand


def fitted(points: Mapping[int, float], cores: int) -> Fit:
    """From the first and the last point only; those between are then foretold.

    One worker has nobody to wait for, so its rate is 1 / (wide + narrow).  How that splits is what
    the last point tells.
    """
    few, many = min(points), max(points)
    whole = few / points[few]
    splits = [_split(whole, n / SPLITS, cores) for n in range(1, SPLITS)]
    off = [abs(math.log(rate(made, many) / points[many])) for made in splits]
    near = [made for made, far in zip(splits, off, strict=True) if far <= min(off) + AS_GOOD]
    return Fit(splits[off.index(min(off))], near[0], near[-1])


def _split(whole: float, share: float, cores: int) -> Demand:
    return Demand(whole * (1 - share), whole * share, cores=cores)


def with_agents(demand: Demand, seconds: float) -> Demand:
    """The same, when an agent works this long on each task."""
    return Demand(demand.wide, demand.narrow, seconds, demand.cores)
