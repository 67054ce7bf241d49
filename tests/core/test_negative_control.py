"""A check that passes although its tests were made to fail proves nothing."""

from __future__ import annotations

import pytest

from tests.builders import a_finding
from yaoki.core.decide.negative_control import (
    ControlOutcome,
    ControlResult,
    judge_control,
    judge_controls,
    select_failing,
)
from yaoki.core.model import NEGATIVE_CONTROL_CHECK, Finding, FindingItem, OnFailure, Outcome
from yaoki.core.model.failing_tests import FailingTests

pytestmark = pytest.mark.spec("17.9")
FILE = FailingTests("", frozenset({"shop.test_price.test_sum", "shop.test_price.C.test_tax"}))
NORMAL = a_finding(
    Outcome.PASSED,
    check="tests",
    passing_tests=("shop/test_price.py::test_sum", "shop/test_price.py::C::test_tax"),
)
UNNAMED = a_finding(Outcome.PASSED, check="tests")
PLACE = FindingItem("price.py:3", "uses atexit", "price.py:3")


def failed(*passing: str, **params: object) -> Finding:
    return a_finding(Outcome.FAILED, check="tests", passing_tests=passing, params=params)


@pytest.mark.parametrize(
    "name",
    [
        "shop/test_price.py::test_sum",
        "shop/test_price.py::test_sum[1-two]",
        "test_price.py::test_sum",
        "shop.test_price.test_sum",
        "test_price.C.test_tax",
        "shop/test_price.py::C::test_tax",
    ],
)
def test_the_names_of_runners_lead_to_the_test_in_its_file(name: str) -> None:
    assert select_failing([name], [FILE]) == (name,)


@pytest.mark.parametrize(
    "name", ["test_sum", "test_other.py::test_sum", "old/shop/test_price.py::test_sum", "test_tax"]
)
def test_a_test_of_another_file_is_not_taken_for_it(name: str) -> None:
    assert select_failing([name], [FILE]) == ()


def test_a_name_without_a_file_is_not_judged() -> None:
    assert select_failing(["test_a"], [FailingTests("", frozenset({"test_top.test_a"}))]) == ()


def test_a_name_that_may_be_another_test_is_not_judged() -> None:
    other = FailingTests("", frozenset(), frozenset({"old.test_price.test_sum"}))

    assert select_failing(["test_price.py::test_sum"], [FILE, other]) == ()
    assert select_failing(["shop/test_price.py::test_sum"], [FILE, other]) != ()


def test_a_check_that_reports_the_failing_tests_holds() -> None:
    result = judge_control(failed("shop/test_other.py::test_a"), NORMAL, [FILE])

    assert result == ControlResult("tests", ControlOutcome.HELD, NORMAL.passing_tests)


@pytest.mark.parametrize("outcome", [Outcome.PASSED, Outcome.FLAKY, Outcome.WAIVED])
def test_a_check_that_passes_with_failing_tests_is_forged(outcome: Outcome) -> None:
    result = judge_control(a_finding(outcome, check="tests"), NORMAL, [FILE])

    assert (result.outcome, result.tests) == (ControlOutcome.FORGED, NORMAL.passing_tests)


def test_one_failing_test_that_is_reported_as_passed_is_forged() -> None:
    """Some failures are known and do not count, so a forger may leave the exit code alone."""
    result = judge_control(failed("shop/test_price.py::test_sum"), NORMAL, [FILE], is_hidden=True)

    assert result == ControlResult(
        "tests", ControlOutcome.FORGED, ("shop/test_price.py::test_sum",), is_hidden=True
    )


def test_a_check_that_names_no_test_is_judged_by_its_outcome() -> None:
    unnoticed = judge_control(a_finding(Outcome.PASSED), UNNAMED, [FILE])

    assert unnoticed == ControlResult("tests", ControlOutcome.UNNOTICED)
    assert judge_control(failed(), UNNAMED, [FILE]).outcome is ControlOutcome.HELD


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (a_finding(Outcome.BROKEN), "it could not run again"),
        (failed(loadError=True), "with its tests made to fail, they cannot be loaded"),
        (failed(timedOut=True), "with its tests made to fail, it takes too long"),
    ],
)
def test_a_control_that_shows_nothing_is_none(run: Finding, reason: str) -> None:
    result = judge_control(run, NORMAL, [FILE])

    assert result == ControlResult("tests", ControlOutcome.NOT_RUN, reason=reason)


def test_a_forged_result_fails_the_attempt_and_names_the_lines() -> None:
    forged = ControlResult("tests", ControlOutcome.FORGED, ("a::test_a",))
    held = ControlResult("more", ControlOutcome.HELD, ("b",))

    finding = judge_controls([held, forged], [PLACE], 2.5)

    assert finding.check == NEGATIVE_CONTROL_CHECK
    assert (finding.outcome, finding.pattern) == (Outcome.FAILED, "gamed")
    assert not finding.is_acceptable
    assert finding.on_failure is OnFailure.RETRY
    assert finding.message == (
        "the changed code rewrites the result of its tests, which were made to fail and are"
        " reported as passed: check tests (a::test_a)"
    )
    assert finding.items == (PLACE,)
    assert finding.params["tellTales"] == [{"name": "price.py:3", "message": "uses atexit"}]
    assert finding.seconds == 2.5


def test_the_names_of_hidden_tests_are_not_told() -> None:
    forged = ControlResult("acc", ControlOutcome.FORGED, ("test_secret",), is_hidden=True)

    assert judge_controls([forged], [PLACE]).message.endswith("reported as passed: check acc")


def test_a_person_decides_about_a_check_that_may_run_other_tests() -> None:
    unnoticed = ControlResult("tests", ControlOutcome.UNNOTICED)

    finding = judge_controls([unnoticed], [PLACE], 2.5)

    assert (finding.outcome, finding.on_failure) == (Outcome.FAILED, OnFailure.ABORT)
    assert finding.seconds == 2.5
    assert finding.message == (
        "check tests passes although the tests of all Python test files were made to fail: the"
        " changed code rewrites its result, or the check runs none of these tests"
    )


def test_checks_that_hold_pass_and_the_others_are_named() -> None:
    one = ControlResult("tests", ControlOutcome.HELD, ("a",))
    two = ControlResult("more", ControlOutcome.HELD, ("b", "c"))
    unnamed = ControlResult("unnamed", ControlOutcome.HELD)
    without = ControlResult("e2e", ControlOutcome.NOT_RUN, reason="it could not run again")

    finding = judge_controls([one, two, unnamed, without], [PLACE], 2.5)

    assert (finding.check, finding.seconds) == (NEGATIVE_CONTROL_CHECK, 2.5)
    assert (finding.outcome, finding.pattern) == (Outcome.PASSED, "")
    assert finding.message == (
        "check tests fails when 1 test is made to fail; check more fails when 2 tests are made to"
        " fail; check unnamed fails when its tests are made to fail;"
        " check e2e has no negative control: it could not run again"
    )
    assert judge_controls([one], [PLACE]).message == "check tests fails when 1 test is made to fail"


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ([], "no check runs Python tests"),
        (
            [ControlResult("e2e", ControlOutcome.NOT_RUN, reason="it names no test")],
            "check e2e has no negative control: it names no test",
        ),
    ],
)
def test_a_missing_control_is_said_and_passes_nothing(
    results: list[ControlResult], words: str
) -> None:
    """Honest work is not held up by it, but nobody reads PASSED either."""
    finding = judge_controls(results, [PLACE], 2.5)

    assert (finding.check, finding.seconds) == (NEGATIVE_CONTROL_CHECK, 2.5)
    assert (finding.outcome, finding.is_acceptable) == (Outcome.SKIPPED, True)
    assert finding.message.endswith(f", but {words}")
