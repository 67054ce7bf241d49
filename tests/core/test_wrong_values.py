"""The judgement of a control with wrong values."""

from __future__ import annotations

import pytest

from yaoki.core.decide.wrong_values import (
    WrongValueRun,
    describe_unread,
    judge_wrong_values,
)
from yaoki.core.model import Finding, FindingItem, OnFailure, Outcome

pytestmark = pytest.mark.spec("17.9")

PLACES = tuple(FindingItem(f"a.py:{n}", "defines __eq__", f"a.py:{n}") for n in range(1, 30))
BLIND = "HoldsForWrongValue: this comparison holds for a wrong value as well"


def a_run(
    outcome: Outcome = Outcome.PASSED,
    *items: FindingItem,
    output: str = "",
    hidden: bool = False,
    check: str = "tests",
) -> WrongValueRun:
    return WrongValueRun(check, Finding(check, outcome, items=items, output=output), hidden)


def test_without_a_run_nothing_is_judged() -> None:
    assert judge_wrong_values([], PLACES, 0.0) is None


def test_tests_that_accept_a_wrong_value_are_a_failure() -> None:
    items = (FindingItem("t.py::a", BLIND), FindingItem("t.py::b", "AssertionError: 1 == 2"))

    found = judge_wrong_values([a_run(Outcome.FAILED, *items)], PLACES, 1.5)

    assert found is not None
    assert (found.check, found.outcome, found.pattern) == ("wrong-values", Outcome.FAILED, "gamed")
    assert found.message == (
        "values of the changed code are equal to wrong values as well, so the tests would accept"
        " any result: check tests (t.py::a)"
    )
    assert (found.seconds, found.on_failure) == (1.5, OnFailure.RETRY)
    assert found.items == PLACES[:20]
    assert found.params["tellTales"][0] == {"name": "a.py:1", "message": "defines __eq__"}
    assert len(found.params["tellTales"]) == 20


def test_hidden_tests_are_not_named() -> None:
    run = a_run(Outcome.FAILED, FindingItem("t.py::a", BLIND), hidden=True, check="secret")
    found = judge_wrong_values([a_run(), run], PLACES, 0.0)
    assert found is not None
    assert found.message.endswith("any result: check secret")


def test_the_output_tells_it_where_no_test_is_named() -> None:
    found = judge_wrong_values([a_run(Outcome.FAILED, output=f"x\n{BLIND}\n")], PLACES, 0.0)
    assert found is not None
    assert found.outcome is Outcome.FAILED
    assert found.message.endswith("any result: check tests")


@pytest.mark.parametrize("outcome", [Outcome.PASSED, Outcome.FLAKY, Outcome.WAIVED])
def test_tests_that_notice_wrong_values_pass(outcome: Outcome) -> None:
    found = judge_wrong_values([a_run(outcome)], PLACES, 2.0)
    assert found is not None
    assert (found.check, found.outcome, found.seconds) == ("wrong-values", Outcome.PASSED, 2.0)
    assert found.message == "the tests of check tests notice wrong values"


def test_a_control_that_fails_otherwise_is_skipped_with_its_reason() -> None:
    why = "its tests fail for another reason when they are rewritten"
    failed = a_run(Outcome.FAILED, FindingItem("t.py::a", "TypeError"), check="e2e")

    alone = judge_wrong_values([failed], PLACES, 0.0)
    both = judge_wrong_values([a_run(), failed], PLACES, 0.0)

    assert alone is not None
    assert both is not None
    assert alone.outcome is Outcome.SKIPPED
    assert alone.message == f"check e2e has no control with wrong values: {why}"
    assert both.outcome is Outcome.PASSED
    assert both.message == (
        "the tests of check tests notice wrong values;"
        f" check e2e has no control with wrong values: {why}"
    )


def test_a_person_decides_where_a_decisive_control_is_missing() -> None:
    """The places alone could make a value equal to a wrong one, so a skip proves nothing."""
    failed = a_run(Outcome.FAILED, FindingItem("t.py::a", "TypeError"), check="e2e")

    found = judge_wrong_values([a_run(), failed], PLACES, 0.0, is_decisive=True)

    assert found is not None
    assert (found.outcome, found.on_failure) == (Outcome.FAILED, OnFailure.ABORT)
    assert not found.pattern
    assert found.message.startswith("the changed code decides how its values compare, so it is")
    assert "check e2e has no control with wrong values" in found.message
    assert found.items == PLACES[:20]


def test_tests_that_cannot_be_rewritten_ask_only_where_it_matters() -> None:
    unread = [describe_unread("tests", ["t.py", "u.py"])]

    harmless = judge_wrong_values([], PLACES, 0.0, unread)
    decisive = judge_wrong_values([a_run()], PLACES, 0.0, unread, is_decisive=True)

    assert harmless is not None
    assert decisive is not None
    assert harmless.outcome is Outcome.SKIPPED
    assert harmless.message == "check tests has tests that cannot be rewritten: t.py, u.py"
    assert decisive.outcome is Outcome.FAILED
    assert "t.py" not in describe_unread("acceptance", ["t.py"], is_hidden=True)


def test_a_check_whose_tests_pass_again_may_fail_for_something_else() -> None:
    """Its coverage is less, because the rewritten files are longer."""
    result = Finding("tests", Outcome.FAILED, passing_tests=("t.py::a", "t.py::b"))
    run = WrongValueRun("tests", result, passing_tests=("t.py::a",))

    found = judge_wrong_values([run], PLACES, 0.0, is_decisive=True)

    assert found is not None
    assert found.outcome is Outcome.PASSED
