"""Failures that a person waived for landed work, and failures that are new."""

from __future__ import annotations

from dataclasses import replace

import pytest

from yaoki.core.decide.baseline import KNOWN_FAILURES, as_baseline
from yaoki.core.decide.waived_failures import WAIVED_FOR, is_explained, weigh_waived
from yaoki.core.hidden_checks import conceal_details
from yaoki.core.model import CheckSpec, Finding, FindingItem, HiddenFiles, Outcome

pytestmark = pytest.mark.spec("10.4", "0.1")


def failing(*names: str, message: str = "AssertionError: no", passed: int = 3) -> Finding:
    return Finding(
        "tests",
        Outcome.FAILED,
        pattern="test-failed",
        message=f"{len(names)} tests fail",
        items=tuple(FindingItem(name, message) for name in names),
        params={"failureCount": len(names), "passedCount": passed},
    )


PASSING = replace(failing(), outcome=Outcome.PASSED)


def test_only_waived_failures_make_a_check_waived() -> None:
    found = weigh_waived(failing("x"), failing("x", "y"), {"a": failing("x", "y")}, ())

    assert found.outcome is Outcome.WAIVED
    words = "waived for a by a person; it fails on the base as well: 1 tests fail"
    assert found.message == words
    assert found.params[KNOWN_FAILURES] == ["x"]


def test_each_task_is_named_whose_landing_explains_a_failure() -> None:
    landings = {"a": failing("x"), "b": failing("x", "y"), "c": failing("x", "y")}

    found = weigh_waived(failing("x", "y"), failing("x", "y"), landings, ())

    assert found.params[WAIVED_FOR] == ["a", "b"]


@pytest.mark.parametrize(
    ("base", "landing"),
    [
        pytest.param(PASSING, failing("x"), id="repaired since"),
        pytest.param(failing("x"), PASSING, id="broken since"),
        pytest.param(failing("x"), failing("y"), id="another test"),
        pytest.param(failing("x", message="TypeError: no"), failing("x"), id="another base"),
        pytest.param(failing("x"), failing("x", message="TypeError: no"), id="another landing"),
        pytest.param(replace(PASSING, outcome=Outcome.BROKEN), failing("x"), id="unknown base"),
    ],
)
def test_a_failure_counts_that_does_not_fail_in_the_same_way_everywhere(
    base: Finding, landing: Finding
) -> None:
    assert weigh_waived(failing("x"), base, {"a": landing}, ()) == failing("x")


def test_a_new_failure_counts_and_the_waived_one_is_not_listed_with_it() -> None:
    found = weigh_waived(failing("x", "new"), failing("x"), {"a": failing("x")}, ())

    assert found.outcome is Outcome.FAILED
    assert [item.name for item in found.items] == ["new"]
    assert found.message.endswith("not counted, because a person waived them for a: x")
    assert WAIVED_FOR not in found.params, "the agent can repair it"


def test_a_test_that_the_task_is_to_fix_counts() -> None:
    found = weigh_waived(failing("x"), failing("x"), {"a": failing("x")}, ("x",))

    assert found == failing("x")


@pytest.mark.parametrize(
    "unnamed",
    [
        pytest.param(failing(), id="no names"),
        pytest.param(as_baseline(failing("x", passed=0)), id="no test passes"),
        pytest.param(
            replace(failing("x"), items=(FindingItem("x"), FindingItem("", unlisted_count=3))),
            id="a shortened list",
        ),
    ],
)
def test_failures_without_all_names_stay_and_name_the_waiver(unnamed: Finding) -> None:
    found = weigh_waived(failing("x"), unnamed, {"a": unnamed}, ())

    assert found.outcome is Outcome.FAILED
    assert found.message.startswith("has failed since a landed, for which a person waived it")
    assert found.params[WAIVED_FOR] == ["a"]


def test_a_hidden_check_names_the_waiver_and_no_value() -> None:
    spec = CheckSpec("tests", hidden=HiddenFiles("/hidden", "abc"))
    one = failing("t.py::test_add[2-3]")
    waived = conceal_details(weigh_waived(one, one, {"a": one}, ()), spec)
    unnamed = conceal_details(weigh_waived(failing(), failing(), {"a": failing()}, ()), spec)

    assert waived.message == "waived for a by a person; it fails on the base as well"
    assert waived.params[KNOWN_FAILURES] == ["test_add"]
    assert "has failed since a landed, for which a person waived it" in unnamed.message


@pytest.mark.parametrize(
    ("now", "explained"),
    [
        pytest.param(failing("x"), True, id="one of the waived"),
        pytest.param(failing("x", "z"), True, id="of two landings"),
        pytest.param(failing("x", "new"), False, id="a new one beside it"),
        pytest.param(failing("x", message="TypeError: no"), False, id="in another way"),
    ],
)
def test_a_waiver_explains_only_the_failures_of_its_own_landing(
    now: Finding, explained: bool
) -> None:
    assert is_explained(now, [failing("x", "y"), failing("z"), PASSING]) is explained


@pytest.mark.parametrize(("message", "explained"), [("2 errors", True), ("3 errors", False)])
def test_failures_without_names_must_be_the_same_as_a_whole(message: str, explained: bool) -> None:
    waived = Finding("types", Outcome.FAILED, message="2 errors")

    assert is_explained(replace(waived, message=message), [waived]) is explained
    assert not is_explained(waived, [replace(waived, outcome=Outcome.PASSED)])
