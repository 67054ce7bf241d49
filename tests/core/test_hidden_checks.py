"""A finding of a hidden check names the behaviour that fails, and no value."""

from __future__ import annotations

import pytest

from tests.builders import a_finding
from yaoki.core.hidden_checks import conceal_details, keep_declared, name_behaviour
from yaoki.core.model import CheckSpec, Finding, FindingItem, HiddenFiles, Outcome

pytestmark = pytest.mark.spec("17.2")
SPEC = CheckSpec("acceptance", argv=("pytest",), hidden=HiddenFiles("/x", "d" * 64, 1))


def failed(*names: str, **more: object) -> Finding:
    items = tuple(FindingItem(name, "assert 41 == 42", "x.py:7") for name in names)
    return a_finding(
        Outcome.FAILED, check="acceptance", message="41 != 42", items=items, output="42", **more
    )


@pytest.mark.parametrize(
    ("test", "behaviour"),
    [
        ("tests/test_a.py::test_empty", "test_empty"),
        ("tests/test_a.py::TestOrder::test_empty", "TestOrder::test_empty"),
        ("tests/test_a.py::test_sum[1-2-3]", "test_sum"),
        ("tests/test_a.py::test_path[a/b]", "test_path"),
        ("test_sum[1\n2]", "test_sum"),
        ("rejects an empty order (42)", "rejects an empty order"),
        ("rejects <42>", "rejects"),
        ("sums {1}", "sums"),
        ("test_sum", "test_sum"),
    ],
)
def test_a_behaviour_is_the_name_of_a_test_without_place_and_values(
    test: str, behaviour: str
) -> None:
    assert name_behaviour(test) == behaviour


@pytest.mark.parametrize(
    ("test", "shown"),
    [
        ("a.py::TestOrder::test_empty[3-5]", "TestOrder::test_empty"),
        ("a.py::test_empty", "test_empty"),
        ("a.py::test_forged", ""),
        ("a.py::TestOrder::test_forged", ""),
        ("x::import~pytest~20~22~42", ""),
        ("TestAdd/20+22=42", "TestAdd"),
        ("rejects an empty order", "rejects an empty order"),
        ("adds 20 + 22 to equal 42", ""),
    ],
)
def test_only_declared_names_are_shown(test: str, shown: str) -> None:
    declared = {"TestOrder", "test_empty", "TestAdd", "rejects an empty order"}

    assert keep_declared(test, declared) == shown


def test_a_failure_names_each_behaviour_once_and_nothing_else() -> None:
    shown = conceal_details(failed("t.py::test_a[1]", "t.py::test_a[2]", "t.py::test_b"), SPEC)

    words = "the hidden check fails: 2 behaviours: test_a, test_b; its tests and its output are"
    assert shown.message == f"{words} not shown"
    assert shown.items == (FindingItem("test_a"), FindingItem("test_b"))
    assert shown.output == ""
    assert shown.outcome is Outcome.FAILED


def test_one_behaviour_is_counted_as_one_and_none_as_nothing() -> None:
    one, none = (conceal_details(failed(*names), SPEC) for names in (["t.py::test_a"], []))

    assert "fails: 1 behaviour: test_a; its" in one.message
    assert none.message == "the hidden check fails; its tests and its output are not shown"


def test_numbers_stay_and_texts_go() -> None:
    params = {"passedCount": 3, "isLast": True, "failedTests": ["42"], "known": ["a.py::test_x[4]"]}

    shown = conceal_details(failed("t.py::test_a", params=params), SPEC)

    kept = {"passedCount": 3, "isLast": True, "known": ["test_x"], "hiddenDigest": "d" * 64}
    assert shown.params == kept


@pytest.mark.parametrize(
    ("transient", "words"),
    [
        (True, "the hidden check could not run because of a temporary fault"),
        (False, "the hidden check could not run; see its log"),
    ],
)
def test_a_broken_check_says_no_more_than_where_to_look(transient: bool, words: str) -> None:
    finding = a_finding(
        Outcome.BROKEN, message="42", transient=transient, fault="42", log="/logs/1", exit_code=1
    )

    shown = conceal_details(finding, SPEC)

    assert shown.message == words
    assert shown.fault == "its output was not understood"
    assert shown.log == "/logs/1"


def test_a_check_that_never_started_says_why() -> None:
    finding = a_finding(Outcome.BROKEN, message="its hidden files are missing")

    words = "the hidden check could not run: its hidden files are missing"
    assert conceal_details(finding, SPEC).message == words


def test_a_passed_check_says_nothing() -> None:
    finding = a_finding(Outcome.PASSED, message="3 passed", passing_tests=("t.py::test_a[42]",))

    shown = conceal_details(finding, SPEC)

    assert (shown.message, shown.passing_tests, shown.fault) == ("", (), "")


def test_a_hidden_check_without_files_says_so() -> None:
    spec = CheckSpec("acceptance", argv=("check",), hidden=HiddenFiles())

    assert conceal_details(failed(), spec).params == {"hiddenDigest": "no files"}


def test_a_finding_of_another_check_stays_as_it_is() -> None:
    finding = failed("t.py::test_a[1]")

    assert conceal_details(finding, CheckSpec("tests", argv=("pytest",))) is finding
