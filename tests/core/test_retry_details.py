"""Every decision about a retry with its whole explanation: rule, numbers, words, what else."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import (
    HOUR,
    NOW,
    SECOND,
    a_failure,
    a_policy,
    a_spec,
    an_active_task,
    an_agent,
    an_exit,
)
from yaoki.core.decide.backoff import backoff_delay
from yaoki.core.decide.failure_response import (
    FAILURE_KINDS_MAX,
    ClockAndChance,
    escalate_without_rerun,
    plan_retry_or_escalate,
)
from yaoki.core.decide.failures import make_failure, make_fatal, make_fault
from yaoki.core.decide.retry import (
    blocked_reason,
    decide_retry,
    may_rerun,
)
from yaoki.core.decide.retry_decision import RetryAction, RetryDecision
from yaoki.core.machine.events import AwaitingRerun, EscalationDecided, Rationale, RetryDecided
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.model import (
    NO_CHANGE_CHECK,
    AttemptMode,
    Backoff,
    BackoffType,
    CheckSpec,
    Choice,
    Counts,
    EndCause,
    FailedCheck,
    Failure,
    FailureKind,
    Reason,
    RetryMethod,
    RetryRule,
    Spend,
    Stage,
    Task,
    TaskKind,
    Work,
)
from yaoki.core.model.outcome import CANNOT_START_PARAM, MISSING_PATH_PARAM
from yaoki.core.model.treatment import AttemptConversation
from yaoki.errors import FatalCode

pytestmark = pytest.mark.spec("0.5", "5.1")

RETRY, ESCALATE = RetryAction.RETRY, RetryAction.ESCALATE
QUALITY, INCOMPLETE = FailureKind.QUALITY_FAILURE, FailureKind.INCOMPLETE
MOMENT = ClockAndChance(NOW, 0.5)


def counted(**given: Any) -> Task:
    return an_active_task(Stage.VERIFY, counts=Counts(**given))


def described(decision: RetryDecision) -> tuple[Any, ...]:
    return (
        decision.action,
        decision.tries,
        decision.tries_max,
        decision.rule,
        decision.reasoning,
        decision.otherwise,
    )


NO_CHANGE = a_failure(INCOMPLETE, check="no-change")
NO_SCRIPT = a_failure(QUALITY, check="c", params={CANNOT_START_PARAM: True})
NO_PATH = a_failure(QUALITY, check="c", params={MISSING_PATH_PARAM: "tests/tset.py"})
WIDE = a_policy(rules={kind: RetryRule(50) for kind in FailureKind})


@pytest.mark.parametrize(
    ("task", "failure", "expected"),
    [
        (
            counted(failures={"FATAL_ERROR": 2}),
            a_failure(FailureKind.FATAL_ERROR),
            (ESCALATE, 2, 0, "4.1", "FATAL_ERROR is not retryable", "nothing: a person decides"),
        ),
        (
            counted(failures={"QUALITY_FAILURE": 1}),
            a_failure(retry_safe=False),
            (
                *(ESCALATE, 1, 3, "5.7", "the failure was reported as not safe to retry"),
                "a report without retry_safe: false",
            ),
        ),
        (
            an_active_task(Stage.VERIFY, mode=AttemptMode.TAKEN_OVER),
            a_failure(),
            (
                *(ESCALATE, 0, 3, "10.4", "a person took the task over and the work did not pass"),
                "work that passes its checks",
            ),
        ),
        (
            replace(counted(failures={"INCOMPLETE": 1}), feedback=NO_CHANGE),
            NO_CHANGE,
            (
                *(ESCALATE, 1, 3, "3.5"),
                "the agent changed nothing again, and its checks pass without a change",
                "a change, or may_change_nothing: true",
            ),
        ),
        (
            replace(counted(failures={"QUALITY_FAILURE": 1}), feedback=NO_SCRIPT),
            NO_SCRIPT,
            (
                *(ESCALATE, 1, 3, "4.6"),
                "the program of check c could not start, for the second time",
                "a check that can start",
            ),
        ),
        (
            replace(counted(failures={"QUALITY_FAILURE": 1}), feedback=NO_PATH),
            NO_PATH,
            (
                *(ESCALATE, 1, 3, "4.6"),
                "check c names tests/tset.py, which does not exist, for the second time",
                "work that creates tests/tset.py, or another check",
            ),
        ),
        (
            replace(
                counted(failures={"QUALITY_FAILURE": 1}),
                feedback=NO_PATH,
                work=Work(attempt_file_count=1),
            ),
            NO_PATH,
            (
                *(ESCALATE, 1, 3, "4.6"),
                "check c names tests/tset.py, which does not exist, for the second time",
                "a check that can start",
            ),
        ),
        (
            an_active_task(Stage.VERIFY, spec=a_spec(kind=TaskKind.CHECK)),
            a_failure(),
            (
                *(ESCALATE, 0, 3, "6.5", "the same commit fails, and no agent works on it"),
                "another commit, or another check",
            ),
        ),
        (
            an_active_task(Stage.VERIFY, spec=a_spec(kind=TaskKind.GROUP)),
            a_failure(),
            (
                *(ESCALATE, 0, 3, "6.5", "the same commit fails, and no agent works on it"),
                "another commit, or another check",
            ),
        ),
        (
            an_active_task(
                Stage.VERIFY,
                mode=AttemptMode.RERUN,
                counts=Counts(failures={"QUALITY_FAILURE": 2}),
            ),
            a_failure(),
            (
                *(ESCALATE, 2, 3, "8.4", "the one re-run from the run branch failed as well"),
                "work that passes its checks on the run branch",
            ),
        ),
        (
            counted(failures={"QUALITY_FAILURE": 3}),
            a_failure(),
            (
                *(ESCALATE, 3, 3, "5.1", "retries for QUALITY_FAILURE: 3 of 3 used"),
                "max_retries above 3",
            ),
        ),
        (
            # The fourth used no retry: the one re-run followed it, and its landing was reverted.
            counted(failures={"QUALITY_FAILURE": 4}),
            a_failure(),
            (
                *(ESCALATE, 3, 3, "5.1", "retries for QUALITY_FAILURE: 3 of 3 used"),
                "max_retries above 3",
            ),
        ),
        (
            counted(failures={"CONFLICT": 2}),
            a_failure(FailureKind.CONFLICT),
            (
                *(ESCALATE, 2, 2, "5.1"),
                "retries for CONFLICT: 2 of 2 used; a conflict gets no re-run from the run branch",
                "max_retries above 2",
            ),
        ),
        (
            counted(failures={"QUALITY_FAILURE": 2, "INCOMPLETE": 1}),
            a_failure(),
            (
                *(ESCALATE, 3, 3, "5.1"),
                "retries for all kinds of content failures: 3 of 3 used",
                "max_retries above 3",
            ),
        ),
        (
            an_active_task(
                Stage.VERIFY,
                spec=a_spec(policy=replace(WIDE, content_retries_max=1)),
                counts=Counts(failures={"INCOMPLETE": 1}),
            ),
            a_failure(),
            (
                *(ESCALATE, 1, 1, "5.1"),
                "retries for all kinds of content failures: 1 of 1 used",
                "max_retries above 1",
            ),
        ),
        (
            an_active_task(
                Stage.VERIFY, spec=a_spec(policy=WIDE), counts=Counts(failures={"RATE_LIMIT": 11})
            ),
            a_failure(FailureKind.TRANSIENT_ERROR),
            (
                *(ESCALATE, 0, 12, "5.1", "12 failed attempts in total; 12 allowed"),
                "retry.max_total_attempts above 12",
            ),
        ),
        (
            an_active_task(
                Stage.VERIFY, spec=a_spec(policy=WIDE), counts=Counts(failures={"RATE_LIMIT": 11})
            ),
            a_failure(FailureKind.LOST),
            (
                *(RETRY, 0, 50, "3.7", "retry 1 of 50 for LOST, in 1 s (exponential backoff)"),
                "a person would be asked after more than 50 retries for LOST",
            ),
        ),
        (
            counted(),
            a_failure(INCOMPLETE),
            (
                *(RETRY, 0, 3, "5.1", "retry 1 of 3 for INCOMPLETE, in 1 s (exponential backoff)"),
                "a person would be asked after more than 3 retries for INCOMPLETE; "
                "the same failure with the same work would lead to a fresh worktree",
            ),
        ),
        (
            counted(failures={"TIMEOUT": 1}),
            a_failure(FailureKind.TIMEOUT),
            (
                *(RETRY, 1, 2, "5.1", "retry 2 of 2 for TIMEOUT, in 5 s (fixed backoff)"),
                "a person would be asked after more than 2 retries for TIMEOUT; "
                "the same failure with the same work would lead to a fresh worktree",
            ),
        ),
        (
            counted(),
            a_failure(FailureKind.RATE_LIMIT, retry_after=90 * SECOND),
            (
                *(RETRY, 0, 5, "5.1", "retry 1 of 5 for RATE_LIMIT, in 1 min 30 s (Retry-After)"),
                "a person would be asked after more than 5 retries for RATE_LIMIT",
            ),
        ),
        (
            counted(),
            a_failure(FailureKind.RATE_LIMIT, retry_after=7 * HOUR),
            (
                *(RETRY, 0, 5, "5.4", "retry 1 of 5 for RATE_LIMIT, in 7 h (Retry-After)"),
                "a person would be asked after more than 5 retries for RATE_LIMIT",
            ),
        ),
        (
            counted(),
            a_failure(FailureKind.RATE_LIMIT, retry_after=timedelta(days=32)),
            (
                *(RETRY, 0, 5, "5.4"),
                "retry 1 of 5 for RATE_LIMIT, in 31 d (Retry-After, cut to 31 days)",
                "a person would be asked after more than 5 retries for RATE_LIMIT",
            ),
        ),
    ],
)
def test_each_rule_explains_its_decision(
    task: Task, failure: Failure, expected: tuple[Any, ...]
) -> None:
    assert described(decide_retry(task, failure, 1, 0.5)) == expected


@pytest.mark.spec("10.6")
@pytest.mark.parametrize(
    ("budget", "spend", "words", "otherwise"),
    [
        (
            {"money": 2.0},
            Spend(money=2.5),
            "the task used $2.50 of its $2.00",
            "a larger budget (money)",
        ),
        (
            {"money": 2.0},
            Spend(money=2.0),
            "the task used $2.00 of its $2.00",
            "a larger budget (money)",
        ),
        (
            {"tokens": 9.0},
            Spend(tokens=10),
            "the task used 10 of its 9 tokens",
            "a larger budget (tokens)",
        ),
        (
            {"seconds": 9.0},
            Spend(seconds=9),
            "the task used 9 s of its 9 s of work",
            "a larger budget (seconds)",
        ),
    ],
)
def test_a_used_up_budget_ends_the_retries(
    budget: dict[str, float], spend: Spend, words: str, otherwise: str
) -> None:
    task = an_active_task(
        Stage.VERIFY,
        spec=a_spec(budget=budget),
        spend=spend,
        counts=Counts(failures={"QUALITY_FAILURE": 1}),
    )

    decision = decide_retry(task, a_failure(), 1, 0.5)

    assert described(decision) == (ESCALATE, 1, 3, "10.6", words, otherwise)
    assert decision.reason is Reason.RESOURCE_EXHAUSTED
    below = replace(task, forgiven_spend=spend)
    assert decide_retry(below, a_failure(), 1, 0.5).action is RETRY


@pytest.mark.spec("4.6")
def test_identical_failures_end_the_retries_after_the_last_agent() -> None:
    one = counted(failures={"QUALITY_FAILURE": 1})
    two = replace(one, spec=a_spec(agents=(an_agent("small"), an_agent("large"))))

    again = [decide_retry(one, a_failure(), same, 0.5) for same in (1, 2, 3)]
    other = decide_retry(two, a_failure(), 3, 0.5)

    assert [each.strategy for each in again[:2]] == [RetryMethod.CONTINUE, RetryMethod.FRESH]
    assert again[1].otherwise.endswith(
        "the same failure with the same work would lead to a question to a person"
    )
    assert (again[1].rule, other.rule) == ("4.6", "18.1")
    assert described(again[2]) == (
        *(ESCALATE, 1, 3, "4.6"),
        "the same failure 3 times in a row with the same work, and no other agent",
        "another failure, other work, or another agent",
    )
    assert (other.action, other.strategy) == (RETRY, RetryMethod.NEXT_AGENT)
    assert decide_retry(two, a_failure(), 2, 0.5).otherwise.endswith("lead to the next agent")


@pytest.mark.spec("4.8")
def test_a_repeated_stage_after_a_system_fault_is_explained() -> None:
    fault = make_fault("the disk is full", transient=True)
    task = counted(faults=2)
    most = task.spec.policy.faults_max

    decision = decide_retry(task, fault, 1, 0.5)

    assert described(decision) == (
        *(RETRY, 2, most, "4.8"),
        f"VERIFY failed in yaoki's own infrastructure; repeat 3/{most}",
        f"a person would be asked after more than {most} such faults in all",
    )
    assert (decision.strategy, decision.delay) == (RetryMethod.SAME_STAGE, 4 * SECOND)
    assert decide_retry(replace(task, forgiven_counts=Counts(faults=2)), fault, 1, 0.5).tries == 0


@pytest.mark.spec("4.8")
def test_too_many_system_faults_are_escalated() -> None:
    most = a_policy().faults_max
    decision = decide_retry(counted(faults=most), make_fault("disk", transient=True), 1, 0.5)

    assert described(decision) == (
        *(ESCALATE, most, most, "4.8"),
        f"yaoki's own infrastructure failed {most + 1} times; {most} repeats allowed",
        "fewer such faults since a person last answered",
    )
    assert decision.reason is Reason.SYSTEM_ERROR_TRANSIENT


@pytest.mark.spec("4.8", "4.7")
def test_a_permanent_system_fault_is_escalated_at_once() -> None:
    fault = make_fault("no bash", transient=False)

    assert described(decide_retry(counted(faults=1), fault, 1, 0.5)) == (
        *(
            ESCALATE,
            1,
            0,
            "4.2",
            "no retry can fix it (RESOURCE_NOT_FOUND)",
            "the cause is fixed first",
        ),
    )


# ------------------------------------------------------------------ re-runs


@pytest.mark.spec("8.4")
@pytest.mark.parametrize(
    ("given", "spec", "failure", "blocked", "allowed"),
    [
        ({}, {}, {}, Reason.MAX_RETRIES, True),
        ({}, {}, {}, Reason.SYSTEM_ERROR_TRANSIENT, True),
        ({}, {}, {}, Reason.CONFLICT, False),
        ({}, {}, {}, Reason.MAX_RETRIES_INTEGRATION, False),
        ({}, {}, {"code": FatalCode.UNDELIVERED}, Reason.MAX_RETRIES, False),
        ({}, {}, {"retry_safe": False}, Reason.MAX_RETRIES, False),
        ({"mode": AttemptMode.TAKEN_OVER}, {}, {}, Reason.MAX_RETRIES, False),
        ({"counts": Counts(reruns=1)}, {}, {}, Reason.MAX_RETRIES, False),
        ({}, {"kind": TaskKind.REPORT}, {}, Reason.MAX_RETRIES, True),
        ({}, {"kind": TaskKind.CHECK}, {}, Reason.MAX_RETRIES, False),
        ({}, {"kind": TaskKind.PLAN}, {}, Reason.MAX_RETRIES, False),
        ({"parent": "run00001-9", "counts": Counts(reruns=1)}, {}, {}, Reason.MAX_RETRIES, True),
        ({"parent": "run00001-9"}, {}, {}, Reason.MAX_RETRIES_INTEGRATION, True),
        ({"parent": "run00001-9"}, {}, {}, Reason.NEEDS_HUMAN, False),
        ({}, {"defers_escalation": True}, {}, Reason.MAX_RETRIES_INTEGRATION, True),
    ],
)
def test_only_eligible_tasks_may_be_rerun(
    given: dict[str, Any],
    spec: dict[str, Any],
    failure: dict[str, Any],
    blocked: Reason,
    allowed: bool,
) -> None:
    task = an_active_task(Stage.VERIFY, spec=a_spec(**spec), **given)

    assert may_rerun(task, a_failure(**failure), blocked) is allowed


@pytest.mark.spec("8.4", "1.3")
def test_a_failure_after_the_rerun_is_an_integration_failure() -> None:
    decision = decide_retry(counted(failures={"QUALITY_FAILURE": 3}), a_failure(), 1, 0.5)
    ours = make_fault("disk", transient=True)

    assert blocked_reason(counted(), a_failure(), decision) is Reason.MAX_RETRIES
    rerun = counted(reruns=1)
    assert blocked_reason(rerun, a_failure(), decision) is Reason.MAX_RETRIES_INTEGRATION
    assert blocked_reason(rerun, ours, decision) is Reason.MAX_RETRIES
    conflict = replace(decision, reason=Reason.CONFLICT)
    assert blocked_reason(rerun, a_failure(), conflict) is Reason.CONFLICT
    assert blocked_reason(counted(), a_failure(), replace(decision, reason=None)) is Reason.UNKNOWN


# ------------------------------------------------------------------ the events


def inputs(failure: Failure, **given: Any) -> dict[str, Any]:
    return {
        "kind": failure.kind.value,
        "pattern": failure.pattern,
        "count": 0,
        "maximum": 3,
        "content_failures": 0,
        "content_retries_max": 3,
        "total": 0,
        "max_total_attempts": 12,
        "same_failure_in_a_row": 1,
        "same_fingerprint_in_a_row": 1,
        "fingerprint": failure.fingerprint,
        "delay_s": 1.0,
        "retry_after_s": None,
        **given,
    }


def test_a_retry_is_recorded_with_all_its_numbers() -> None:
    failure = make_failure(QUALITY, "2 tests failed", pattern="test-failed", check="tests")
    task = an_active_task(Stage.VERIFY, counts=Counts(failures={"INCOMPLETE": 1}))
    task = replace(task, failure_kinds=("INCOMPLETE",))

    events = plan_retry_or_escalate(task, failure, MOMENT, "tree1")

    words = "retry 1 of 3 for QUALITY_FAILURE, in 1 s (exponential backoff)"
    otherwise = (
        "a person would be asked after more than 3 retries for QUALITY_FAILURE; "
        "the same failure with the same work would lead to a fresh worktree"
    )
    numbers = inputs(failure, content_failures=1, total=1, reasoning=words)
    assert events == (
        RetryDecided(
            failure=failure,
            stage=Stage.PREPARE,
            due_at=NOW + SECOND,
            current_retry_count=0,
            max_retries=3,
            delay_ms=1000,
            reasoning=words,
            modification_hint="The work does not pass its checks. Fix exactly what failed.",
            strategy=RetryMethod.CONTINUE,
            fresh=False,
            agent_index=0,
            same_work_failures=1,
            same_fingerprint_failures=1,
            work_digest="tree1",
            failure_kinds=("INCOMPLETE", "QUALITY_FAILURE"),
            failure_type="QUALITY_FAILURE",
            conversation=AttemptConversation.CONTINUED,
            why=Rationale("5.1", numbers, (otherwise,)),
        ),
    )


@pytest.mark.spec("5.2", "4.6")
def test_the_next_agent_starts_with_a_fresh_worktree_and_count() -> None:
    failure = a_failure()
    task = an_active_task(
        Stage.VERIFY,
        spec=a_spec(agents=(an_agent("small"), an_agent("large"))),
        feedback=failure,
        same_work_failures=2,
        same_fingerprint_failures=2,
        failed_work_digest="tree1",
    )

    (event,) = plan_retry_or_escalate(task, failure, MOMENT, "tree1")

    assert isinstance(event, RetryDecided)
    assert (event.strategy, event.fresh, event.agent_index) == (RetryMethod.NEXT_AGENT, True, 1)
    assert (event.same_work_failures, event.same_fingerprint_failures) == (3, 0)
    assert event.why.inputs["same_failure_in_a_row"] == 3
    assert event.why.inputs["same_fingerprint_in_a_row"] == 3


@pytest.mark.spec("4.8", "5.4")
def test_a_system_fault_and_a_limited_judge_repeat_the_stage() -> None:
    task = an_active_task(Stage.VERIFY, failure_kinds=("LOST",))
    fault = make_fault("disk", transient=True)
    limited = a_failure(FailureKind.RATE_LIMIT, account="judge", retry_after=2 * SECOND)

    (ours,) = plan_retry_or_escalate(task, fault, MOMENT)
    (judge,) = plan_retry_or_escalate(task, limited, MOMENT)

    assert isinstance(ours, RetryDecided)
    assert isinstance(judge, RetryDecided)
    assert (ours.stage, ours.failure_kinds) == (Stage.VERIFY, ("LOST",))
    assert (judge.stage, judge.failure_kinds) == (Stage.VERIFY, ("LOST", "RATE_LIMIT"))
    assert (judge.delay_ms, judge.due_at) == (2000, NOW + 2 * SECOND)
    assert judge.why.inputs["retry_after_s"] == 2.0


@pytest.mark.spec("0.4")
def test_the_list_of_failed_attempts_is_bounded() -> None:
    task = an_active_task(Stage.VERIFY, failure_kinds=("LOST",) * FAILURE_KINDS_MAX)

    (event,) = plan_retry_or_escalate(task, a_failure(), MOMENT)

    assert isinstance(event, RetryDecided)
    assert len(event.failure_kinds) == FAILURE_KINDS_MAX
    assert event.failure_kinds[-2:] == ("LOST", "QUALITY_FAILURE")


@pytest.mark.spec("4.5")
@pytest.mark.parametrize(
    ("kind", "ended_by", "added"),
    [
        (FailureKind.TIMEOUT, EndCause.DEADLINE, {"timeoutSeconds": 1800}),
        (FailureKind.TIMEOUT, EndCause.HANG, {}),
        (QUALITY, EndCause.DEADLINE, {}),
    ],
)
def test_a_failure_at_the_deadline_names_the_timeout(
    kind: FailureKind, ended_by: EndCause, added: dict[str, int]
) -> None:
    task = an_active_task(Stage.VERIFY, spec=a_spec(timeout=timedelta(minutes=30)))
    task = replace(task, work=replace(task.work, exit=an_exit(ended_by=ended_by)))

    (event,) = plan_retry_or_escalate(task, a_failure(kind, params={"a": 1}), MOMENT)

    assert isinstance(event, RetryDecided)
    assert event.failure.params == {"a": 1, **added}


@pytest.mark.spec("8.4")
def test_a_task_that_awaits_its_rerun_records_its_complete_failure() -> None:
    failure = a_failure()
    task = an_active_task(Stage.VERIFY, counts=Counts(failures={"QUALITY_FAILURE": 3}))

    words = "retries for QUALITY_FAILURE: 3 of 3 used"
    numbers = inputs(failure, count=3, content_failures=3, total=3, delay_s=0.0, reasoning=words)
    assert plan_retry_or_escalate(task, failure, MOMENT, "tree1") == (
        AwaitingRerun(
            failure=failure,
            blocked=Reason.MAX_RETRIES,
            stage=Stage.PREPARE,
            same_work_failures=1,
            same_fingerprint_failures=1,
            work_digest="tree1",
            failure_kinds=("QUALITY_FAILURE",),
            current_retry_count=3,
            max_retries=3,
            why=Rationale(
                "5.1",
                numbers,
                ("max_retries above 3", "a re-run follows if other tasks land (rule 8.4)"),
            ),
        ),
    )


@pytest.mark.spec("10.3")
def test_an_escalation_records_its_complete_failure() -> None:
    failure = make_failure(FailureKind.ESCALATE_REQUIRED, "Which port?")

    decided, message = plan_retry_or_escalate(an_active_task(Stage.WORK), failure, MOMENT, "tree1")

    assert isinstance(decided, EscalationDecided)
    assert (decided.failure, decided.blocked) == (failure, Reason.NEEDS_HUMAN)
    assert decided.reason == {
        "type": "HUMAN_JUDGMENT",
        "description": "ESCALATE_REQUIRED is not retryable",
    }
    assert decided.failure_summary == {
        "total_attempts": 1,
        "failure_types": ["ESCALATE_REQUIRED"],
        "last_failure": {
            "type": "ESCALATE_REQUIRED",
            "message": "Which port?",
            "timestamp": NOW.isoformat(),
        },
    }
    assert decided.question.text == "Which port?"
    assert decided.question.choices == (Choice.RETRY, Choice.DONE, Choice.ABORT)
    assert (decided.stage, decided.work_digest) == (Stage.PREPARE, "tree1")
    assert (decided.same_work_failures, decided.same_fingerprint_failures) == (1, 1)
    assert decided.failure_kinds == ("ESCALATE_REQUIRED",)
    assert (decided.current_retry_count, decided.max_retries) == (0, 0)
    assert (decided.why.rule, decided.why.otherwise) == ("4.1", ("nothing: a person decides",))
    assert message == JournalNote(
        "ESCALATE_EXECUTED",
        {
            "user_message": "login: needs your judgment.\nReason: Which port?\n"
            "What you can do:\n"
            '- yaoki answer run00001-1 retry "words for the agent"\n'
            "- work in /w/login, then: yaoki answer run00001-1 done\n"
            "- yaoki answer run00001-1 abort\n"
            "Details: yaoki why run00001-1",
            "recommended_actions": [
                'yaoki answer run00001-1 retry "words for the agent"',
                "work in /w/login, then: yaoki answer run00001-1 done",
                "yaoki answer run00001-1 abort",
            ],
        },
    )


@pytest.mark.spec("11.4")
def test_a_dead_letter_is_recorded_before_its_question() -> None:
    failure = replace(make_fatal(FatalCode.UNDELIVERED, "delivered 5 times", is_our_fault=True))
    task = counted(deliveries=5)

    events = plan_retry_or_escalate(task, failure, MOMENT)

    assert events[0] == JournalNote(
        "DEAD_LETTERED", {"deliveries": 5, "message": "delivered 5 times"}
    )
    assert [type(event) for event in events[1:]] == [EscalationDecided, JournalNote]


@pytest.mark.spec("8.4", "8.3")
@pytest.mark.parametrize(
    ("parent", "rule", "words", "otherwise"),
    [
        (
            "",
            "8.4",
            "nothing landed, so there is no re-run from the run branch",
            "another task's landing since this one began",
        ),
        (
            "run00001-7",
            "8.3",
            "nothing landed",
            "work that passes its checks, or its group landing without it",
        ),
    ],
)
def test_a_task_without_a_rerun_is_escalated(
    parent: str, rule: str, words: str, otherwise: str
) -> None:
    task = an_active_task(
        Stage.VERIFY,
        parent=parent,
        failure=a_failure(),
        reason=Reason.MAX_RETRIES,
        counts=Counts(failures={"QUALITY_FAILURE": 4}),
        failure_kinds=("QUALITY_FAILURE",) * 4,
        failed_work_digest="tree9",
        same_work_failures=2,
        same_fingerprint_failures=3,
    )

    decided = escalate_without_rerun(task, "nothing landed", MOMENT)[0]

    assert isinstance(decided, EscalationDecided)
    assert decided.blocked is Reason.MAX_RETRIES
    assert decided.reason == {"type": "MAX_RETRIES", "description": words}
    assert (decided.current_retry_count, decided.max_retries) == (3, 3)
    assert (decided.why.rule, decided.why.otherwise) == (rule, (otherwise,))
    assert (decided.same_work_failures, decided.same_fingerprint_failures) == (2, 3)
    assert (decided.work_digest, decided.stage) == ("tree9", Stage.PREPARE)
    assert decided.failure_kinds == task.failure_kinds
    assert decided.why.inputs["same_failure_in_a_row"] == 2


@pytest.mark.spec("4.6", "8.4")
@pytest.mark.parametrize(
    ("same_work", "failures", "is_futile"),
    [
        (3, {"QUALITY_FAILURE": 3}, True),
        (2, {"QUALITY_FAILURE": 3}, False),
        (3, {"QUALITY_FAILURE": 4}, False),
        (3, {"QUALITY_FAILURE": 3, "INCOMPLETE": 1}, False),
        (3, {"QUALITY_FAILURE": 3, "TRANSIENT_ERROR": 9}, False),
    ],
)
def test_the_question_after_futile_attempts_names_them_unless_a_limit_was_reached(
    same_work: int, failures: dict[str, int], is_futile: bool
) -> None:
    task = an_active_task(
        Stage.VERIFY,
        failure=a_failure(),
        same_work_failures=same_work,
        counts=Counts(failures=failures),
    )

    decided = escalate_without_rerun(task, "nothing landed", MOMENT)[0]

    assert isinstance(decided, EscalationDecided)
    words = "the same failure 3 times in a row with the same work, and no other agent"
    assert decided.why.inputs.get("retries_ended") == (words if is_futile else None)


def test_a_failure_kind_without_retries_counts_zero() -> None:
    task = an_active_task(Stage.VERIFY, failure=a_failure(FailureKind.FATAL_ERROR))

    decided = escalate_without_rerun(task, "nothing landed", MOMENT)[0]

    assert isinstance(decided, EscalationDecided)
    assert (decided.current_retry_count, decided.max_retries) == (0, 0)
    assert decided.blocked is Reason.UNKNOWN


# ------------------------------------------------------------------ waits


@pytest.mark.spec("5.3")
@pytest.mark.parametrize(("chance", "seconds"), [(0.0, 8.0), (0.5, 10.0), (0.75, 11.0)])
def test_jitter_makes_a_wait_shorter_or_longer(chance: float, seconds: float) -> None:
    backoff = Backoff(BackoffType.LINEAR, 5 * SECOND, 2.0, 60 * SECOND, 0.2)

    assert backoff_delay(backoff, 2, chance) == timedelta(seconds=seconds)
    fixed = replace(backoff, type=BackoffType.FIXED)
    assert backoff_delay(fixed, 3, 0.5) == 5 * SECOND


@pytest.mark.spec("4.8", "5.3")
def test_a_system_fault_waits_like_a_transient_error() -> None:
    slow = Backoff(BackoffType.FIXED, 9 * SECOND, 2.0, 9 * SECOND, 0.0)
    policy = a_policy(rules={FailureKind.TRANSIENT_ERROR: RetryRule(1, slow)})
    fault = make_fault("disk", transient=True)

    waits = [
        decide_retry(an_active_task(Stage.VERIFY, spec=a_spec(policy=each)), fault, 1, 0.5)
        for each in (policy, a_policy(rules={}))
    ]

    assert [each.delay for each in waits] == [9 * SECOND, Backoff().initial]
    assert waits[0].kind is FailureKind.TRANSIENT_ERROR


@pytest.mark.spec("3.5")
@pytest.mark.parametrize(
    ("before", "now", "rule"),
    [("no-change", "no-change", "3.5"), ("no-change", "", "5.1"), ("", "no-change", "5.1")],
)
def test_two_consecutive_attempts_without_changes_are_escalated(
    before: str, now: str, rule: str
) -> None:
    task = replace(counted(), feedback=a_failure(INCOMPLETE, check=before))

    decision = decide_retry(task, a_failure(INCOMPLETE, check=now), 1, 0.5)

    assert (decision.rule, decision.kind) == (rule, INCOMPLETE)


@pytest.mark.spec("5.6")
def test_a_hint_of_the_settings_is_sent_to_the_agent() -> None:
    task = an_active_task(Stage.VERIFY, spec=a_spec(policy=a_policy(hints={QUALITY: "look again"})))

    (event,) = plan_retry_or_escalate(task, a_failure(), MOMENT)

    assert isinstance(event, RetryDecided)
    assert event.modification_hint == "look again"
    forgiven = replace(task, counts=Counts(failures={"QUALITY_FAILURE": 2}))
    forgiven = replace(forgiven, forgiven_counts=forgiven.counts)
    (again,) = plan_retry_or_escalate(forgiven, a_failure(), ClockAndChance(NOW, 0.0))
    assert isinstance(again, RetryDecided)
    assert (again.why.inputs["content_failures"], again.delay_ms) == (0, 900)


@pytest.mark.spec("4.5")
def test_a_timeout_without_an_exit_names_no_number() -> None:
    (event,) = plan_retry_or_escalate(
        an_active_task(Stage.VERIFY), a_failure(FailureKind.TIMEOUT), MOMENT
    )

    assert isinstance(event, RetryDecided)
    assert event.failure.params == {}


@pytest.mark.spec("4.6")
@pytest.mark.parametrize(
    ("before", "failure"),
    [
        (None, NO_SCRIPT),
        (None, NO_PATH),
        (replace(NO_SCRIPT, fingerprint="another"), NO_SCRIPT),
        (replace(NO_SCRIPT, params={}), replace(NO_SCRIPT, params={})),
        (
            NO_SCRIPT,
            replace(
                NO_SCRIPT,
                failed_checks=(
                    FailedCheck("c", "", params={CANNOT_START_PARAM: True}),
                    FailedCheck("d", ""),
                ),
            ),
        ),
    ],
    ids=["first", "first path", "other words", "it ran", "another check ran"],
)
def test_only_a_check_that_cannot_start_twice_ends_the_retries_early(
    before: Failure | None, failure: Failure
) -> None:
    task = replace(counted(failures={"QUALITY_FAILURE": 1}), feedback=before)

    assert decide_retry(task, failure, 1, 0.5).action is RETRY


@pytest.mark.spec("10.4")
def test_what_a_person_took_over_is_not_called_out_of_retries() -> None:
    task = an_active_task(Stage.VERIFY, mode=AttemptMode.TAKEN_OVER)

    assert decide_retry(task, a_failure(), 1, 0.5).reason is Reason.NEEDS_HUMAN
    conflict = a_failure(FailureKind.CONFLICT)
    assert decide_retry(task, conflict, 1, 0.5).reason is Reason.CONFLICT


def waived_task(**given: Any) -> Task:
    """Its work is the one for which a person waived the check `slow`."""
    task = an_active_task(Stage.VERIFY, waivers=("slow", "lint"), **given)
    return replace(task, work=replace(task.work, diff_digest="diff"), waived_work="diff")


@pytest.mark.spec("10.4")
def test_another_failure_of_waived_work_asks_a_person() -> None:
    decision = decide_retry(waived_task(), a_failure(QUALITY, check="unit"), 1, 0.5)

    assert (decision.action, decision.kind, decision.rule) == (ESCALATE, QUALITY, "10.4")
    assert (decision.tries, decision.tries_max) == (0, 3)
    assert decision.reasoning == "a person waived slow, lint for this work; another check fails"
    assert decision.otherwise == "no failure besides the waived ones"
    assert decision.reason is Reason.NEEDS_HUMAN
    assert not may_rerun(waived_task(), a_failure(QUALITY, check="unit"), decision.reason)


@pytest.mark.spec("10.4")
@pytest.mark.parametrize(
    ("task", "failure"),
    [
        (waived_task(), a_failure(FailureKind.CONFLICT, check="unit")),
        (waived_task(), a_failure(QUALITY, check="")),
        (replace(waived_task(), waived_work=""), a_failure(QUALITY, check="unit")),
    ],
    ids=["conflict", "no check", "other work"],
)
def test_what_does_not_concern_waived_work_is_retried(task: Task, failure: Failure) -> None:
    assert decide_retry(task, failure, 1, 0.5).action is RETRY


@pytest.mark.spec("10.4")
def test_a_check_that_fails_since_waived_landed_work_asks_a_person() -> None:
    failure = a_failure(QUALITY, check="unit", params={"waivedFor": ["other"]})

    decision = decide_retry(an_active_task(Stage.VERIFY), failure, 1, 0.5)

    assert (decision.action, decision.kind, decision.rule) == (ESCALATE, QUALITY, "10.4")
    assert (decision.tries, decision.tries_max) == (0, 3)
    reasoning = "the check has failed since the landing of work for which a person waived it"
    assert decision.reasoning == reasoning
    assert decision.otherwise == "a test report, which distinguishes waived failures from new ones"


@pytest.mark.spec("3.5")
@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, "its checks pass without a change"),
        (
            {"waivedChecks": ["slow"]},
            "its checks pass without a change, except slow, which was waived",
        ),
    ],
)
def test_an_agent_that_changes_nothing_twice_is_not_called_again(
    params: dict[str, Any], words: str
) -> None:
    failure = a_failure(QUALITY, check=NO_CHANGE_CHECK, params=params)
    spec = a_spec(checks=(CheckSpec("unit", argv=("true",)), CheckSpec("slow", argv=("true",))))
    task = an_active_task(Stage.VERIFY, spec=spec, feedback=failure)

    decision = decide_retry(task, failure, 1, 0.5)

    assert (decision.action, decision.rule) == (ESCALATE, "3.5")
    assert decision.reasoning == f"the agent changed nothing again, and {words}"
