"""How many tasks a second so many worker processes bring about: the universal scalability law.

    rate(n) = alone * n / (1 + shared * (n - 1) + pairs * n * (n - 1))

- `alone`: what one process does that has nobody to wait for;
- `shared`: the part of a task that only one may do at a time: the writer's turn, the
  server's log, a core that is busy (0: nothing, 1: all of it);
- `pairs`: what each pair of processes costs one another: handing over a lock, a cache that is cold
  again, cores that are too few.  This is what makes the rate fall when there are too many.

With `pairs` the rate has a peak, at n = sqrt((1 - shared) / pairs).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Law:
    """The law's three numbers for one store on one machine."""

    alone: float
    shared: float
    pairs: float

    def rate(self, processes: int) -> float:
        n = processes
        return self.alone * n / (1 + self.shared * (n - 1) + self.pairs * n * (n - 1))

    @property
    def peak(self) -> int:
        """So many processes do most; more only stand in each other's way."""
        if self.shared >= 1:
            return 1
        best = math.sqrt((1 - self.shared) / self.pairs) if self.pairs else math.inf
        whole = (max(1, int(best)), int(best) + 1) if math.isfinite(best) else (1 << 20,)
        return max(whole, key=self.rate)


def fitted(points: Mapping[int, float]) -> Law:
    """`alone` is measured; the other two are a straight line through what the points lack.

    (alone * n / rate - 1) / (n - 1) = shared + pairs * n
    """
    alone = points[1]
    lacks = [(n, (alone * n / rate - 1) / (n - 1)) for n, rate in points.items() if n > 1]
    middle = sum(n for n, _ in lacks) / len(lacks)
    height = sum(lack for _, lack in lacks) / len(lacks)
    over = sum((n - middle) * (lack - height) for n, lack in lacks)
    under = sum((n - middle) ** 2 for n, _ in lacks)
    pairs = max(0.0, over / under)
    return Law(alone, max(0.0, height - pairs * middle), pairs)


def off(law: Law, points: Mapping[int, float]) -> float:
    """How many times the worst of these points differs from what the law says."""
    return max(max(law.rate(n) / rate, rate / law.rate(n)) for n, rate in points.items())
