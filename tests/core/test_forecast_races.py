"""The simulation of a race: candidates take slots and money, and one attempt is one round."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import a_check, a_spec
from tests.core.test_forecast import BAD, CHECKS, GOOD, LIMIT, MINE, TASK, forecast
from yaoki.core.forecast.planned_task import (
    CandidatePhase,
    ForecastAgent,
    ForecastCandidate,
    ForecastTask,
    RunConditions,
    forecast_task,
)
from yaoki.core.forecast.samples import AttemptResult, AttemptSample
from yaoki.core.model import AgentSpec, RaceEnd, RaceRules, RaceStart

pytestmark = [pytest.mark.spec("18.9"), pytest.mark.spec("18.4")]
ONE, TWO, THREE = (RunConditions(slots) for slots in (1, 2, 3))
OTHER = ForecastAgent("other", "other")
SLOW = replace(GOOD, agent="other", work_s=480.0, cost=5.0)


def racing(
    tries: int = 2,
    start: RaceStart = RaceStart.AT_ONCE,
    until: RaceEnd = RaceEnd.FIRST,
    delay_s: float = 0.0,
    **fields: object,
) -> ForecastTask:
    rules = RaceRules(tries, start, timedelta(seconds=delay_s), until, agents_take_turns=True)
    return replace(TASK, race=rules, **fields)  # type: ignore[arg-type]


def figures(
    tasks: list[ForecastTask],
    samples: tuple[AttemptSample, ...] = (GOOD,) * 5,
    conditions: RunConditions = TWO,
) -> tuple[float, float, float]:
    """P50 of seconds, agent runs and money of attempts that are all alike."""
    made = forecast(tasks, samples, conditions)
    assert made.money is not None
    assert made.seconds.low == made.seconds.high
    return made.seconds.middle, made.agent_runs.middle, made.money.middle


def test_candidates_share_the_slots_and_each_costs_money() -> None:
    everyone = racing(until=RaceEnd.ALL)

    assert figures([everyone]) == (100, 2, 2.0)
    assert figures([everyone], conditions=ONE) == (200, 2, 2.0)
    # The other task has landed meanwhile, so the winner is verified again for 20 s.
    assert figures([everyone, TASK]) == (220, 3, 3.0)


def test_the_first_proof_stops_the_others_which_have_used_a_part() -> None:
    """The slow agent would take 480 s and cost 5: after 100 s it has used a fifth and more."""
    both = racing(agents=(*MINE, OTHER))
    samples = (*(GOOD,) * 5, *(SLOW,) * 5)

    assert figures([both], samples) == pytest.approx((100, 2, 1 + 5 * 100 / 480))
    all_of_them = racing(agents=(*MINE, OTHER), until=RaceEnd.ALL)
    assert figures([all_of_them], samples)[:2] == (500, 2)


def test_with_one_slot_the_first_proof_saves_the_other_run() -> None:
    assert figures([racing(3)], conditions=ONE) == (100, 1, 1.0)


def test_the_slot_of_a_stopped_candidate_is_free_for_the_next_task() -> None:
    both, samples = racing(agents=(*MINE, OTHER)), (*(GOOD,) * 5, *(SLOW,) * 5)

    after = replace(TASK, needs=(0,))
    assert figures([both, after, after], samples)[0] == 200
    assert figures([both, after, after, after], samples)[0] == 300, "two slots, not three"


def test_the_time_that_a_stopped_candidate_did_not_work_is_left_of_the_budget() -> None:
    tasks = [racing(agents=(*MINE, OTHER)), replace(TASK, needs=(0,))]
    samples = (*(GOOD,) * 5, *(SLOW,) * 5)

    # 80 s of the one and 100 s of the other have been used.
    made = forecast(tasks, samples, RunConditions(2, agent_seconds_left=185.0))
    stopped = forecast(tasks, samples, RunConditions(2, agent_seconds_left=175.0))

    assert (made.agent_runs.middle, made.over_budget) == (3, 0.0)
    assert (stopped.agent_runs.middle, stopped.over_budget) == (2, 1.0)


def test_a_round_that_nobody_wins_is_one_attempt() -> None:
    made = forecast([racing(3, retries=1)], (BAD,) * 5, THREE)

    assert (made.agent_runs.middle, made.asks) == (6, 1.0)
    assert made.seconds.middle == 100 + 10 + 100


def test_candidates_of_a_later_round_are_retries() -> None:
    passing = replace(GOOD, is_retry=True)

    made = forecast([racing(2)], (*(BAD,) * 5, *(passing,) * 5))

    assert (made.agent_runs.middle, made.seconds.middle, made.asks) == (4, 210, 0.0)


@pytest.mark.parametrize(
    ("samples", "expected"),
    [((GOOD,) * 5, (100, 1, 1.0)), ((BAD,) * 5, (300, 3, 3.0))],
    ids=["passed", "failed"],
)
def test_after_a_failure_the_next_candidate_starts(
    samples: tuple[AttemptSample, ...], expected: tuple[float, float, float]
) -> None:
    """Also until all have ended: a candidate that never starts is not awaited."""
    for until in RaceEnd:
        task = racing(3, RaceStart.AFTER_FAILURE, until, retries=0)
        assert figures([task], samples, THREE) == expected


def test_after_a_delay_the_next_candidate_starts_beside_the_first() -> None:
    def both(**fields: object) -> ForecastTask:
        return racing(2, RaceStart.AFTER, RaceEnd.ALL, delay_s=60, **fields)

    assert figures([both()]) == (160, 2, 2.0)
    late = racing(2, RaceStart.AFTER, delay_s=60)
    assert figures([late]) == pytest.approx((100, 2, 1 + 40 / 80))
    too_late = racing(2, RaceStart.AFTER, delay_s=600)
    assert figures([too_late]) == (100, 1, 1.0)
    failed = racing(2, RaceStart.AFTER, delay_s=600, retries=0)
    assert figures([failed], (BAD,) * 5)[:2] == (200, 2), "a failure ends the wait"


def test_a_candidate_starts_once_whether_its_time_or_a_failure_comes_first() -> None:
    """The first one fails after 100 s; the second works for 500 s, beyond both."""
    third = ForecastAgent("third", "third")
    samples = (*(BAD,) * 5, *(SLOW,) * 5, *(replace(GOOD, agent="third"),) * 5)
    chain = (*MINE, OTHER)
    later = racing(2, RaceStart.AFTER, delay_s=150, agents=chain, retries=0)
    queued = racing(2, RaceStart.AFTER, delay_s=10, agents=chain, retries=0, priority=1)
    beside = replace(TASK, agents=(third,))

    assert figures([later], samples)[:2] == (600, 2), "its time comes while it works"
    # It waits for a slot when the first one fails; then two are free.
    assert figures([queued, beside], samples)[1] == 3


def test_the_winner_is_verified_again_only_if_something_has_landed() -> None:
    """The other task lands while the winner is verified."""
    quick = replace(GOOD, agent="other", work_s=85.0, proof_s=0.0, checks=("types",))
    beside = replace(TASK, agents=(OTHER,), checks=("types",))
    samples = (*(GOOD,) * 5, *(quick,) * 5)

    assert figures([racing(2), beside], samples, THREE)[0] == 120
    early = replace(quick, work_s=50.0)
    assert figures([racing(2), beside], (*(GOOD,) * 5, *(early,) * 5), THREE)[0] == 100
    assert figures([racing(2)], samples, THREE)[0] == 100


def test_a_closed_account_moves_a_candidate_to_the_next_agent_of_its_chain() -> None:
    samples = (*(LIMIT,) * 5, *(replace(GOOD, agent="other"),) * 5)
    task = racing(2, until=RaceEnd.ALL, agents=(*MINE, OTHER))

    assert figures([task], samples)[:2] == (200, 3)


def test_a_round_without_failed_work_asks_a_person() -> None:
    asked = replace(GOOD, result=AttemptResult.ASKED)

    made = forecast([racing(2)], (asked,) * 5)

    assert (made.agent_runs.middle, made.asks) == (2, 1.0)


def test_the_race_that_goes_on_is_not_counted_again() -> None:
    """One candidate has failed, one works since 30 s, the third is yet to start."""
    started = replace(TASK, is_active=True, elapsed_s=30.0, retries=0)
    task = racing(
        3,
        until=RaceEnd.ALL,
        candidates=(
            ForecastCandidate(CandidatePhase.FAILED, TASK),
            ForecastCandidate(CandidatePhase.STARTED, started),
            ForecastCandidate(CandidatePhase.RELEASED, replace(TASK, due_s=20.0)),
        ),
    )

    # The run of the active one is counted already; what it costs is not known yet.
    assert figures([task]) == (120, 1, 2.0)


def test_a_race_whose_next_candidate_is_yet_to_be_released_goes_on() -> None:
    failed, next_one = CandidatePhase.FAILED, CandidatePhase.UNRELEASED
    candidates = tuple(ForecastCandidate(phase, TASK) for phase in (failed, next_one))

    task = racing(2, RaceStart.AFTER_FAILURE, candidates=candidates)

    assert figures([task]) == (100, 1, 1.0)


def test_a_decided_race_has_only_its_proof_left() -> None:
    task = racing(2, has_winner=True)
    active = racing(2, has_winner=True, is_active=True, is_proving=True, elapsed_s=5.0)

    assert figures([task], (BAD,) * 5) == (20, 0, 0.0)
    assert figures([active], (BAD,) * 5) == (15, 0, 0.0)


def test_a_budget_of_runs_counts_candidates() -> None:
    made = forecast([racing(3, until=RaceEnd.ALL)], conditions=RunConditions(1, runs_left=2))

    assert (made.agent_runs.middle, made.over_budget) == (2, 1.0)


def test_stopped_candidates_count_as_longer_than_they_ran() -> None:
    """Otherwise only the quick attempts of a race would be drawn."""
    quick, slow = replace(GOOD, work_s=80.0), replace(GOOD, work_s=980.0)
    stopped = replace(GOOD, work_s=100.0, proof_s=0.0, result=AttemptResult.STOPPED)
    alone = forecast([TASK], (*(quick,) * 9, slow))
    seen = forecast([TASK], (*(quick,) * 9, slow, *(stopped,) * 20))

    assert alone.seconds.middle == 100
    assert seen.seconds.middle == 1000
    assert seen.attempts == 10, "a stopped attempt was not measured to its end"


def test_a_pool_of_stopped_attempts_alone_gives_the_longest_that_ended() -> None:
    later = replace(GOOD, work_s=500.0, result=AttemptResult.STOPPED)

    assert figures([TASK], (*(GOOD,) * 5, *(later,) * 5))[0] == 100


def test_the_limits_of_a_racing_task_count_rounds() -> None:
    agents = (AgentSpec("mine"), AgentSpec("other"))
    plain = forecast_task(a_spec(agents=agents, checks=(a_check("tests"),)), {})
    rules = RaceRules(3, agents_take_turns=True)
    raced = forecast_task(a_spec(agents=agents, checks=(a_check("tests"),), race=rules), {})

    assert (raced.retries, raced.reruns) == (plain.retries, plain.reruns)
    assert raced.race is rules
    assert raced.first_agents == ("mine", "other")
    assert plain.first_agents == ("mine",)
    chains = [[agent.name for agent in one.agents] for one in raced.list_candidates(is_retry=False)]
    assert chains == [["mine", "other"], ["other", "mine"], ["mine", "other"]]
    assert raced.list_candidates(is_retry=True)[0].checks == CHECKS
