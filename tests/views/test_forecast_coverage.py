"""Forecasts are compared with what happened in simulated worlds."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from random import Random

import pytest

from tests.quick_selection import is_quick
from tests.views.simulated_world import World, WorldRace, WorldTask
from yaoki.core.forecast.forecast import Forecast, Quantiles, make_forecast
from yaoki.core.forecast.planned_task import ForecastAgent, ForecastTask, RunConditions
from yaoki.core.model import RaceEnd, RaceRules, RaceStart
from yaoki.views.history.measured_attempts import measure_attempts

# The bounds are three standard deviations of the share in a sample of this size.
WORLDS, BOUNDS = 120, (0.69, 0.91)
QUICK_WORLDS, QUICK_BOUNDS = 45, (0.62, 0.98)
RUNS_BEFORE = 8


def forecast_and_reality(seed: int) -> dict[str, bool]:
    """Is what happened inside P10 to P90, by measure?"""
    world = World.draw(seed)
    entries = [entry for _ in range(RUNS_BEFORE) for entry in world.play(world.make_plan()).entries]
    plan = world.make_plan()
    positions = {task.name: n for n, task in enumerate(plan)}
    tasks = [
        ForecastTask(
            tuple(positions[need] for need in task.needs),
            agents_of(task),
            task.checks,
            retries=world.retries,
            race=rules_of(task.race) if task.race else None,
        )
        for task in plan
    ]
    conditions = RunConditions(world.slots)
    forecast = make_forecast(tasks, measure_attempts(entries, []), conditions, Random(seed).random)
    assert isinstance(forecast, Forecast)
    assert forecast.money is not None
    reality = world.play(plan)
    return {
        "seconds": inside(reality.seconds, forecast.seconds),
        "money": inside(reality.money, forecast.money),
        "agent_runs": inside(reality.agent_runs, forecast.agent_runs),
    }


def agents_of(task: WorldTask) -> tuple[ForecastAgent, ...]:
    names = dict.fromkeys(task.race.agents) if task.race else (task.agent,)
    return tuple(ForecastAgent(name, name) for name in names)


def rules_of(race: WorldRace) -> RaceRules:
    return RaceRules(
        len(race.agents),
        RaceStart(race.start),
        timedelta(seconds=race.delay),
        RaceEnd(race.until),
        agents_take_turns=True,
    )


def inside(value: float, bounds: Quantiles) -> bool:
    return bounds.low <= value <= bounds.high


@pytest.mark.timeout(1200)
@pytest.mark.spec("18.9")
def test_the_80_percent_interval_holds_80_percent_of_the_time() -> None:
    worlds = QUICK_WORLDS if is_quick() else WORLDS
    low, high = QUICK_BOUNDS if is_quick() else BOUNDS

    counts: Counter[str] = Counter()
    for seed in range(worlds):
        counts.update(name for name, held in forecast_and_reality(seed).items() if held)
    shares = {name: count / worlds for name, count in counts.items()}

    assert low <= shares["seconds"] <= high, shares
    assert low <= shares["money"] <= high, shares
    # A whole number is often exactly on a bound, so the interval holds more.
    assert shares["agent_runs"] >= low, shares
