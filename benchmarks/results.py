"""What a measurement says: lines of the one table, and everything for the JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Line:
    """One row: what was measured, beside what, and whether that is what we want.

    Without a goal `met` is None.  What could not be measured has no value and says why in `note`.
    """

    part: str
    what: str
    value: float | None
    unit: str
    beside: str = ""
    ratio: float | None = None
    goal: str = ""
    met: bool | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """All that one part found."""

    lines: tuple[Line, ...]
    data: Mapping[str, Any] = field(default_factory=dict)


def at_least(part: str, what: str, ratio: float, beside: str, goal: float, note: str = "") -> Line:
    """A ratio that should be high."""
    return Line(part, what, ratio, "x", beside, ratio, f">= {goal:g}", ratio >= goal, note)


def at_most(
    part: str,
    what: str,
    value: float,
    unit: str,
    goal: float,
    *,
    beside: str = "",
    ratio: float | None = None,
    note: str = "",
) -> Line:
    """A value that should be low."""
    return Line(part, what, value, unit, beside, ratio, f"<= {goal:g} {unit}", value <= goal, note)


def document(parts: Mapping[str, Part], facts: Mapping[str, Any]) -> dict[str, Any]:
    lines = [asdict(line) for part in parts.values() for line in part.lines]
    return {**facts, "lines": lines, "parts": {k: dict(part.data) for k, part in parts.items()}}
