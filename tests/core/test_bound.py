"""The worst case, from the settings alone."""

from __future__ import annotations

import pytest

from tests.builders import a_policy, a_spec
from yaoki.core.bound import WorstCase, worst_case
from yaoki.core.model import (
    CONTENT_KINDS,
    AgentSpec,
    CheckSpec,
    CheckType,
    FailureKind,
    RaceRules,
    RetryPolicy,
    RetryRule,
    TaskKind,
)
from yaoki.core.settings.override import with_iterations, with_max_retries
from yaoki.core.settings.retry import RetrySettings
from yaoki.core.settings.settings import EscalationSettings, LimitSettings, build_retry_policy


def bound(given: RetryPolicy) -> WorstCase:
    return worst_case(a_spec(policy=given))


def of_retry(retry: RetrySettings) -> WorstCase:
    return bound(build_retry_policy(retry, LimitSettings(), EscalationSettings()))


@pytest.mark.spec("0.4", "4.6")
def test_the_default_settings_have_these_bounds() -> None:
    """1 + 3 retries of the content, one re-run, 3 + 5 repeats on the way, 6 interruptions."""
    found = bound(a_policy())

    assert (found.content, found.reruns, found.repeats, found.interruptions) == (4, 1, 8, 6)
    assert found.total == 19


@pytest.mark.spec("0.4", "1.2")
def test_a_check_task_runs_no_agent() -> None:
    assert worst_case(a_spec(kind=TaskKind.CHECK)).total == 0


@pytest.mark.spec("0.4", "6.7")
def test_a_judge_counts_as_an_agent_run() -> None:
    """Three tries of each of two judges, whenever one of the attempts is verified."""
    judges = tuple(CheckSpec(name, CheckType.JUDGE, agent=AgentSpec("critic")) for name in "ab")
    given = RetryPolicy(
        rules={}, landing_refusals_max=2, faults_max=3, deliveries_max=4, reruns_max=0
    )
    checks = (CheckSpec("tests", argv=("true",)), *judges)

    change = worst_case(a_spec(policy=given, checks=checks))
    proof = worst_case(a_spec(policy=given, checks=checks, kind=TaskKind.CHECK))

    assert change.judge_runs == 2 * 3 * (1 * (1 + 2) + 3 + 4)
    assert change.total == 1 + change.judge_runs
    assert proof.total == change.judge_runs


@pytest.mark.spec("0.4")
def test_a_policy_without_rules_runs_an_agent_once() -> None:
    assert bound(RetryPolicy(rules={}, reruns_max=0)).total == 1


@pytest.mark.spec("5.6", "0.4")
def test_a_task_without_retries_is_repeated_only_after_interruptions() -> None:
    found = of_retry(with_max_retries(RetrySettings(), 0))

    assert (found.content, found.repeats, found.interruptions) == (1, 0, 6)
    assert found.reruns == 0, "max_retries: 0 asks at once"


@pytest.mark.spec("5.6", "0.4")
@pytest.mark.parametrize(("most", "content"), [(1, 2), (3, 4), (7, 8)])
def test_a_task_may_set_its_number_of_retries(most: int, content: int) -> None:
    assert of_retry(with_max_retries(RetrySettings(), most)).content == content


@pytest.mark.spec("2.1", "0.4")
@pytest.mark.parametrize("most", [1, 2, 5])
def test_iterations_bound_the_content_attempts(most: int) -> None:
    found = of_retry(with_iterations(RetrySettings(), most))

    assert found.content + found.reruns == most


@pytest.mark.spec("5.1", "0.4")
@pytest.mark.parametrize(
    ("total", "content", "repeats"), [(1, 1, 0), (3, 3, 0), (6, 4, 2), (12, 4, 8), (50, 4, 8)]
)
def test_the_total_bounds_content_attempts_and_repeats(
    total: int, content: int, repeats: int
) -> None:
    found = bound(a_policy(total_attempts_max=total))

    assert (found.content, found.repeats) == (content, repeats)


@pytest.mark.spec("0.4")
def test_a_rule_for_an_unusual_failure_kind_counts() -> None:
    """A retryable failure kind is included in the bound."""
    rules = {
        FailureKind.RESOURCE_EXHAUSTED: RetryRule(2),
        **dict.fromkeys(CONTENT_KINDS, RetryRule(0)),
    }

    assert bound(RetryPolicy(rules=rules, reruns_max=0)).total == 3


@pytest.mark.spec("0.4", "8.3")
def test_a_subtask_may_be_rerun_with_its_group() -> None:
    alone, inside = worst_case(a_spec()), worst_case(a_spec(group="g"))

    assert (alone.reruns, inside.reruns) == (1, 1 + alone.content)
    assert worst_case(a_spec(kind=TaskKind.PLAN, group="g")).reruns == 0


@pytest.mark.spec("18.4", "0.4")
def test_a_race_has_a_round_of_candidates_for_every_attempt() -> None:
    """Each candidate may be repeated after limits and interruptions, but its work is tried once."""
    single = bound(a_policy())
    found = worst_case(a_spec(policy=a_policy(), race=RaceRules(3)))
    candidates = 3 * (single.content + single.reruns)

    assert (found.content, found.reruns) == (3 * single.content, 3 * single.reruns)
    assert (found.repeats, found.interruptions) == (8 * candidates, 6 * candidates)
    assert found.total == candidates * (1 + 8 + 6)


@pytest.mark.spec("18.4", "0.4")
def test_the_judge_of_a_race_may_be_asked_twice_in_every_round() -> None:
    single = bound(a_policy())
    found = worst_case(a_spec(policy=a_policy(), checks=(), race=RaceRules(3, judge="careful")))

    assert found.judge_runs == 2 * (single.content + single.reruns)
