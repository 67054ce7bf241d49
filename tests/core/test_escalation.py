"""Escalation messages: short, with the next command."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW, a_failure, a_policy, a_spec, an_active_task
from yaoki.core.decide.escalation import (
    EscalationReport,
    build_escalation,
    retry_hint,
)
from yaoki.core.decide.failure_response import ClockAndChance, plan_retry_or_escalate
from yaoki.core.decide.failures import FATAL_CATALOGUE, make_fatal
from yaoki.core.decide.retry import decide_retry
from yaoki.core.machine.events import EscalationDecided
from yaoki.core.model import (
    AgentExit,
    Choice,
    Counts,
    Failure,
    FailureKind,
    Reason,
    Stage,
    Task,
    Work,
)
from yaoki.errors import FatalCode

TYPES = {
    "MAX_RETRIES": Reason.MAX_RETRIES,
    "FATAL_ERROR": Reason.SYSTEM_ERROR_PERMANENT,
    "HUMAN_JUDGMENT": Reason.NEEDS_HUMAN,
    "RESOURCE_EXHAUSTED": Reason.RESOURCE_EXHAUSTED,
}


def escalation_of(task: Task, failure: Failure, blocked: Reason) -> EscalationReport:
    return build_escalation(
        task, failure, blocked, decide_retry(task, failure, 1, 0.5), NOW, task.failure_kinds
    )


def a_stuck_task(name: str = "login", language: str = "en", worktree: str = "/w/login") -> Task:
    return an_active_task(
        Stage.VERIFY,
        spec=a_spec(name, language=language),
        attempt=4,
        work=Work(head="head", worktree=worktree),
        counts=Counts(failures={"QUALITY_FAILURE": 3}),
        failure_kinds=("TIMEOUT", "QUALITY_FAILURE", "TIMEOUT"),
    )


@pytest.mark.spec("10.3", "1.3")
@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_an_escalation_type(reason: Reason) -> None:
    assert escalation_of(a_stuck_task(), a_failure(), reason).type in TYPES


@pytest.mark.spec("10.3")
@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("type_", TYPES)
def test_the_message_has_task_problem_and_next_command(type_: str, language: str) -> None:
    task = a_stuck_task(language=language)

    said = escalation_of(task, a_failure(message="test_login failed"), TYPES[type_])

    assert said.type == type_
    assert len(said.message) <= 500
    assert said.message.startswith("login: ")
    assert "test_login failed" in said.message
    assert f"yaoki answer {task.id} retry" in said.message
    assert f"yaoki why {task.id}" in said.message


@pytest.mark.spec("10.3")
@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("reason", TYPES.values())
@given(
    name=st.text(min_size=1, max_size=300),
    message=st.text(max_size=2000),
    check=st.text(max_size=300),
    worktree=st.text(max_size=600),
    code=st.sampled_from(["", FatalCode.AUTHENTICATION_FAILED]),
)
def test_no_text_displaces_the_next_command(
    reason: Reason, language: str, name: str, message: str, check: str, worktree: str, code: str
) -> None:
    task = a_stuck_task(name, language, worktree)
    failure = a_failure(message=message or "x", check=check, code=code)

    said = escalation_of(task, failure, reason)

    assert len(said.message) <= 500
    assert f"yaoki answer {task.id} retry" in said.message
    assert said.message.endswith(f"yaoki why {task.id}")


@pytest.mark.spec("10.3", "15")
@pytest.mark.parametrize("most", [80, 120, 300])
def test_a_shorter_limit_of_the_settings_keeps_a_whole_command(most: int) -> None:
    task = a_stuck_task("n" * 200)
    brief = replace(task, spec=replace(task.spec, policy=a_policy(message_max=most)))

    message = escalation_of(brief, a_failure(message="m" * 500), Reason.MAX_RETRIES).message

    assert len(message) <= most
    assert message.endswith(f"yaoki why {task.id}")


@pytest.mark.spec("10.3", "15")
def test_the_trace_link_can_be_disabled() -> None:
    task = a_stuck_task()
    brief = replace(task, spec=replace(task.spec, policy=a_policy(trace_link=False)))

    message = escalation_of(brief, a_failure(), Reason.MAX_RETRIES).message

    assert "yaoki why" not in message
    assert f"yaoki answer {task.id} retry" in message


@pytest.mark.spec("10.3", "14.4")
def test_braces_in_foreign_text_are_not_interpreted() -> None:
    said = escalation_of(
        a_stuck_task("{task}"), a_failure(message="{id} {nope}"), Reason.MAX_RETRIES
    )

    assert said.message.startswith("{task}: ")
    assert "{id} {nope}" in said.message


@pytest.mark.spec("10.3")
def test_the_message_says_how_many_attempts() -> None:
    assert (
        "after 4 attempts" in escalation_of(a_stuck_task(), a_failure(), Reason.MAX_RETRIES).message
    )


@pytest.mark.spec("10.3")
def test_the_summary_counts_attempts_and_kinds() -> None:
    said = escalation_of(a_stuck_task(), a_failure(message="no\nreally"), Reason.MAX_RETRIES)

    assert said.summary == {
        "total_attempts": 4,
        "failure_types": ["TIMEOUT", "QUALITY_FAILURE", "TIMEOUT"],
        "last_failure": {
            "type": "QUALITY_FAILURE",
            "message": "no",
            "timestamp": NOW.isoformat(),
        },
    }


@pytest.mark.spec("10.3", "4.8")
def test_a_system_fault_is_not_among_the_agents_failures() -> None:
    """Of a kind that is never retried, so that it is asked about at once."""
    fault = make_fatal(FatalCode.PERMISSION_DENIED, "no", is_our_fault=True)

    asked, _ = plan_retry_or_escalate(a_stuck_task(), fault, ClockAndChance(NOW, 0.5))

    assert isinstance(asked, EscalationDecided)
    assert asked.failure_summary["failure_types"] == ["TIMEOUT", "QUALITY_FAILURE", "TIMEOUT"]


@pytest.mark.spec("4.7", "10.3")
def test_a_fatal_error_recommends_its_remedy_first() -> None:
    said = escalation_of(
        a_stuck_task(),
        make_fatal(FatalCode.AUTHENTICATION_FAILED, "refused"),
        Reason.SYSTEM_ERROR_PERMANENT,
    )

    assert said.actions[0] == "check the agent's key or log in again"
    assert said.actions[0] in said.message


@pytest.mark.spec("4.7", "10.3")
@pytest.mark.parametrize("code", FATAL_CATALOGUE)
def test_every_recommended_action_of_a_fatal_error_is_shown(code: FatalCode) -> None:
    said = escalation_of(a_stuck_task(), make_fatal(code, "refused"), Reason.SYSTEM_ERROR_PERMANENT)

    listed = FATAL_CATALOGUE[code].actions
    actions = tuple(one.replace("recheck RUN", "recheck run00001") for one in listed)
    assert said.actions[: len(actions)] == actions
    assert all(action in said.message for action in actions)
    assert f"yaoki answer {a_stuck_task().id} retry" in said.message


# ------------------------------------------------------------------ choices


@pytest.mark.spec("10.4")
def test_a_check_can_be_waived_only_if_it_failed_on_existing_work() -> None:
    with_check = a_failure(check="tests")
    empty = an_active_task(Stage.VERIFY, work=Work())

    def choices(task: Task, failure: Failure) -> tuple[Choice, ...]:
        return escalation_of(task, failure, Reason.MAX_RETRIES).question.choices

    assert choices(a_stuck_task(), with_check) == (
        Choice.RETRY,
        Choice.DONE,
        Choice.WAIVE,
        Choice.ABORT,
    )
    assert Choice.WAIVE not in choices(a_stuck_task(), a_failure())
    assert Choice.WAIVE not in choices(empty, with_check)


@pytest.mark.spec("10.4")
def test_each_choice_has_its_command() -> None:
    task = a_stuck_task()

    actions = escalation_of(task, a_failure(check="tests"), Reason.MAX_RETRIES).actions

    assert actions == (
        f'yaoki answer {task.id} retry "words for the agent"',
        f"work in /w/login, then: yaoki answer {task.id} done",
        f"yaoki answer {task.id} waive --check tests",
        f"yaoki answer {task.id} abort",
    )


@pytest.mark.spec("10.4", "0.6")
def test_a_question_offers_only_possible_choices() -> None:
    text = escalation_of(a_stuck_task(), a_failure(), Reason.MAX_RETRIES).question.text

    assert "waive" not in text


@pytest.mark.spec("3.9")
def test_an_agents_question_is_asked_verbatim() -> None:
    asked = a_failure(FailureKind.ESCALATE_REQUIRED, "Which database?\nA or B?")

    found = escalation_of(a_stuck_task(), asked, Reason.NEEDS_HUMAN).question.text
    assert found == "Which database?\nA or B?"


def test_a_long_question_is_shortened_visibly() -> None:
    asked = a_failure(FailureKind.ESCALATE_REQUIRED, "why?\n" * 1000)

    found = escalation_of(a_stuck_task(), asked, Reason.NEEDS_HUMAN).question.text
    assert (len(found), found[-1]) == (2000, "…")


# ------------------------------------------------------------------ words


@pytest.mark.spec("5.5", "7.4")
@pytest.mark.parametrize(
    ("kind", "hinted"),
    [
        (FailureKind.INCOMPLETE, True),
        (FailureKind.QUALITY_FAILURE, True),
        (FailureKind.TIMEOUT, True),
        (FailureKind.CONFLICT, True),
        (FailureKind.TRANSIENT_ERROR, False),
        (FailureKind.RATE_LIMIT, False),
        (FailureKind.LOST, False),
    ],
)
def test_a_hint_is_given_where_the_work_must_change(kind: FailureKind, hinted: bool) -> None:
    assert bool(retry_hint(a_failure(kind))) is hinted


@pytest.mark.spec("10.4", "10.3")
@pytest.mark.parametrize(
    ("failure", "waivable"),
    [
        (a_failure(FailureKind.QUALITY_FAILURE, check="tests"), True),
        (a_failure(FailureKind.INCOMPLETE, check="tests", pattern="omission"), True),
        (a_failure(FailureKind.INCOMPLETE, check="tests", pattern="no-change"), False),
        (replace(make_fatal(FatalCode.RESOURCE_NOT_FOUND, "exit code 127"), check="tests"), False),
        (
            replace(
                make_fatal(FatalCode.CHECK_UNFIT, "it writes", is_our_fault=True), check="tests"
            ),
            True,
        ),
        (a_failure(FailureKind.ESCALATE_REQUIRED, check="tests", pattern=""), False),
        (a_failure(FailureKind.TRANSIENT_ERROR, check="tests", pattern=""), False),
    ],
)
def test_only_a_failure_of_a_check_names_that_check_and_can_be_waived(
    failure: Failure, waivable: bool
) -> None:
    """An agent that failed by itself names the check that failed beside it."""
    task = a_stuck_task()
    work = replace(task.work, exit=AgentExit(code=1))
    said = escalation_of(replace(task, work=work), failure, Reason.MAX_RETRIES)

    assert (Choice.WAIVE in said.question.choices) is waivable
    assert ("check tests: " in said.message) is waivable
