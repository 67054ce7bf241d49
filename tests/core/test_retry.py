"""Retries and their delays: the numbers of sections 4 and 5."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.builders import (
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    a_failure,
    a_policy,
    a_spec,
    an_active_task,
    an_agent,
)
from yaoki.core.decide.backoff import backoff_delay
from yaoki.core.decide.failure_response import ClockAndChance, plan_retry_or_escalate
from yaoki.core.decide.failures import make_fault
from yaoki.core.decide.retry import (
    choose_retry_strategy,
    count_same_fingerprint_failures,
    count_same_work_failures,
    decide_retry,
)
from yaoki.core.machine.events import RetryDecided
from yaoki.core.machine.evolution import evolve
from yaoki.core.model import (
    Backoff,
    BackoffType,
    Counts,
    FailOverCause,
    FailureKind,
    GivenUpAgent,
    Reason,
    RetryPolicy,
    RetryRule,
    Stage,
    Task,
)
from yaoki.core.settings.override import retries_defect
from yaoki.core.settings.settings import Settings
from yaoki.errors import FatalCode

# ------------------------------------------------------------------ the table of 4.1

RETRIES = [
    ("INCOMPLETE", 3, "MAX_RETRIES"),
    ("QUALITY_FAILURE", 3, "MAX_RETRIES"),
    ("TIMEOUT", 2, "MAX_RETRIES"),
    ("TRANSIENT_ERROR", 3, "SYSTEM_ERROR_TRANSIENT"),
    ("RATE_LIMIT", 5, "SYSTEM_ERROR_TRANSIENT"),
    ("CONFLICT", 2, "CONFLICT"),
    ("LOST", 6, "SYSTEM_ERROR_TRANSIENT"),
    ("FATAL_ERROR", 0, "SYSTEM_ERROR_PERMANENT"),
    ("ESCALATE_REQUIRED", 0, "NEEDS_HUMAN"),
    ("RESOURCE_EXHAUSTED", 0, "RESOURCE_EXHAUSTED"),
]


def failed_before(**failures: int) -> Task:
    return an_active_task(Stage.VERIFY, counts=Counts(failures=failures))


@pytest.mark.spec("4.1", "15")
def test_the_default_settings_match_the_table() -> None:
    assert Settings().retry_policy == a_policy()


@pytest.mark.spec("4.1")
def test_the_table_has_every_kind() -> None:
    assert [kind for kind, _, _ in RETRIES] == [kind.value for kind in FailureKind]


@pytest.mark.spec("4.1", "5.1", "1.3")
@pytest.mark.parametrize(("kind", "most", "reason"), RETRIES)
def test_a_failure_kind_is_retried_up_to_its_limit_and_then_escalated(
    kind: str, most: int, reason: str
) -> None:
    failure = a_failure(FailureKind(kind))
    for count in range(most):
        again = decide_retry(failed_before(**{kind: count}), failure, 1, 0.5)
        assert (again.action, again.tries, again.tries_max) == ("RETRY", count, most)

    over = decide_retry(failed_before(**{kind: most}), failure, 1, 0.5)

    assert (over.action, over.reason) == ("ESCALATE", Reason(reason))
    assert over.tries == most


@pytest.mark.spec("4.1")
def test_a_kind_without_a_rule_is_not_retried() -> None:
    task = an_active_task(Stage.VERIFY, spec=a_spec(policy=RetryPolicy(rules={})))

    assert decide_retry(task, a_failure(FailureKind.INCOMPLETE), 1, 0.5).action == "ESCALATE"


# ------------------------------------------------------------------ the flow of 5.1


@pytest.mark.spec("5.1")
def test_a_decision_contains_its_inputs() -> None:
    decision = decide_retry(failed_before(QUALITY_FAILURE=1), a_failure(), 1, 0.5)

    assert (decision.action, decision.kind) == ("RETRY", FailureKind.QUALITY_FAILURE)
    assert (decision.tries, decision.tries_max, decision.delay) == (1, 3, 2 * SECOND)
    assert decision.reasoning == "retry 2 of 3 for QUALITY_FAILURE, in 2 s (exponential backoff)"
    assert decision.rule == "5.1"
    assert decision.otherwise


@pytest.mark.spec("5.1")
@pytest.mark.parametrize(("total", "verdict"), [(10, "RETRY"), (11, "ESCALATE")])
def test_the_total_of_failed_attempts_is_bounded(total: int, verdict: str) -> None:
    """The twelfth failed attempt is the last, whatever the kinds were."""
    wide = a_policy(rules={kind: RetryRule(50) for kind in FailureKind}, content_retries_max=50)
    counts = Counts(failures={"RATE_LIMIT": 5, "QUALITY_FAILURE": total - 5})
    task = an_active_task(Stage.VERIFY, spec=a_spec(policy=wide), counts=counts)

    assert decide_retry(task, a_failure(), 1, 0.5).action == verdict


@pytest.mark.spec("5.2", "3.7")
def test_interruptions_do_not_count_toward_the_total() -> None:
    counts = Counts(failures={"LOST": 5}, interruptions=5)
    task = an_active_task(Stage.VERIFY, spec=a_spec(policy=a_policy(total_attempts_max=2)))

    assert decide_retry(replace(task, counts=counts), a_failure(), 1, 0.5).action == "RETRY"


# ------------------------------------------------------------------ the task's own budget


def started_before(attempts: int, **more: Any) -> Task:
    """A task with a budget of three attempts, of which so many were started."""
    spec = a_spec(budget={"attempts": 3.0})
    return an_active_task(Stage.WORK, spec=spec, counts=Counts(attempts=attempts, **more))


@pytest.mark.spec("18.7", "10.6")
@pytest.mark.parametrize("kind", [FailureKind.LOST, FailureKind.QUALITY_FAILURE])
@pytest.mark.parametrize(("attempts", "verdict"), [(2, "RETRY"), (3, "ESCALATE"), (4, "ESCALATE")])
def test_every_started_attempt_counts_in_the_budget_of_its_task(
    kind: FailureKind, attempts: int, verdict: str
) -> None:
    decision = decide_retry(started_before(attempts), a_failure(kind), 1, 0.5)

    assert decision.action == verdict
    if verdict == "ESCALATE":
        assert (decision.rule, decision.reason) == ("10.6", Reason.RESOURCE_EXHAUSTED)
        assert decision.reasoning == f"the task used {attempts} of its 3 attempts"


@pytest.mark.spec("18.7", "18.6")
def test_attempts_without_an_answer_of_the_model_do_not_count_in_the_budget() -> None:
    task = started_before(4, unanswered=2)

    assert decide_retry(task, a_failure(FailureKind.LOST), 1, 0.5).action == "RETRY"


@pytest.mark.spec("18.7", "10.4")
def test_an_answer_gives_the_budget_of_attempts_again() -> None:
    task = started_before(3)
    answered = replace(task, forgiven_counts=task.counts)

    assert decide_retry(answered, a_failure(FailureKind.LOST), 1, 0.5).action == "RETRY"


@pytest.mark.spec("18.7", "4.8")
def test_a_fault_of_ours_repeats_its_stage_whatever_attempts_were_started() -> None:
    fault = make_fault("the disk is full", transient=True)

    assert decide_retry(started_before(3), fault, 1, 0.5).action == "RETRY"


@pytest.mark.spec("5.2")
def test_a_rate_limit_does_not_use_up_the_retries_of_a_failing_test() -> None:
    decision = decide_retry(failed_before(RATE_LIMIT=5), a_failure(), 1, 0.5)

    assert (decision.action, decision.tries) == ("RETRY", 0)


@pytest.mark.spec("4.6", "5.1")
def test_content_failures_share_one_limit() -> None:
    """Otherwise three kinds in turn would run an agent a dozen times on the same task."""
    mixed = failed_before(INCOMPLETE=1, QUALITY_FAILURE=1, TIMEOUT=1)

    decision = decide_retry(mixed, a_failure(FailureKind.CONFLICT), 1, 0.5)

    assert (decision.action, decision.rule) == ("ESCALATE", "5.1")


@pytest.mark.spec("5.2", "10.4")
def test_an_answer_of_a_person_grants_a_fresh_budget() -> None:
    task = failed_before(QUALITY_FAILURE=3)

    decision = decide_retry(replace(task, forgiven_counts=task.counts), a_failure(), 1, 0.5)

    assert (decision.action, decision.tries) == ("RETRY", 0)


@pytest.mark.spec("5.6")
@pytest.mark.parametrize(
    "kind", [FailureKind.QUALITY_FAILURE, FailureKind.RATE_LIMIT, FailureKind.TIMEOUT]
)
def test_a_task_without_retries_is_escalated_at_once(kind: FailureKind) -> None:
    none = a_policy(rules={k: RetryRule(0) for k in FailureKind})
    task = an_active_task(Stage.VERIFY, spec=a_spec(policy=none))

    assert decide_retry(task, a_failure(kind), 1, 0.5).action == "ESCALATE"


@pytest.mark.spec("5.7")
@pytest.mark.parametrize("kind", [kind for kind, most, _ in RETRIES if most])
def test_a_failure_that_is_not_safe_to_retry_is_not_retried(kind: str) -> None:
    failure = a_failure(FailureKind(kind), retry_safe=False)

    decision = decide_retry(failed_before(), failure, 1, 0.5)

    assert (decision.action, decision.rule) == ("ESCALATE", "5.7")


# ------------------------------------------------------------------ waits


@pytest.mark.spec("5.3")
@pytest.mark.parametrize(
    ("kind", "seconds"),
    [
        (FailureKind.QUALITY_FAILURE, [1, 2, 4]),
        (FailureKind.RATE_LIMIT, [5, 10, 20, 40, 60]),
        (FailureKind.TIMEOUT, [5, 5]),
    ],
)
def test_waits_grow_as_configured(kind: FailureKind, seconds: list[float]) -> None:
    """The middle of the dice is no jitter at all."""
    for tries, wanted in enumerate(seconds):
        decision = decide_retry(failed_before(**{kind.value: tries}), a_failure(kind), 1, 0.5)
        assert decision.delay == timedelta(seconds=wanted)


@pytest.mark.spec("5.4")
def test_a_named_wait_replaces_the_backoff() -> None:
    named = a_failure(FailureKind.RATE_LIMIT, retry_after=5 * MINUTE)

    decision = decide_retry(failed_before(), named, 1, 0.5)

    assert decision.delay == 5 * MINUTE
    assert "Retry-After" in decision.reasoning


@pytest.mark.spec("5.4")
def test_a_named_wait_may_be_shorter_than_the_backoff() -> None:
    named = a_failure(FailureKind.RATE_LIMIT, retry_after=timedelta(seconds=1))

    assert decide_retry(failed_before(), named, 1, 0.5).delay == timedelta(seconds=1)


@pytest.mark.spec("5.4", "5.3")
def test_a_named_wait_of_zero_is_ignored() -> None:
    named = a_failure(FailureKind.RATE_LIMIT, retry_after=timedelta(0))

    assert decide_retry(failed_before(), named, 1, 0.5).delay == timedelta(seconds=5)


@pytest.mark.spec("5.4")
def test_a_long_named_wait_defers_the_task_until_its_date() -> None:
    for hours, strategy in ((6, "continue"), (48, "park")):
        named = a_failure(FailureKind.RATE_LIMIT, retry_after=hours * HOUR)

        decision = decide_retry(failed_before(), named, 1, 0.5)

        assert (decision.delay, decision.strategy) == (hours * HOUR, strategy)


@pytest.mark.spec("5.4")
def test_a_negative_named_wait_counts_as_zero() -> None:
    named = a_failure(FailureKind.RATE_LIMIT, retry_after=-HOUR)

    assert decide_retry(failed_before(), named, 1, 0.5).delay == timedelta(0)


waits = st.timedeltas(timedelta(0), 2 * HOUR)


@st.composite
def backoffs(draw: st.DrawFn) -> Backoff:
    low, high = sorted((draw(waits), draw(waits)))
    kind = draw(st.sampled_from(BackoffType))
    multiplier = draw(st.floats(1, 1e9))
    return Backoff(kind, low, multiplier, high, draw(st.floats(0, 1)))


tries_ = st.integers(-1, 200)
chances = st.floats(0, 1, exclude_max=True)


@pytest.mark.spec("5.3")
@given(backoffs(), tries_, chances)
def test_a_wait_is_between_zero_and_its_maximum(
    backoff: Backoff, tries: int, chance: float
) -> None:
    assert timedelta(0) <= backoff_delay(backoff, tries, chance) <= backoff.maximum


@pytest.mark.spec("5.3")
@example(Backoff(BackoffType.EXPONENTIAL, 2 * MINUTE, 1e9, 2 * HOUR), 7)
@given(backoffs(), tries_)
def test_without_jitter_waits_never_shrink(backoff: Backoff, tries: int) -> None:
    plain = replace(backoff, jitter=0.0)

    assert backoff_delay(plain, tries, 0.5) <= backoff_delay(plain, tries + 1, 0.5)


@pytest.mark.spec("5.3")
@given(backoffs(), tries_, chances)
def test_jitter_stays_within_its_share(backoff: Backoff, tries: int, chance: float) -> None:
    plain = backoff_delay(replace(backoff, jitter=0.0), tries, chance)
    slack = plain * backoff.jitter + timedelta(microseconds=2)

    assert plain - slack <= backoff_delay(backoff, tries, chance) <= plain + slack


@pytest.mark.spec("5.3")
def test_an_overflowing_wait_is_the_maximum() -> None:
    steep = Backoff(BackoffType.EXPONENTIAL, 2 * MINUTE, 1e9, 2 * HOUR, 0.0)

    assert backoff_delay(steep, 100, 0.5) == 2 * HOUR


@pytest.mark.spec("5.3")
def test_linear_waits_grow_by_equal_steps() -> None:
    straight = Backoff(BackoffType.LINEAR, SECOND, 2.0, HOUR, 0.0)

    assert [backoff_delay(straight, tries, 0.5) for tries in (1, 2, 90)] == [
        SECOND,
        2 * SECOND,
        90 * SECOND,
    ]


@pytest.mark.spec("5.3")
@pytest.mark.parametrize(
    "broken",
    [
        Backoff("sideways"),  # type: ignore[arg-type]
        Backoff(BackoffType.EXPONENTIAL, multiplier=float("nan")),
        Backoff(BackoffType.FIXED, jitter=float("inf")),
    ],
    ids=["no such type", "not a number", "endless jitter"],
)
def test_a_wait_that_cannot_be_calculated_is_one_second(broken: Backoff) -> None:
    assert backoff_delay(broken, 2, 0.7) == SECOND


# ------------------------------------------------------------------ the ladder of 4.6


def task_with_same_failures(same: int, *, agents: int = 1, index: int = 0) -> Task:
    """A task with this many consecutive identical failures."""
    chain = tuple(an_agent(f"agent{n}") for n in range(agents))
    return an_active_task(
        Stage.VERIFY,
        spec=a_spec(agents=chain),
        feedback=a_failure(),
        failed_work_digest="tree",
        same_work_failures=same,
        agent_index=index,
        given_up_agents=tuple(
            GivenUpAgent(n, f"agent{n}", FailOverCause.REPEATED_FAILURE) for n in range(index)
        ),
    )


@pytest.mark.spec("4.6", "5.6")
@pytest.mark.parametrize(
    ("agents", "steps"),
    [
        (1, ["continue", "fresh", None]),
        (2, ["continue", "fresh", "next-agent"]),
    ],
)
def test_the_same_failure_with_the_same_work_changes_the_strategy(
    agents: int, steps: list[str]
) -> None:
    assert [
        choose_retry_strategy(task_with_same_failures(0, agents=agents), same) for same in (1, 2, 3)
    ] == steps


@pytest.mark.spec("4.6", "5.6")
def test_each_agent_of_the_chain_is_used_before_the_retries_end() -> None:
    assert choose_retry_strategy(task_with_same_failures(3, agents=3, index=1), 4) == "next-agent"
    assert choose_retry_strategy(task_with_same_failures(4, agents=3, index=2), 5) is None


@pytest.mark.spec("4.6", "18.2", "5.6")
@pytest.mark.parametrize(
    ("agents", "alike", "step"),
    [(2, 2, "continue"), (2, 3, "next-agent"), (1, 3, "continue"), (1, 5, "continue")],
)
def test_the_same_failure_with_different_work_switches_the_agent(
    agents: int, alike: int, step: str
) -> None:
    assert choose_retry_strategy(task_with_same_failures(1, agents=agents), 1, alike) == step


@pytest.mark.spec("4.6", "18.2")
def test_identical_failures_are_counted_per_agent() -> None:
    task = replace(task_with_same_failures(1, agents=3), same_fingerprint_failures=2)

    (retry,) = plan_retry_or_escalate(task, a_failure(), ClockAndChance(NOW, 0.5), "other tree")

    assert isinstance(retry, RetryDecided)
    assert (retry.strategy, retry.agent_index) == ("next-agent", 1)
    assert (retry.same_work_failures, retry.same_fingerprint_failures) == (1, 0)
    assert count_same_fingerprint_failures(evolve(task, retry), a_failure()) == 1


@pytest.mark.spec("4.6")
def test_a_third_identical_failure_ends_the_retries() -> None:
    """Two counted failures leave retries over, yet a third of the same kind is futile."""
    task = replace(task_with_same_failures(2), counts=Counts(failures={"QUALITY_FAILURE": 2}))
    same = count_same_work_failures(task, a_failure(), "tree")

    decision = decide_retry(task, a_failure(), same, 0.5)

    assert (same, decision.action, decision.rule) == (3, "ESCALATE", "4.6")
    assert decision.reason is Reason.MAX_RETRIES


@pytest.mark.spec("4.6")
@pytest.mark.parametrize(
    ("message", "tree", "same"),
    [
        ("it failed as QUALITY_FAILURE", "tree", 3),
        ("it failed as QUALITY_FAILURE", "other", 1),
        ("something else", "tree", 1),
    ],
    ids=["same failure, same work", "same failure, other work", "other failure"],
)
def test_only_identical_failures_count_as_consecutive(message: str, tree: str, same: int) -> None:
    assert (
        count_same_work_failures(task_with_same_failures(2), a_failure(message=message), tree)
        == same
    )


@pytest.mark.spec("4.6")
def test_the_first_failure_counts_as_one_consecutive_failure() -> None:
    assert count_same_work_failures(an_active_task(Stage.VERIFY), a_failure(), "") == 1


@pytest.mark.spec("3.7")
def test_an_attempt_after_an_interrupted_agent_starts_in_a_fresh_worktree() -> None:
    assert decide_retry(failed_before(), a_failure(FailureKind.LOST), 1, 0.5).strategy == "fresh"


@pytest.mark.spec("5.5")
@pytest.mark.parametrize("kind", [FailureKind.TRANSIENT_ERROR, FailureKind.RATE_LIMIT])
def test_transient_errors_do_not_change_the_strategy(kind: FailureKind) -> None:
    decision = decide_retry(task_with_same_failures(3), a_failure(kind), 1, 0.5)

    assert (decision.action, decision.strategy) == ("RETRY", "continue")
    assert "worktree" not in decision.otherwise


# ------------------------------------------------------------------ system faults


@pytest.mark.spec("4.8")
def test_a_system_fault_repeats_the_stage_and_uses_no_retry() -> None:
    fault = a_failure(FailureKind.TRANSIENT_ERROR, is_our_fault=True)
    task = failed_before(TRANSIENT_ERROR=3, QUALITY_FAILURE=3)

    decision = decide_retry(task, fault, 1, 0.5)

    assert (decision.action, decision.strategy) == ("RETRY", "same-stage")
    assert (decision.tries, decision.tries_max) == (0, 3)


@pytest.mark.spec("4.8", "0.4")
def test_system_faults_are_bounded() -> None:
    fault = a_failure(
        FailureKind.TRANSIENT_ERROR, is_our_fault=True, reason=Reason.SYSTEM_ERROR_TRANSIENT
    )
    task = an_active_task(Stage.VERIFY, counts=Counts(faults=3))

    decision = decide_retry(task, fault, 1, 0.5)

    assert (decision.action, decision.reason) == ("ESCALATE", Reason.SYSTEM_ERROR_TRANSIENT)
    assert "in between" not in decision.otherwise, "repeats are counted in all, not in a row"


@pytest.mark.spec("4.8", "12.4")
def test_a_count_of_one_has_a_singular_noun() -> None:
    fault = a_failure(FailureKind.TRANSIENT_ERROR, is_our_fault=True)
    task = an_active_task(Stage.VERIFY)
    never = replace(task, spec=replace(task.spec, policy=replace(task.spec.policy, faults_max=0)))

    said = decide_retry(never, fault, 1, 0.5).reasoning

    assert said == "yaoki's own infrastructure failed 1 time; 0 repeats allowed"
    assert retries_defect(1, 1).startswith("1 retry can never be reached")


@pytest.mark.spec("4.2", "4.8")
def test_a_permanent_fault_is_not_retried() -> None:
    fault = a_failure(FailureKind.FATAL_ERROR, is_our_fault=True, code=FatalCode.PERMISSION_DENIED)

    decision = decide_retry(an_active_task(Stage.VERIFY), fault, 1, 0.5)

    assert (decision.action, decision.rule) == ("ESCALATE", "4.2")
