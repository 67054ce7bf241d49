"""Time limits that tests expect to be reached: short first, longer on a slow machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Seen = TypeVar("Seen")
LIMITS_S = (0.3, 3.0, 30.0)


def run_until_started(
    act: Callable[[float], Seen],
    begun: Callable[[Seen], object],
    limits_s: tuple[float, ...] = LIMITS_S,
) -> tuple[Seen, float]:
    """The result of `act` with the first limit before which it had started, and that limit.

    A busy machine may reach a short limit before the program that is to be ended runs.
    """
    for limit_s in limits_s:
        seen = act(limit_s)
        if begun(seen):
            return seen, limit_s
    raise AssertionError(f"not even begun within {limits_s[-1]:g} s")


def has_line(file: Path) -> bool:
    """Does the file end with a complete line?"""
    return file.exists() and file.read_text().endswith("\n")
