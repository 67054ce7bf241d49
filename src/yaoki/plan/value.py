"""A plan as the rest of yaoki knows it."""

from __future__ import annotations

from dataclasses import dataclass

from yaoki.core.model import Catalogue, Spec


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan without defects.  Specs hold the very objects of the catalogue, in plan order."""

    goal: str
    base: str
    catalogue: Catalogue
    specs: tuple[Spec, ...]
    done_when: tuple[str, ...]
    source: str
    priority: int = 0
    language: str = "en"
