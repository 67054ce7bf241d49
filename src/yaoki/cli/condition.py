"""One line of `yaoki doctor`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One condition: how it is, and what to do when it is bad."""

    name: str
    ok: bool
    words: str
    next: str = ""
