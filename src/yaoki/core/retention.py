"""Retention of runs: a run is archived by its age and state, never by its size."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import format_count

if TYPE_CHECKING:
    from yaoki.core.model import RunId
    from yaoki.core.settings.settings import ArchiveSettings


@dataclass(frozen=True, slots=True)
class RunLifetime:
    """The times of a run, and what is still open in it; empty when nothing is."""

    run_id: RunId
    goal: str
    created_at: datetime
    finished_at: datetime | None
    open_reason: str = ""


@dataclass(frozen=True, slots=True)
class RetentionDecision:
    """The decision whether a run is archived, and its reason."""

    lifetime: RunLifetime
    is_archived: bool
    reason: str


def decide_retention(
    lives: Iterable[RunLifetime], rule: ArchiveSettings, now: datetime
) -> list[RetentionDecision]:
    """Decide about each run, in order.  The newest finished runs stay, however old they are."""
    all_lives = list(lives)
    over = [life for life in all_lives if life.finished_at is not None and not life.open_reason]
    over.sort(key=lambda life: (life.finished_at, life.run_id), reverse=True)
    places = {life.run_id: place for place, life in enumerate(over)}
    return [_decide(life, places.get(life.run_id), rule, now) for life in all_lives]


def _decide(
    life: RunLifetime, place: int | None, rule: ArchiveSettings, now: datetime
) -> RetentionDecision:
    if place is None or life.finished_at is None:
        return RetentionDecision(life, False, life.open_reason or "it is not finished")
    if place < rule.runs_kept:
        return RetentionDecision(life, False, f"one of the newest {rule.runs_kept} finished runs")
    days = (now - life.finished_at) / timedelta(days=1)
    if place >= rule.runs_max:
        most = format_count(rule.runs_max, "finished run")
        return RetentionDecision(life, True, f"more than {most}; this one is older")
    if days >= rule.after_days:
        return RetentionDecision(
            life, True, f"finished {days:.1f} days ago; {rule.after_days:g} are kept"
        )
    return RetentionDecision(
        life, False, f"finished {days:.1f} days ago; {rule.after_days:g} are kept"
    )
