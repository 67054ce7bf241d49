"""What a question to a person says about the way out: checks, accounts, unchanged work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, a_check, a_failure, a_spec, an_active_task
from tests.core.test_escalation_messages import ID, report
from yaoki.core.model import (
    NO_CHANGE_CHECK,
    AccountClosure,
    AccountProblem,
    FailedCheck,
    Failure,
    FailureKind,
    Stage,
    TaskKind,
)
from yaoki.core.model.outcome import (
    DOUBTFUL_PARAM,
    MISSING_PATH_PARAM,
    OUTSIDE_CHANGE_PARAM,
    TIMED_OUT_PARAM,
)
from yaoki.errors import FatalCode

K, CLOSED = FailureKind, AccountClosure(NOW)
RECHECK = (
    " A retry runs the same check: change it in the plan or yaoki.toml, "
    "then: yaoki plan recheck run00001. "
)


@pytest.mark.spec("10.3")
@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (a_failure(K.FATAL_ERROR, check="tests", code=FatalCode.CHECK_UNFIT), True),
        (a_failure(K.FATAL_ERROR, check="tests", is_our_fault=True), True),
        (a_failure(K.FATAL_ERROR, is_our_fault=True), False),
        (a_failure(K.FATAL_ERROR, check="tests"), False),
        (a_failure(K.TRANSIENT_ERROR, check="tests", is_our_fault=True), False),
    ],
)
def test_a_question_about_a_check_at_fault_names_the_command_that_replaces_it(
    failure: Failure, said: bool
) -> None:
    text = report(failure).question.text

    assert (RECHECK in text) is said
    assert ("recheck" in text) is said


@pytest.mark.spec("10.3", "10.4")
@pytest.mark.parametrize(
    ("doubtful", "subject"),
    [
        ((), ""),
        (("tests",), "the check itself"),
        (("tests", "lint"), "check tests itself"),
        (("", "lint"), "check lint itself"),
        (("", ""), ""),
    ],
)
def test_a_question_about_a_check_that_may_be_wrong_says_how_to_change_it(
    doubtful: tuple[str, ...], subject: str
) -> None:
    names = ("tests", "lint")
    marks = [{DOUBTFUL_PARAM: True} if one else {} for one in doubtful]
    failed = tuple(
        FailedCheck(name, "exit code 4", params=mark)
        for name, mark in zip(names, marks, strict=False)
    )
    failure = a_failure(
        K.QUALITY_FAILURE,
        "exit code 4",
        check="tests",
        params=marks[0] if marks else {},
        failed_checks=failed if len(failed) > 1 else (),
    )

    text = report(failure).question.text

    hint = f"{subject} is wrong, change it in the plan or yaoki.toml, then: yaoki plan recheck"
    assert (f" If {hint} run00001. " in text) is bool(subject)
    assert ("recheck" in text) is bool(subject)


@pytest.mark.spec("10.3", "10.4")
@pytest.mark.parametrize(("check", "can_be_wrong"), [("tests", True), ("Q1", False)])
def test_only_a_check_of_the_plan_may_be_wrong(check: str, can_be_wrong: bool) -> None:
    """A built-in one stands nowhere that a person could change."""
    params = {OUTSIDE_CHANGE_PARAM: 3}
    failure = a_failure(K.QUALITY_FAILURE, "it failed", check=check, params=params)

    text = report(failure).question.text

    words = "3 attempts failed in the same way, in files that they did not change"
    assert (words in text, "recheck" in text) == (can_be_wrong, can_be_wrong)


@pytest.mark.spec("10.3", "9.3")
def test_the_way_to_waive_names_every_failed_check_that_can_be_waived() -> None:
    """One waiver covers one check; `custom` is no check of the task."""
    failed = tuple(FailedCheck(name, "exit code 4") for name in ("tests", "Q5", "custom", "Q1"))
    failure = a_failure(K.QUALITY_FAILURE, "exit code 4", check="tests", failed_checks=failed)

    (waive,) = [one for one in report(failure).actions if " waive " in one]

    assert waive.endswith(
        "waive --check tests"
        "  # also failed: Q5, Q1; each check needs its own waiver, when the task asks again"
    )


@pytest.mark.spec("10.3", "10.4")
@pytest.mark.parametrize(
    ("names", "further"),
    [
        ((), ""),
        (("tests",), ""),
        (("tests", "lint"), " Also failed: lint. "),
        (("tests", "a", "Q5", "c", "d"), " Also failed: a, Q5 (no evidence), c and 1 more. "),
    ],
)
def test_a_question_names_every_failed_check(names: tuple[str, ...], further: str) -> None:
    failed = tuple(FailedCheck(name, "exit code 4") for name in names)
    failure = a_failure(
        K.QUALITY_FAILURE, "exit code 4", check="tests", failed_checks=failed if names[1:] else ()
    )

    text = report(failure).question.text

    assert (further or "exit code 4. Try again") in text
    whole = replace(failure, message="exit code 4; lint: exit code 1")
    assert "Also failed: lint" not in report(whole).question.text
    assert ("Also failed" in text) is bool(further)


@pytest.mark.spec("10.3", "10.4")
def test_a_question_about_a_check_that_ran_out_of_time_says_how_to_give_it_more() -> None:
    failure = a_failure(
        K.TIMEOUT, "not done after 30 s", check="tests", params={TIMED_OUT_PARAM: True}
    )

    assert (
        " If the check needs more time, raise the timeout of tests in the plan or yaoki.toml, "
        "then: yaoki plan recheck run00001. "
    ) in report(failure).question.text


@pytest.mark.spec("10.3", "10.4")
def test_a_question_about_a_check_of_a_missing_path_names_the_path() -> None:
    task = an_active_task(Stage.VERIFY)
    work = replace(task.work, attempt_file_count=1)

    assert (
        " Check tests names tests/tset.py, which neither the base nor the work contains: change "
        "the check in the plan or yaoki.toml, then: yaoki plan recheck run00001. "
    ) in report(missing_path_failure(), replace(task, work=work)).question.text


@pytest.mark.spec("10.3", "10.4", "4.6")
@pytest.mark.parametrize(
    ("scope", "is_agent_at_fault"), [((), True), (("tests/**",), True), (("src/**",), False)]
)
def test_a_question_about_a_path_that_an_idle_agent_had_to_create_advises_a_retry(
    scope: tuple[str, ...], is_agent_at_fault: bool
) -> None:
    text = report(
        missing_path_failure(), an_active_task(Stage.VERIFY, spec=a_spec(scope=scope))
    ).question.text

    advice = f'The task has to create tests/tset.py: yaoki retry {ID} "words for the agent". '
    change = "If this path is wrong, change the check in the plan or yaoki.toml, then: "
    assert (f" {advice}{change}yaoki plan recheck run00001. " in text) is is_agent_at_fault
    assert ("neither the base" in text) is not is_agent_at_fault


def missing_path_failure() -> Failure:
    params = {DOUBTFUL_PARAM: True, MISSING_PATH_PARAM: "tests/tset.py"}
    return a_failure(K.QUALITY_FAILURE, "exit code 4", check="tests", params=params)


@pytest.mark.spec("10.3", "10.4", "9.3")
@pytest.mark.parametrize(
    ("name", "check", "said"),
    [
        ("done_when", "whole", True),
        ("done_when-2", "whole", True),
        ("done_when", "Q4", False),
        ("smoke", "whole", False),
    ],
)
def test_a_question_about_a_failed_final_check_says_how_to_change_it(
    name: str, check: str, said: bool
) -> None:
    """No agent works on a final check: if it is wrong, only a person can correct it."""
    checks = (a_check("whole"),)
    task = an_active_task(Stage.VERIFY, spec=a_spec(name, kind=TaskKind.CHECK, checks=checks))

    text = report(a_failure(K.QUALITY_FAILURE, "exit code 1", check=check), task).question.text

    hint = "If the check itself is wrong, change it in the plan or yaoki.toml, then: yaoki plan"
    assert (f" {hint} recheck run00001. " in text) is said
    assert ("recheck" in text) is said


@pytest.mark.spec("10.3", "18.6")
@pytest.mark.parametrize(
    ("problem", "remedy", "closure", "words"),
    [
        (
            AccountProblem.KEY_REFUSED,
            "",
            CLOSED,
            " Give the agent a valid key, or log in again."
            " All tasks that use small wait for your answer.",
        ),
        (AccountProblem.NO_CREDIT, "", None, " Add credit to the account."),
        (AccountProblem.KEY_REFUSED, "run: agent login", None, " Run: agent login."),
        (AccountProblem.OUTAGE, "", CLOSED, " All tasks that use small wait for your answer."),
        (AccountProblem.NONE, "", None, ""),
    ],
)
def test_a_question_about_an_account_says_what_helps_and_who_waits(
    problem: AccountProblem, remedy: str, closure: AccountClosure | None, words: str
) -> None:
    failure = a_failure(
        K.RATE_LIMIT, "no answer", account_problem=problem, remedy=remedy, closure=closure
    )

    asked = report(failure)

    assert asked.question.text == (
        f"login is not done: no answer.{words} Try again, take over or abort?"
    )
    assert (asked.actions[0] == remedy) is bool(remedy)
    assert any(action.startswith(f"yaoki answer {ID} retry") for action in asked.actions)


@pytest.mark.spec("10.3", "16.8")
@pytest.mark.parametrize(
    ("kinds", "last", "is_named"),
    [
        ((), None, False),
        (("LOST", "TIMEOUT", "INCOMPLETE"), None, False),
        (("INCOMPLETE",), a_failure(K.INCOMPLETE, pattern=NO_CHANGE_CHECK), False),
        (("INCOMPLETE",), a_failure(K.INCOMPLETE, check="no-omission"), True),
        (("QUALITY_FAILURE", "INCOMPLETE"), None, True),
        (("CONFLICT",), None, True),
    ],
)
def test_a_question_about_unchanged_work_names_the_rejected_work_before_it(
    kinds: tuple[str, ...], last: Failure | None, is_named: bool
) -> None:
    """`nothing was changed` alone sounds as if no attempt had done anything."""
    task = replace(an_active_task(Stage.VERIFY), failure_kinds=kinds, feedback=last)

    text = report(a_failure(K.INCOMPLETE, check=NO_CHANGE_CHECK), task).question.text

    words = f" Earlier attempts left work that was rejected: yaoki recover {task.id}."
    assert (words in text) == is_named
    assert text.endswith(" Accept it as done (waive), try again, take over or abort?")


@pytest.mark.spec("10.3", "16.8")
@pytest.mark.parametrize(
    ("kinds", "is_named"), [((), False), (("CONFLICT", "QUALITY_FAILURE"), True)]
)
def test_a_question_after_an_idle_last_try_names_the_rejected_work_before_it(
    kinds: tuple[str, ...], is_named: bool
) -> None:
    """Its checks fail, so nothing is accepted, but an earlier attempt may have passed them."""
    task = replace(an_active_task(Stage.VERIFY), failure_kinds=kinds)
    idle = a_failure(K.INCOMPLETE, check="unit", pattern=NO_CHANGE_CHECK)

    text = report(idle, task).question.text

    assert (
        f" Earlier attempts left work that was rejected: yaoki recover {ID}." in text
    ) == is_named


@pytest.mark.spec("10.3")
@pytest.mark.parametrize(
    ("files", "what"),
    [
        (0, "nothing was changed"),
        (1, "only blank lines, comments or empty files were changed"),
        (2, "only blank lines, comments or empty files were changed"),
    ],
)
@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        ("Done", '"Done".'),
        ("It is there.", '"It is there."'),
        ("It is there!", '"It is there!"'),
        ("Is it there?", '"Is it there?"'),
    ],
)
def test_a_question_about_unchanged_work_says_what_changed_and_quotes_the_agent(
    files: int, what: str, said: str, quoted: str
) -> None:
    task = an_active_task(Stage.VERIFY)
    task = replace(task, work=replace(task.work, attempt_file_count=files))
    failure = a_failure(K.INCOMPLETE, check=NO_CHANGE_CHECK, params={"agentSaid": said})

    remedy = "If the task is to write comments, add a check that fails without them (grep). "
    assert report(failure, task).question.text == (
        f"login: {what}, and its checks pass without a change. The agent says: {quoted} "
        f"{remedy if files else ''}Accept it as done (waive), try again, take over or abort?"
    )
