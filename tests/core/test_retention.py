"""Which runs are archived, from their lifetime."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import NOW
from yaoki.core.model import RunId
from yaoki.core.retention import RunLifetime, decide_retention
from yaoki.core.settings.settings import ArchiveSettings

DAY = timedelta(days=1)
RULE = ArchiveSettings(after_days=7, runs_max=5, runs_kept=2)


def a_lifetime(name: str, days: float | None, holds: str = "") -> RunLifetime:
    """A run that ended this many days ago."""
    ended = None if days is None else NOW - days * DAY
    return RunLifetime(RunId(name), "goal", NOW - 100 * DAY, ended, holds)


def due(*lives: RunLifetime, rule: ArchiveSettings = RULE) -> list[str]:
    return [fate.lifetime.run_id for fate in decide_retention(lives, rule, NOW) if fate.is_archived]


@pytest.mark.spec("11.7")
def test_old_runs_are_archived_except_the_newest() -> None:
    lives = [a_lifetime("a", 30), a_lifetime("b", 20), a_lifetime("c", 10), a_lifetime("d", 8)]

    assert due(*lives) == ["a", "b"]
    assert due(*lives[:2]) == []


@pytest.mark.spec("11.7")
def test_runs_over_the_limit_are_archived_oldest_first() -> None:
    lives = [a_lifetime(f"r{n}", 0.1 * n) for n in range(8)]

    assert due(*lives) == ["r5", "r6", "r7"]


@pytest.mark.spec("11.7")
def test_a_run_is_archived_on_the_exact_day() -> None:
    newer = [a_lifetime("x", 0), a_lifetime("y", 1)]

    assert due(*newer, a_lifetime("a", 7)) == ["a"]
    assert due(*newer, a_lifetime("a", 6.999)) == []


@pytest.mark.spec("11.7")
def test_an_unfinished_run_stays_and_does_not_count_toward_the_limit() -> None:
    """Ten open runs must not push finished ones out, nor keep them in."""
    opened = [a_lifetime(f"o{n}", 50, "1 task needs a person") for n in range(5)]
    going = [a_lifetime(f"g{n}", None) for n in range(5)]
    lives = [*opened, *going, a_lifetime("a", 30), a_lifetime("b", 20), a_lifetime("c", 10)]

    found = {fate.lifetime.run_id: fate for fate in decide_retention(lives, RULE, NOW)}

    assert [name for name, fate in found.items() if fate.is_archived] == ["a"]
    assert found[RunId("o0")].reason == "1 task needs a person"
    assert found[RunId("g0")].reason == "it is not finished"


@pytest.mark.spec("11.7")
def test_the_newest_runs_stay_even_above_the_limit() -> None:
    lives = [a_lifetime(f"r{n}", 30) for n in range(4)]

    assert due(*lives, rule=ArchiveSettings(after_days=0, runs_max=1, runs_kept=4)) == []


@pytest.mark.spec("11.7", "0.5")
def test_every_retention_decision_has_its_reason() -> None:
    lives = [a_lifetime(f"r{n}", days) for n, days in enumerate((1, 2, 6.25, 8, 9, 10))]

    made = decide_retention(lives, RULE, NOW)

    assert [(fate.lifetime, fate.is_archived, fate.reason) for fate in made] == [
        (lives[0], False, "one of the newest 2 finished runs"),
        (lives[1], False, "one of the newest 2 finished runs"),
        (lives[2], False, "finished 6.2 days ago; 7 are kept"),
        (lives[3], True, "finished 8.0 days ago; 7 are kept"),
        (lives[4], True, "finished 9.0 days ago; 7 are kept"),
        (lives[5], True, "more than 5 finished runs; this one is older"),
    ]
