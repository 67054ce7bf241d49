"""Time limits that are to be reached: short at first, longer where a slow machine came too late."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Seen = TypeVar("Seen")
LIMITS_S = (0.3, 3.0, 30.0)


def reached(
    act: Callable[[float], Seen],
    begun: Callable[[Seen], object],
    limits_s: tuple[float, ...] = LIMITS_S,
) -> tuple[Seen, float]:
    """What came of `act` under the first limit before which it had begun, and that limit.

    A machine that stood still may reach a short limit before the program that is to be ended runs.
    """
    for limit_s in limits_s:
        seen = act(limit_s)
        if begun(seen):
            return seen, limit_s
    raise AssertionError(f"not even begun within {limits_s[-1]:g} s")


def has_line(file: Path) -> bool:
    """Was a line written there, whole?"""
    return file.exists() and file.read_text().endswith("\n")
