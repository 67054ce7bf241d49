"""Fewer tests than before, by the counts of two runs of a check."""

from __future__ import annotations

from typing import Any

import pytest

from yaoki.core.decide.integrity import (
    WEAKENED_PATTERN,
    compare_tests_run,
    without_brought_tests,
)
from yaoki.core.model import Finding, Outcome

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
