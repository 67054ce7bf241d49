"""The interval of a rate that was counted."""

from __future__ import annotations

from math import sqrt

# 95 % of all such intervals contain the true rate.
Z_95 = 1.959964


def wilson_interval(successes: int, total: int) -> tuple[float, float]:
    """The 95 % interval of a rate; from zero to one if nothing was counted."""
    if not total:
        return 0.0, 1.0
    rate, z2 = successes / total, Z_95 * Z_95
    centre = (rate + z2 / (2 * total)) / (1 + z2 / total)
    half = Z_95 / (1 + z2 / total) * sqrt(rate * (1 - rate) / total + z2 / (4 * total * total))
    return max(0.0, centre - half), min(1.0, centre + half)
