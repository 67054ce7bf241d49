"""Values of the forecast: tasks from specifications, the journal entry, the spread between runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from math import exp, log
from random import Random

import pytest

from tests.builders import a_check, a_policy, a_spec, an_agent
from tests.core.test_forecast import GOOD, TASK, forecast, seconds
from yaoki.core.forecast.forecast import Forecast, Quantiles, draw_normal, draw_student
from yaoki.core.forecast.forecast_note import forecast_note
from yaoki.core.forecast.planned_task import (
    ForecastAgent,
    ForecastTask,
    RunConditions,
    forecast_task,
    plan_tasks,
)
from yaoki.core.forecast.samples import separate_run_effects
from yaoki.core.machine.value_codec import from_data
from yaoki.core.model import TaskKind
from yaoki.core.model.treatment import LearningMode

pytestmark = pytest.mark.spec("18.9")


def test_a_task_has_the_limits_of_its_policy() -> None:
    policy = a_policy(fail_over_after=timedelta(minutes=7), content_retries_max=2)
    agents = (an_agent("small"), an_agent("large", account="team"))
    checks = (a_check("types"), a_check("tests"))
    spec = a_spec(
        agents=agents, checks=checks, policy=policy, priority=4, needs=("before", "elsewhere")
    )

    assert forecast_task(spec, {"before": 3}) == ForecastTask(
        needs=(3,),
        agents=(ForecastAgent("small", "small"), ForecastAgent("large", "team")),
        checks=("tests", "types"),
        priority=4,
        retries=2,
        repeats=8 + 6,
        reruns=1,
        fail_over_after_s=420.0,
    )


def test_a_task_that_only_runs_checks_has_no_retries_and_no_rerun() -> None:
    spec = a_spec(kind=TaskKind.CHECK, agents=())

    task = forecast_task(spec, {})

    assert (task.retries, task.repeats, task.reruns) == (0, 0, 0)
    assert forecast_task(a_spec(policy=a_policy(reruns_max=0)), {}).reruns == 0


def test_a_task_that_learns_draws_the_agents_of_its_retries() -> None:
    learning = a_spec(policy=a_policy(learn=LearningMode.CHOOSE))

    assert forecast_task(learning, {}).learns
    assert not forecast_task(a_spec(), {}).learns


def test_the_final_check_has_the_checks_of_done_when() -> None:
    final = plan_tasks([a_spec("a"), a_spec("b")], ["types", "tests"])[-1]

    assert final == ForecastTask((0, 1), checks=("tests", "types"), retries=0)
    assert len(plan_tasks([a_spec("a")])) == 1


def test_the_journal_entry_gives_the_forecast_back() -> None:
    told = Forecast(
        Quantiles(1.0, 2.0, 3.0),
        Quantiles(4.0, 5.0, 6.0),
        Quantiles(7.0, 8.0, 9.0),
        *(0.25, 0.5, 34, 400, ("silent",), ("new",)),
    )
    note = forecast_note(told)

    assert note.name == "RUN_FORECAST"
    assert from_data(Forecast, note.data) == told
    assert from_data(Forecast, forecast_note(replace(told, money=None)).data).money is None


def test_what_was_used_so_far_is_added_to_each_quantile() -> None:
    assert Quantiles(1.0, 2.0, 3.0).shift(10.0) == Quantiles(11.0, 12.0, 13.0)


def test_random_numbers_have_their_distribution() -> None:
    chance = Random(1).random
    normal = [draw_normal(chance) for _ in range(4000)]
    student = [draw_student(4, chance) for _ in range(4000)]

    def mean_square(values: list[float]) -> float:
        return sum(value**2 for value in values) / len(values)

    assert sum(normal) / len(normal) == pytest.approx(0, abs=0.06)
    assert mean_square(normal) == pytest.approx(1, abs=0.1)
    assert mean_square(student) == pytest.approx(2, abs=0.5), "4 / (4 - 2)"
    assert draw_student(0, chance) == 0


def test_the_spread_between_runs_is_what_chance_within_them_does_not_explain() -> None:
    """Two attempts in each of three runs; variances by hand."""
    work = {"a": (1.0, 3.0), "b": (4.0, 6.0), "c": (7.0, 9.0)}
    checks = replace(GOOD, agent="", run="a", work_s=0.0)
    samples = [replace(GOOD, run=run, work_s=exp(one)) for run in work for one in work[run]]
    within, means = 6 / 3, 9.0
    between = means - within / 2
    trust = between / (between + within / 2)

    alike, new = separate_run_effects([*samples, checks], "new")
    known = separate_run_effects(samples, "c")[1]

    assert new.mean == 0
    assert new.spread == pytest.approx((between * (1 + 1 / 3)) ** 0.5)
    assert new.freedom == 2
    assert known.mean == pytest.approx(3 * trust)
    assert known.spread == pytest.approx((between * (1 - trust + 1 / 3)) ** 0.5)
    assert log(alike[0].work_s) == pytest.approx(1 + 3 * trust)
    assert alike[0].cost == pytest.approx(exp(3 * trust)), "a slower run is a more expensive one"
    assert alike[-1] is checks
    assert separate_run_effects([replace(one, cost=None) for one in samples], "")[0][0].cost is None
    assert separate_run_effects(samples[:4], "a")[1].spread == 0, "two runs are too few"


def test_an_attempt_without_a_cost_gets_that_of_another_one_of_its_agent() -> None:
    silent = replace(GOOD, cost=None)

    made = forecast([TASK] * 8, (*(silent,) * 5, replace(GOOD, cost=2.0)))

    assert made.money == Quantiles(16.0, 16.0, 16.0)


def test_the_bounds_of_quiet_hours_and_budgets() -> None:
    at_once = RunConditions(1, quiet=[(0.0, 50.0)])
    over = RunConditions(1, quiet=[(-50.0, 0.0)])
    spent = forecast([TASK] * 3, (GOOD,) * 5, RunConditions(1, agent_seconds_left=80.0))

    assert seconds([TASK], (GOOD,) * 5, at_once) == 150
    assert seconds([TASK], (GOOD,) * 5, over) == 100
    assert spent.agent_runs.middle == 1
