"""The forecast: quantiles over many simulated runs."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, exp, log, pi, sqrt

from yaoki.core.forecast.planned_task import ForecastTask, RunConditions
from yaoki.core.forecast.samples import (
    POOL_MIN,
    AttemptSample,
    Chance,
    RunEffect,
    WorkPools,
    build_pools,
    separate_run_effects,
)
from yaoki.core.forecast.simulation import SimulatedEnd, SimulatedRun
from yaoki.core.lazy_dataclass import dataclass, field

ROUNDS_MAX, ROUNDS_MIN = 400, 20
# Rounds times tasks, which bounds the time.
TASK_ROUNDS_MAX = 40_000
LOW, MIDDLE, HIGH = 0.1, 0.5, 0.9


@dataclass(frozen=True, slots=True)
class Quantiles:
    """P10, P50 and P90."""

    low: float
    middle: float
    high: float

    def shift(self, amount: float) -> Quantiles:
        return Quantiles(self.low + amount, self.middle + amount, self.high + amount)


@dataclass(frozen=True, slots=True)
class Forecast:
    """The time and cost of a run until every task is proven or waits for a person.

    `asks`: the share of simulated runs that end with a question; `over_budget`: that of those which
    a budget stops.  `money` is None if no cost is known, and a lower bound with `unknown_costs`:
    agents that reported none.  `assumed_agents` have no attempts of their own.  `attempts` is the
    number of measured attempts behind it.
    """

    seconds: Quantiles
    agent_runs: Quantiles
    money: Quantiles | None
    asks: float
    over_budget: float
    attempts: int
    rounds: int
    unknown_costs: tuple[str, ...] = ()
    assumed_agents: tuple[str, ...] = ()
    # Tasks will be added that no one knows yet.
    is_open_ended: bool = field(default=False)


def make_forecast(
    tasks: Sequence[ForecastTask],
    samples: Sequence[AttemptSample],
    conditions: RunConditions,
    chance: Chance,
    *,
    run: str = "",
    is_open_ended: bool = False,
    rounds_max: int = ROUNDS_MAX,
) -> Forecast | None:
    """Simulate the tasks; None without enough measured attempts.  `run`: some may be its own."""
    worked = [sample for sample in samples if sample.agent and sample.has_ended]
    if len(worked) < POOL_MIN or not tasks:
        return None
    size = sum(task.race.tries if task.race else 1 for task in tasks)
    rounds = max(ROUNDS_MIN, min(rounds_max, TASK_ROUNDS_MAX // size))
    alike, effect = separate_run_effects(samples, run)
    pools = build_pools(alike, _accounts(tasks), sorted({task.checks for task in tasks}))
    if not pools.is_sufficient:
        return None
    ends = _simulate(tasks, pools, effect, conditions, chance, rounds)
    known = {sample.agent for sample in worked}
    priced = {sample.agent for sample in worked if sample.cost is not None}
    first = sorted({name for task in tasks for name in task.first_agents})
    has_cost = not first or any(agent in priced for agent in first)
    return Forecast(
        quantiles([end.seconds for end in ends]),
        quantiles([float(end.agent_runs) for end in ends]),
        quantiles([end.money for end in ends]) if has_cost else None,
        sum(end.asks for end in ends) / rounds,
        sum(end.over_budget for end in ends) / rounds,
        len(worked),
        rounds,
        tuple(agent for agent in first if agent not in priced),
        tuple(agent for agent in first if agent not in known),
        is_open_ended,
    )


def _accounts(tasks: Sequence[ForecastTask]) -> dict[str, set[str]]:
    """The accounts of each agent of the chains, by its name."""
    accounts: dict[str, set[str]] = {}
    agents = {agent for task in tasks for agent in task.agents}
    for agent in sorted(agents, key=lambda one: (one.name, one.account)):
        accounts.setdefault(agent.name, set()).add(agent.account)
    return accounts


def _simulate(
    tasks: Sequence[ForecastTask],
    pools: WorkPools,
    effect: RunEffect,
    conditions: RunConditions,
    chance: Chance,
    rounds: int,
) -> list[SimulatedEnd]:
    dependents: list[list[int]] = [[] for _ in tasks]
    for index, task in enumerate(tasks):
        for need in task.needs:
            dependents[need].append(index)
    ends = []
    for _ in range(rounds):
        slowness = exp(effect.mean + effect.spread * draw_student(effect.freedom, chance))
        one = SimulatedRun(tasks, dependents, pools.resample(chance), conditions, slowness, chance)
        ends.append(one.play())
    return ends


def draw_normal(chance: Chance) -> float:
    """A number of the standard normal distribution (Box and Muller)."""
    return sqrt(-2 * log(1 - chance())) * cos(2 * pi * chance())


def draw_student(freedom: int, chance: Chance) -> float:
    """A number of Student's distribution: the fewer runs, the less sure is their spread."""
    squares = sum(draw_normal(chance) ** 2 for _ in range(freedom))
    return draw_normal(chance) * sqrt(freedom / squares) if squares else 0.0


def quantiles(values: Sequence[float]) -> Quantiles:
    """The quantile, interpolated between the two nearest values."""
    ordered = sorted(values)

    def at(share: float) -> float:
        place = share * (len(ordered) - 1)
        below = int(place)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (place - below) * (ordered[above] - ordered[below])

    return Quantiles(at(LOW), at(MIDDLE), at(HIGH))
