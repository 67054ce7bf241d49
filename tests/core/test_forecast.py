"""The simulation of a run: each mechanic by itself, with attempts that are all alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp
from random import Random

import pytest

from tests.builders import a_check, a_spec
from yaoki.core.forecast.forecast import Forecast, Quantiles, make_forecast, quantiles
from yaoki.core.forecast.planned_task import (
    ForecastAgent,
    ForecastTask,
    RunConditions,
    plan_tasks,
)
from yaoki.core.forecast.samples import (
    AttemptResult,
    AttemptSample,
    build_pools,
    separate_run_effects,
)
from yaoki.core.model import AgentSpec

pytestmark = pytest.mark.spec("18.9")
MINE = (ForecastAgent("mine", "mine"),)
CHECKS = ("tests",)
TASK = ForecastTask(agents=MINE, checks=CHECKS)
GOOD = AttemptSample("run", "mine", False, CHECKS, 80.0, 20.0, AttemptResult.PASSED, 1.0)
BAD = replace(GOOD, result=AttemptResult.FAILED, delay_s=10.0)
LIMIT = replace(GOOD, result=AttemptResult.REPEATED, delay_s=1000.0, closes_account=True)


def forecast(
    tasks: Sequence[ForecastTask],
    samples: Sequence[AttemptSample] = (GOOD,) * 5,
    conditions: RunConditions | None = None,
    run: str = "",
) -> Forecast:
    chance = Random("seed").random
    made = make_forecast(tasks, samples, conditions or RunConditions(2), chance, run=run)
    assert made is not None
    return made


def seconds(*arguments: object) -> float:
    """P50 of attempts that are all alike, so that P10 and P90 are the same."""
    bounds = forecast(*arguments).seconds  # type: ignore[arg-type]
    assert bounds.low == bounds.middle == bounds.high
    return bounds.middle


def test_without_five_measured_attempts_there_is_no_forecast() -> None:
    chance = Random(1).random

    assert make_forecast([TASK], (GOOD,) * 4, RunConditions(1), chance) is None
    assert make_forecast([], (GOOD,) * 5, RunConditions(1), chance) is None
    assert make_forecast([TASK], (GOOD,) * 5, RunConditions(1), chance) is not None


def test_the_same_seed_gives_the_same_figures() -> None:
    samples = [replace(GOOD, work_s=float(n)) for n in range(1, 40)]

    assert forecast([TASK] * 3, samples) == forecast([TASK] * 3, samples)


def test_tasks_wait_for_their_needs_and_for_a_slot() -> None:
    chain = [TASK, replace(TASK, needs=(0,)), replace(TASK, needs=(1,))]

    assert seconds([TASK] * 2) == 100
    assert seconds([TASK] * 3) == 200, "two slots"
    assert seconds([TASK] * 3, (GOOD,) * 5, RunConditions(1)) == 300
    assert seconds(chain) == 300


def test_the_longest_chain_decides_and_a_high_priority_starts_it_first() -> None:
    """Without the priority the chain waits until two of the other tasks are done."""
    chain = [TASK, replace(TASK, needs=(3,)), replace(TASK, needs=(4,))]
    first = [replace(task, priority=9) for task in chain]

    assert seconds([*(TASK,) * 3, *first]) == 300
    assert seconds([*(TASK,) * 3, *chain]) == 400


def test_a_failed_attempt_is_retried_after_its_delay_until_a_person_is_asked() -> None:
    asked = forecast([TASK], (BAD,) * 5)
    rerun = forecast([replace(TASK, reruns=1)], (BAD,) * 5)

    assert asked.seconds.middle == 4 * 100 + 3 * 10
    assert (asked.agent_runs.middle, asked.asks) == (4, 1.0)
    assert rerun.agent_runs.middle == 5, "one more from the run branch"


def test_work_that_only_has_to_be_verified_starts_no_agent() -> None:
    """Its verification was interrupted.  If the work fails, an agent works on it again."""
    verified = replace(TASK, is_proving=True)
    closed = RunConditions(2, closed={"mine": 500.0}, runs_left=0)

    passed = forecast([verified], (GOOD,) * 5, closed)
    failed = forecast([verified], (BAD,) * 5)

    assert (passed.seconds.middle, passed.agent_runs.middle, passed.asks) == (20, 0, 0.0)
    assert passed.money == Quantiles(0, 0, 0)
    assert forecast([replace(verified, agents=())]).money == Quantiles(0, 0, 0)
    assert (failed.agent_runs.middle, failed.asks) == (3, 1.0)


def test_a_task_below_a_failed_one_never_starts() -> None:
    made = forecast([replace(TASK, retries=0), replace(TASK, needs=(0,))], (BAD,) * 5)

    assert (made.agent_runs.middle, made.asks) == (1, 1.0)


def test_the_retries_of_an_agent_have_their_own_rate() -> None:
    """Every first attempt fails and every retry passes."""
    retried = replace(GOOD, is_retry=True)

    made = forecast([TASK], (*(BAD,) * 5, *(retried,) * 5))

    assert (made.agent_runs.middle, made.seconds.middle, made.asks) == (2, 210, 0.0)


def test_a_closed_account_stops_all_its_tasks_and_the_next_agent_takes_over() -> None:
    other = ForecastAgent("other", "other")
    passed = replace(GOOD, agent="other")
    samples = (*(LIMIT,) * 5, *(passed,) * 5)
    alone = forecast([replace(TASK, repeats=1)], samples, RunConditions(1))
    chain = forecast([replace(TASK, agents=(*MINE, other))], samples, RunConditions(1))

    assert (alone.seconds.middle, alone.asks) == (100 + 1000 + 100, 1.0)
    assert (chain.seconds.middle, chain.agent_runs.middle, chain.asks) == (200, 2, 0.0)


def test_the_agent_of_a_retry_is_drawn_by_what_fixed_such_work_before() -> None:
    """Every attempt of the first agent fails, every retry of the second one passes."""
    second = ForecastAgent("second", "second")
    cured = replace(GOOD, agent="second", is_retry=True)
    samples = (*(BAD,) * 20, *(replace(BAD, is_retry=True),) * 20, *(cured,) * 20)
    task = replace(TASK, agents=(*MINE, second))

    fixed = forecast([task], samples)
    chosen = forecast([replace(task, learns=True)], samples)
    closed = forecast(
        [replace(task, learns=True)], samples, RunConditions(1, closed={"second": 9e9})
    )

    assert (fixed.agent_runs.middle, fixed.asks) == (4, 1.0), "its order is that of the plan"
    assert (chosen.agent_runs.middle, chosen.agent_runs.high, chosen.asks) == (2, 2, 0.0)
    assert (closed.agent_runs.middle, closed.asks) == (4, 1.0), "no other account is open"


def test_an_agent_that_never_retried_is_drawn_as_often_as_another_one() -> None:
    second = ForecastAgent("second", "second")
    samples = (*(BAD,) * 5, *(replace(GOOD, agent="second"),) * 5)

    made = forecast([replace(TASK, agents=(*MINE, second), learns=True)], samples)

    assert 0 < made.asks < 0.3
    assert (made.agent_runs.low, made.agent_runs.high) == (2, 4)


def test_an_agent_does_not_wait_for_the_account_of_another_one() -> None:
    """It has no attempts of its own, so those of the others are used, without their limits."""
    samples = (*(LIMIT,) * 5, *(GOOD,) * 5)
    new = ForecastAgent("new", "new")
    sharing = (ForecastAgent("mine", "team"), ForecastAgent("new", "team"))

    alone = forecast([replace(TASK, agents=(new,))], samples)
    shared = forecast([replace(TASK, agents=(one,)) for one in sharing], samples)
    limits_only = make_forecast(
        [replace(TASK, agents=(new,))], (LIMIT,) * 9, RunConditions(1), Random(1).random
    )

    assert (alone.seconds.high, alone.agent_runs.high, alone.asks) == (100, 1, 0.0)
    assert shared.seconds.high > 1000, "they share an account"
    assert limits_only is None, "how long its work takes is unknown"


def test_an_account_that_is_closed_now_is_waited_for() -> None:
    closed = RunConditions(2, closed={"mine": 500.0})

    assert seconds([TASK], (GOOD,) * 5, closed) == 600


def test_no_agent_starts_in_quiet_hours() -> None:
    """The first task starts before them and ends inside."""
    quiet = RunConditions(1, quiet=[(50.0, 1000.0)])

    assert seconds([TASK], (GOOD,) * 5, quiet) == 100
    assert seconds([TASK, TASK], (GOOD,) * 5, quiet) == 1100


@pytest.mark.parametrize(
    ("limit", "runs"),
    [
        (RunConditions(1, runs_left=2), 2),
        (RunConditions(1, money_left=3.0), 3),
        (RunConditions(1, agent_seconds_left=70.0), 1),
        (RunConditions(1, wall_s_left=150.0), 2),
    ],
)
def test_a_budget_ends_the_run(limit: RunConditions, runs: int) -> None:
    made = forecast([TASK] * 5, (GOOD,) * 5, limit)

    assert made.agent_runs.middle == runs
    assert (made.over_budget, made.asks) == (1.0, 1.0)


def test_an_active_task_takes_at_least_as_long_as_it_has_taken() -> None:
    samples = (*(GOOD,) * 5, *(replace(GOOD, work_s=480.0),) * 5)
    active = replace(TASK, is_active=True, elapsed_s=200.0)
    proving = replace(active, is_proving=True, elapsed_s=5.0)

    assert seconds([active], samples) == 300, "only the long attempts are left"
    assert seconds([proving], samples) == 15
    assert forecast([active], samples).agent_runs.middle == 0, "it was counted at its start"
    assert seconds([replace(TASK, due_s=50.0)]) == 150


def test_a_cost_that_no_run_of_an_agent_reported_is_unknown() -> None:
    silent = replace(GOOD, agent="silent", cost=None)
    both = [TASK, replace(TASK, agents=(ForecastAgent("silent", "silent"),))]
    samples = (*(GOOD,) * 5, *(silent,) * 5)

    made = forecast(both, samples)

    assert forecast(both[1:], samples).money is None
    assert made.money == Quantiles(1.0, 1.0, 1.0)
    assert made.unknown_costs == ("silent",)


def test_an_agent_without_attempts_gets_those_of_the_others_and_is_named() -> None:
    new = replace(TASK, agents=(ForecastAgent("new", "new"),))

    made = forecast([new])

    assert (made.seconds.middle, made.assumed_agents, made.money) == (100, ("new",), None)


def test_the_proof_is_drawn_from_attempts_with_the_same_checks() -> None:
    slow = replace(GOOD, checks=("slow",), proof_s=500.0)
    samples = (*(GOOD,) * 5, *(slow,) * 5)

    assert seconds([replace(TASK, checks=("slow",))], samples) == 580
    assert seconds([TASK], samples) == 100
    pools = build_pools(samples, {"mine": {"mine"}}, [("other", "slow")])
    assert {one.proof_s for one in pools.by_checks["other", "slow"]} == {500.0}


def test_a_plan_has_a_final_check_after_all_its_tasks() -> None:
    mine = AgentSpec("mine")
    specs = [
        a_spec("a", agents=(mine,), checks=(a_check("tests"),)),
        a_spec("b", agents=(mine,), checks=(a_check("tests"),), needs=("a",)),
    ]

    tasks = plan_tasks(specs, ["tests"])

    assert [task.needs for task in tasks] == [(), (0,), (0, 1)]
    assert tasks[2].agents == ()
    assert seconds(tasks) == 100 + 100 + 20


def test_the_spread_between_runs_widens_the_interval() -> None:
    """Within a run all attempts are alike; the runs themselves differ by a factor of four."""
    samples = [
        replace(GOOD, run=f"run{n}", work_s=80.0 * exp(0.35 * (n % 5 - 2)))
        for n in range(10)
        for _ in range(4)
    ]
    alike, effect = separate_run_effects(samples, "")

    known = forecast([TASK] * 20, samples, run="run0").seconds
    new = forecast([TASK] * 20, samples).seconds

    assert effect.spread == pytest.approx(0.55, abs=0.05)
    assert max(one.work_s for one in alike) < 1.2 * min(one.work_s for one in alike)
    assert new.high > 2 * new.low
    assert known.high < 1.6 * known.low, "its own attempts show how slow it is"
    assert known.middle < new.middle


def test_runs_that_do_not_differ_leave_the_samples_as_they_are() -> None:
    samples = [replace(GOOD, run=f"run{n % 4}", work_s=float(10 + n // 4)) for n in range(40)]

    alike, effect = separate_run_effects(samples, "run1")

    assert alike == samples
    assert effect.spread == 0


def test_few_attempts_give_a_wider_interval_than_many() -> None:
    work = [30.0, 60.0, 90.0, 200.0, 400.0]
    few = [replace(GOOD, work_s=one) for one in work]

    narrow, wide = forecast([TASK] * 30, few * 40).seconds, forecast([TASK] * 30, few).seconds

    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


def test_quantiles_are_interpolated() -> None:
    assert quantiles([4.0, 0.0, 1.0, 3.0, 2.0]) == Quantiles(0.4, 2.0, 3.6)
    assert quantiles([7.0]) == Quantiles(7.0, 7.0, 7.0)


def test_a_large_plan_gets_fewer_rounds() -> None:
    assert forecast([TASK] * 10).rounds == 400
    assert forecast([TASK] * 1000).rounds == 40
