"""Rules 18.3 and 18.5: the conversation and the agent of the next try after a failure."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.builders import NOW, a_failure, a_policy, a_retry, a_spec, an_active_task, an_agent
from yaoki.core.decide.failure_response import ClockAndChance, plan_retry_or_escalate
from yaoki.core.decide.next_try import OUTCOMES_COMPARED_MIN, arm_of
from yaoki.core.decide.thompson import draw_arm
from yaoki.core.lazy_dataclass import replace
from yaoki.core.machine.events import RetryDecided
from yaoki.core.machine.evolution import evolve
from yaoki.core.model import (
    AccountProblem,
    FailOverCause,
    Failure,
    FailureKind,
    RetryMethod,
    Stage,
    Task,
)
from yaoki.core.model.treatment import (
    AttemptConversation,
    ConversationMode,
    LearningMode,
    Treatment,
    TreatmentOutcome,
)
from yaoki.core.prompt import compose_prompt

CONTINUED, FRESH = AttemptConversation.CONTINUED, AttemptConversation.FRESH
AUTO, CHOOSE = ConversationMode.AUTO, LearningMode.CHOOSE
CHAIN = tuple(an_agent(name) for name in ("small", "large", "other"))
TESTS = a_failure(FailureKind.QUALITY_FAILURE, "2 tests failed", pattern="test-failed")
LINT = a_failure(FailureKind.QUALITY_FAILURE, "3 findings", pattern="lint-error")
NOTHING_MEASURED = "neither conversation is known to fix it more often"


def a_try(
    conversation: ConversationMode = ConversationMode.CONTINUE,
    learn: LearningMode = LearningMode.OBSERVE,
    agents: int = 1,
    **given: Any,
) -> Task:
    policy = a_policy(conversation=conversation, learn=learn)
    spec = a_spec(agents=CHAIN[:agents], policy=policy)
    return an_active_task(Stage.VERIFY, spec=spec, **{"session": "s1", **given})


def decide(task: Task, failure: Failure = TESTS, tree: str = "tree") -> RetryDecided:
    (decided,) = plan_retry_or_escalate(task, failure, ClockAndChance(NOW, 0.5), tree)
    assert isinstance(decided, RetryDecided)
    return decided


def outcomes(
    agent: str, conversation: AttemptConversation, cured: int, of: int
) -> tuple[TreatmentOutcome, ...]:
    treatment = Treatment("test-failed", "", agent, conversation)
    return tuple(TreatmentOutcome(treatment, n < cured) for n in range(of))


# ------------------------------------------------------------------ conversation


@pytest.mark.spec("18.3")
def test_by_default_the_conversation_is_continued() -> None:
    task = a_try()

    decided = decide(task)

    assert decided.conversation is CONTINUED
    assert "conversation" not in decided.reasoning
    assert evolve(task, decided).session == "s1"


@pytest.mark.spec("18.3")
def test_a_fresh_conversation_keeps_the_worktree_and_drops_the_session() -> None:
    task = a_try(ConversationMode.FRESH)

    decided = decide(task)
    after = evolve(task, decided)

    assert (decided.conversation, decided.fresh) == (FRESH, False)
    assert decided.reasoning.endswith("in a new conversation (conversation: fresh)")
    assert decided.why.inputs["conversation"] == "conversation: fresh"
    assert (after.session, after.needs_fresh_worktree) == ("", False)


@pytest.mark.spec("18.3")
def test_the_new_conversation_is_told_what_was_tried_and_what_is_left() -> None:
    task = a_try(ConversationMode.FRESH)
    task = evolve(task, decide(task))

    first = compose_prompt(task, changed_files=["a.py"]).text
    nothing_left = compose_prompt(task).text
    japanese = compose_prompt(replace(task, spec=replace(task.spec, language="ja"))).text

    assert "# What was tried before" in first
    assert "- 2 tests failed\n" in first
    assert "- a.py" in first
    assert "Nothing of that work is in this directory" in nothing_left
    assert "以前に試みられました" in japanese
    assert "# Task" in first, "the whole prompt, not only the failure"


@pytest.mark.spec("18.3")
def test_an_agent_without_conversations_gets_the_prompt_it_always_got() -> None:
    task = a_try(ConversationMode.FRESH, session="")

    decided = decide(task)

    assert decided.conversation is CONTINUED, "there is nothing to begin anew"
    assert "tried before" not in compose_prompt(evolve(task, decided)).text


@pytest.mark.spec("18.3")
def test_only_the_last_failures_of_a_conversation_are_told() -> None:
    task = replace(a_try(), session_failures=("1", "2", "3", "4", "5"))

    after = evolve(task, decide(task))

    assert after.session_failures == ("2", "3", "4", "5", "2 tests failed")


@pytest.mark.spec("18.3")
def test_a_journal_of_an_older_version_folds_as_before() -> None:
    old = a_retry(TESTS, conversation=AttemptConversation.UNKNOWN)

    after = evolve(a_try(), old)

    assert (after.session, after.session_failures) == ("s1", ())


@pytest.mark.spec("18.3")
@pytest.mark.parametrize(
    "failure",
    [
        a_failure(FailureKind.TRANSIENT_ERROR),
        a_failure(FailureKind.RATE_LIMIT, retry_after=timedelta(seconds=1)),
        replace(TESTS, is_our_fault=True),
        replace(TESTS, account="judge"),
        a_failure(FailureKind.RATE_LIMIT, account_problem=AccountProblem.RATE_LIMIT),
    ],
    ids=["transient", "limit", "our fault", "limit of a judge", "limit of the account"],
)
def test_a_conversation_without_a_failed_try_is_continued(failure: Failure) -> None:
    decided = decide(a_try(ConversationMode.FRESH), failure)

    assert decided.conversation is CONTINUED


@pytest.mark.spec("18.3")
@pytest.mark.parametrize(
    ("failure", "before", "expected", "reason"),
    [
        (TESTS, None, FRESH, "test-failed shows a wrong approach"),
        (LINT, None, CONTINUED, "lint-error says what to correct"),
        (LINT, TESTS, CONTINUED, "lint-error says what to correct"),
        (LINT, LINT, FRESH, "lint-error again"),
    ],
)
def test_with_few_counts_auto_goes_by_the_pattern(
    failure: Failure, before: Failure | None, expected: AttemptConversation, reason: str
) -> None:
    decided = decide(a_try(AUTO, feedback=before), failure)

    assert decided.conversation is expected
    assert f"auto: {reason}; {NOTHING_MEASURED}" in decided.reasoning


@pytest.mark.spec("18.3")
def test_auto_takes_the_conversation_that_cured_more_often() -> None:
    enough = OUTCOMES_COMPARED_MIN
    continued = outcomes("small", CONTINUED, 7, enough)
    measured = (*continued, *outcomes("small", FRESH, 6, enough))

    decided = decide(a_try(AUTO, treatment_outcomes=measured))

    assert decided.conversation is CONTINUED
    words = "small fixed 7 of 10 in the same conversation, 6 of 10 in a new one"
    assert f"auto: after test-failed {words}" in decided.reasoning


@pytest.mark.spec("18.3")
@pytest.mark.parametrize(
    "measured",
    [
        (*outcomes("small", CONTINUED, 9, 9), *outcomes("small", FRESH, 0, 50)),
        (*outcomes("small", CONTINUED, 50, 50), *outcomes("small", FRESH, 0, 9)),
        (*outcomes("large", CONTINUED, 50, 50), *outcomes("large", FRESH, 0, 50)),
        (*outcomes("small", CONTINUED, 5, 10), *outcomes("small", FRESH, 10, 20)),
    ],
    ids=["few continued", "few fresh", "of another agent", "a tie"],
)
def test_auto_keeps_its_default_without_a_difference(
    measured: tuple[TreatmentOutcome, ...],
) -> None:
    decided = decide(a_try(AUTO, treatment_outcomes=measured))

    assert decided.conversation is FRESH
    assert f"shows a wrong approach; {NOTHING_MEASURED}" in decided.reasoning


@pytest.mark.spec("18.3")
def test_a_new_worktree_begins_a_new_conversation_whatever_the_plan_says() -> None:
    failed = replace(a_try(AUTO), feedback=LINT, failed_work_digest="tree", same_work_failures=1)

    decided = decide(failed, LINT)

    assert decided.strategy is RetryMethod.FRESH
    assert decided.fresh
    assert "conversation" not in decided.why.inputs


# ------------------------------------------------------------------ learning


LARGE_CURES = (
    *outcomes("large", FRESH, 40, 40),
    *outcomes("small", CONTINUED, 0, 40),
    *outcomes("small", FRESH, 0, 40),
)


@pytest.mark.spec("18.5")
def test_observe_chooses_nothing() -> None:
    decided = decide(a_try(agents=2, treatment_outcomes=LARGE_CURES))

    assert (decided.agent_index, decided.draw) == (0, None)


@pytest.mark.spec("18.5")
def test_choose_gives_the_next_try_to_the_agent_that_cures() -> None:
    task = a_try(learn=CHOOSE, agents=2, treatment_outcomes=LARGE_CURES)

    decided = decide(task)
    after = evolve(task, decided)

    assert decided.draw is not None
    assert decided.draw.chosen == "large fresh"
    assert [arm.name for arm in decided.draw.arms] == ["small continued", "large fresh"]
    assert (decided.agent_index, decided.fail_over) == (1, FailOverCause.LEARNED)
    assert (decided.conversation, decided.fresh) == (FRESH, False)
    assert decided.why.rule == "18.5"
    assert "learn: choose drew large fresh (" in decided.reasoning
    assert after.agent == CHAIN[1]
    assert after.other_agent_indices == (0,), "the agent that was left may return"
    assert "small (learned): 2 tests failed" in compose_prompt(after).text


@pytest.mark.spec("18.5")
def test_the_present_agent_may_be_drawn_again() -> None:
    small_cures = (*outcomes("small", CONTINUED, 40, 40), *outcomes("large", FRESH, 0, 40))

    decided = decide(a_try(learn=CHOOSE, agents=2, treatment_outcomes=small_cures))

    assert decided.draw is not None
    assert decided.draw.chosen == "small continued"
    assert (decided.agent_index, decided.fail_over) == (0, FailOverCause.NONE)
    assert decided.conversation is CONTINUED


@pytest.mark.spec("18.5")
def test_auto_and_choose_draw_the_conversation_of_one_agent() -> None:
    fresh_cures = (*outcomes("small", FRESH, 40, 40), *outcomes("small", CONTINUED, 0, 40))

    decided = decide(a_try(AUTO, CHOOSE, treatment_outcomes=fresh_cures))

    assert decided.draw is not None
    assert [arm.name for arm in decided.draw.arms] == ["small continued", "small fresh"]
    assert decided.conversation is FRESH


@pytest.mark.spec("18.5")
def test_with_one_arm_there_is_no_draw() -> None:
    decided = decide(a_try(learn=CHOOSE, treatment_outcomes=LARGE_CURES))

    assert (decided.draw, decided.conversation, decided.why.rule) == (None, CONTINUED, "5.1")


@pytest.mark.spec("18.5")
def test_the_draw_follows_from_the_outcomes_and_the_attempt() -> None:
    task = a_try(AUTO, CHOOSE, agents=3, treatment_outcomes=LARGE_CURES[30:90])

    draw = decide(task).draw

    assert draw is not None
    assert draw.seed == f"{task.run_id}/{task.id}/{task.attempt}"
    names = [arm.name for arm in draw.arms]
    assert names == ["small continued", "small fresh", "large fresh", "other fresh"]
    assert draw == draw_arm(names, LARGE_CURES[30:90], arm_of, "test-failed", draw.seed)
    assert decide(replace(task, attempt=task.attempt + 1)).draw != draw


@pytest.mark.spec("18.5")
def test_an_agent_with_a_closed_account_is_not_drawn() -> None:
    closed = {"large": NOW + timedelta(hours=1)}
    task = a_try(
        learn=CHOOSE, agents=3, treatment_outcomes=LARGE_CURES, closed_chain_accounts=closed
    )

    draw = decide(task).draw

    assert draw is not None
    assert [arm.name for arm in draw.arms] == ["small continued", "other fresh"]


@pytest.mark.spec("18.5")
def test_after_repeated_failures_one_of_the_others_is_drawn() -> None:
    task = replace(
        a_try(learn=CHOOSE, agents=3, treatment_outcomes=LARGE_CURES),
        feedback=TESTS,
        failed_work_digest="tree",
        same_work_failures=2,
    )

    decided = decide(task)

    assert decided.draw is not None
    assert [arm.name for arm in decided.draw.arms] == ["large fresh", "other fresh"]
    assert decided.strategy is RetryMethod.NEXT_AGENT
    assert decided.fail_over is FailOverCause.REPEATED_FAILURE
    assert decided.fresh


@pytest.mark.spec("18.5")
def test_learning_grants_no_further_retry() -> None:
    used = replace(
        a_try(learn=CHOOSE, agents=3, treatment_outcomes=LARGE_CURES).counts,
        failures={"QUALITY_FAILURE": 3},
    )
    task = replace(a_try(learn=CHOOSE, agents=3), counts=used)

    events = plan_retry_or_escalate(task, TESTS, ClockAndChance(NOW, 0.5), "tree")

    assert not any(isinstance(event, RetryDecided) for event in events)


@pytest.mark.spec("18.5")
def test_the_attempt_that_just_failed_counts_first() -> None:
    own = Treatment("test-failed", "", "small", CONTINUED)
    task = a_try(learn=CHOOSE, agents=2)
    task = replace(task, work=replace(task.work, treatment=own))

    again, other = decide(task).draw, decide(task, LINT).draw

    assert again is not None
    assert other is not None
    assert [(arm.cured, arm.failed) for arm in again.arms] == [(0.0, 1.0), (0.0, 0.0)]
    assert [(arm.cured, arm.failed) for arm in other.arms] == [(0.0, 0.0), (0.0, 0.0)]


@pytest.mark.spec("18.5")
def test_an_agent_with_several_accounts_is_one_arm() -> None:
    """With another account it would do the same; of another agent the first open account counts."""
    accounts = [an_agent("large", account=f"large/{name}") for name in ("a", "b", "c")]
    chain = (an_agent("small", account="small/a"), an_agent("small", account="small/b"), *accounts)
    task = a_try(
        learn=CHOOSE, treatment_outcomes=LARGE_CURES, closed_chain_accounts={"large/a": None}
    )
    task = replace(task, spec=replace(task.spec, agents=chain))

    decided = decide(task)

    assert decided.draw is not None
    assert {arm.name for arm in decided.draw.arms} == {"small continued", "large fresh"}
    assert chain[decided.agent_index].account == "large/b"
