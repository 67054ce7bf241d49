"""Fewer tests than before, by the counts of two runs of a check."""

from __future__ import annotations

from typing import Any

import pytest

from yaoki.core.decide.baseline import KNOWN_FAILURES
from yaoki.core.decide.integrity import (
    WEAKENED_PATTERN,
    compare_tests_run,
    has_fewer_tests,
    without_brought_tests,
)
from yaoki.core.decide.test_names import missing_cases, name_missing, names_of_two_runs
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import Finding, OnFailure, Outcome
from yaoki.core.model.check_definition import ParametrizedTests

pytestmark = pytest.mark.spec("6.6")


def counted(cases: Any, skipped: int = 0, outcome: Outcome = Outcome.PASSED) -> Finding:
    return Finding("tests", outcome, params={"testCount": cases, "skippedCount": skipped})


@pytest.mark.parametrize(
    ("now", "base"),
    [
        (counted(4), counted(5)),
        (counted(5, 1), counted(5)),
        (counted(6, 2), counted(5)),
        (counted(1), counted(2, outcome=Outcome.FAILED)),
        (counted(2, outcome=Outcome.FLAKY), counted(3)),
    ],
)
def test_fewer_executed_tests_are_a_weakening(now: Finding, base: Finding) -> None:
    found = compare_tests_run(now, base)

    assert found is not None
    assert (found.outcome, found.pattern, found.check) == (
        Outcome.FAILED,
        WEAKENED_PATTERN,
        "test-integrity",
    )
    assert "check tests" in found.message


@pytest.mark.parametrize(
    ("now", "base"),
    [
        (counted(5), counted(5)),
        (counted(6, 1), counted(5)),
        (counted(4), counted(5, 1)),
        (counted(5), Finding("tests", Outcome.PASSED)),
        (Finding("tests", Outcome.PASSED), counted(5)),
        (counted("many"), counted(5)),
        (counted(True), counted(5)),
    ],
    ids=["as many", "a new one skipped", "a skipped one gone", "base", "now", "words", "truth"],
)
def test_as_many_tests_or_unknown_counts_are_no_finding(now: Finding, base: Finding) -> None:
    assert compare_tests_run(now, base) is None


def test_tests_that_now_fail_as_expected_are_not_called_skipped() -> None:
    now = counted(5, 3)
    now.params["xfailedCount"] = 2  # type: ignore[index]

    found = compare_tests_run(now, counted(5))

    assert found is not None
    words = "5 tests ran before the change, 2 with it, and 1 more is skipped, and 2 more are"
    assert f"{words} xfailed" in found.message


def named(*names: str) -> Finding:
    params = {"testCount": len(names), "passedCount": len(names)}
    return Finding("tests", Outcome.PASSED, params=params, passing_tests=names)


@pytest.mark.parametrize(
    ("now", "base", "landed", "before", "lost"),
    [
        (named("a"), named("a", "b"), named("a", "b"), named("a"), False),
        (named("b"), named("a", "b"), named("a", "b"), named("a"), True),
        (named("a"), named("a", "b", "c"), named("a", "b"), named("a"), True),
        (named("a"), named("a", "c"), named("a", "b"), named("a"), True),
        (named("a"), named("a", "b"), named("a", "b"), counted(0, outcome=Outcome.BROKEN), False),
        (named("a"), named("a", "b"), named("a", "b"), counted(1, outcome=Outcome.BROKEN), True),
        (counted(4), counted(5), counted(3), counted(2), False),
        (counted(3), counted(5), counted(3), counted(2), True),
        (counted(4), counted(5), counted(3), Finding("tests", Outcome.FAILED), True),
    ],
)
def test_only_the_tests_that_undone_work_had_brought_may_be_missing(
    now: Finding, base: Finding, landed: Finding, before: Finding, lost: bool
) -> None:
    found = compare_tests_run(now, without_brought_tests(base, landed, before))

    assert (found is not None) == lost


def red(finding: Finding, *failing: str) -> Finding:
    """The finding with tests that failed, besides those that passed."""
    count = finding.params["testCount"] + len(failing)
    params = {**finding.params, "testCount": count}
    return replace(finding, outcome=Outcome.FAILED, params=params, failing_tests=failing)


def test_tests_that_failed_at_the_base_are_missed_by_their_names() -> None:
    base = red(named("t.py::other"), "t.py::add[1]", "t.py::add[2]", "u.py::more")
    now = named("t.py::other", "t.py::add[3]", "x.py::a", "x.py::b")

    found = compare_tests_run(now, base, find_absent=missing_cases)

    words = "failed at the base, and does not run now"
    assert has_fewer_tests(now, base)
    assert found is not None
    assert [(item.name, item.message) for item in found.items] == [
        ("t.py::add[1]", words),
        ("u.py::more", words),
    ]
    assert compare_tests_run(now, base, find_absent=lambda _: {}) is None


@pytest.mark.parametrize(
    ("now", "base"),
    [
        (named("a", "b"), red(named("a"), "b")),
        (named("t::a[0x1]", "t::a[0x2]"), named("t::a[0x3]", "t::a[0x4]")),
        (named("a", "b"), counted(2)),
        (counted(2), counted(2)),
        (red(named("a"), "b"), red(named("a"), "b")),
        (replace(red(named("a", "b"), "b"), outcome=Outcome.FLAKY), named("a", "b")),
    ],
    ids=["mended", "ids", "unnamed base", "no names", "fails as before", "flaky"],
)
def test_tests_that_run_again_or_have_no_names_are_not_missed(now: Finding, base: Finding) -> None:
    assert not has_fewer_tests(now, base)
    assert compare_tests_run(now, base, find_absent=missing_cases) is None


def test_a_flaky_test_that_passed_again_counts_once() -> None:
    both = red(named("t::a", "t::b"), "t::b")
    tests = names_of_two_runs(both, named("t::a", "t::b", "t::b"))

    assert tests is not None
    assert tests.now == ("t::a", "t::b")
    assert name_missing(tests, missing_cases(tests)) == ("t::b",)


def test_a_person_is_asked_when_only_the_change_hides_the_names() -> None:
    base = named("t::a", "t::b")
    found = compare_tests_run(counted(3), base, find_absent=missing_cases)

    assert has_fewer_tests(counted(3), base)
    assert found is not None
    assert found.on_failure is OnFailure.ABORT
    assert "its output named 2 tests before the change" in found.message
    assert compare_tests_run(counted(3, outcome=Outcome.FLAKY), base) is None
    known = replace(counted(3), params={**counted(3).params, KNOWN_FAILURES: ["x"]})
    assert not has_fewer_tests(known, base)


def test_failing_tests_that_undone_work_had_brought_may_be_missing() -> None:
    base = red(named("a"), "b", "c")
    without = without_brought_tests(base, named("a", "b"), named("a"))

    assert without.failing_tests == ("c",)


def test_every_case_of_a_removed_test_is_explained() -> None:
    """The goal asks to remove what it tests; other tests are still needed."""
    gone = ("tests/test_a.py::test_old[1]", "tests/test_a.py::test_old[2]")
    base = replace(counted(4), passing_tests=(*gone, "tests/test_a.py::test_b", "t.py::test_c"))
    now = replace(counted(2), passing_tests=base.passing_tests[2:])
    fewer = replace(counted(1), passing_tests=base.passing_tests[2:3])
    removed = ParametrizedTests(
        frozenset({"test_old"}), removed=frozenset({"tests/test_a.py::test_old"})
    )

    assert compare_tests_run(now, base) is not None
    assert compare_tests_run(now, base, removed) is None
    assert compare_tests_run(fewer, base, removed) is not None
