"""Which runs leave the store: decided from the life of a run, never from how much it wrote."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from yaoki.core.counting import count
from yaoki.core.model import RunId
from yaoki.core.settings.settings import Archive


@dataclass(frozen=True, slots=True)
class Life:
    """How far a run has come.  `holds` says what is still open of it; empty when nothing is."""

    run_id: RunId
    goal: str
    created_at: datetime
    finished_at: datetime | None
    holds: str = ""


@dataclass(frozen=True, slots=True)
class Fate:
    """Whether a run is archived or stays, and why."""

    life: Life
    due: bool
    why: str


def fates(lives: Iterable[Life], rule: Archive, now: datetime) -> list[Fate]:
    """Of every run, in the order given.  The newest finished ones stay, whatever their age."""
    held = list(lives)
    over = [life for life in held if life.finished_at is not None and not life.holds]
    over.sort(key=lambda life: (life.finished_at, life.run_id), reverse=True)
    places = {life.run_id: place for place, life in enumerate(over)}
    return [_fate(life, places.get(life.run_id), rule, now) for life in held]


def _fate(life: Life, place: int | None, rule: Archive, now: datetime) -> Fate:
    if place is None or life.finished_at is None:
        return Fate(life, False, life.holds or "it is not finished")
    if place < rule.runs_kept:
        return Fate(life, False, f"one of the newest {rule.runs_kept} finished runs")
    days = (now - life.finished_at) / timedelta(days=1)
    if place >= rule.runs_max:
        most = count(rule.runs_max, "finished run")
        return Fate(life, True, f"more than {most}; this one is older")
    if days >= rule.after_days:
        return Fate(life, True, f"finished {days:.1f} days ago; {rule.after_days:g} are kept")
    return Fate(life, False, f"finished {days:.1f} days ago; {rule.after_days:g} are kept")
