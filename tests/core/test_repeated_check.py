"""A check that fails in a replay or a session: run again, with the quarantine of the settings."""

from __future__ import annotations

import pytest

from tests.builders import a_check
from tests.core.test_quarantine import ENTRY, NOW, OLD, failed
from yaoki.core.decide.quarantine import FAILURES_TO_COMPARE, RERUNS_MAX
from yaoki.core.decide.repeated_check import RepeatedCheck, is_repeatable
from yaoki.core.model import CheckSpec, CheckType, Finding, HiddenFiles, Outcome
from yaoki.core.model.flaky_test import QuarantineEntry

pytestmark = pytest.mark.spec("18.8")
PASSED = Finding("unit", Outcome.PASSED)


class Runs:
    """The results of the re-runs: `.` passes, `a` and `b` are the tests that fail."""

    def __init__(self, results: str, base: str = "") -> None:
        self.results, self.base = list(results.split(",") if results else ()), list(base)

    def again(self) -> Finding | None:
        return self._next(self.results)

    def on_base(self) -> Finding | None:
        return self._next(self.base)

    def _next(self, results: list[str]) -> Finding | None:
        if not results:
            return None
        letters = results.pop(0)
        return PASSED if letters == "." else failed(*(f"t.py::{letter}" for letter in letters))


def judge(
    runs: Runs,
    *entries: QuarantineEntry,
    first: str = "a",
    spec: CheckSpec | None = None,
    reruns_max: int = RERUNS_MAX,
) -> Finding:
    names = [f"t.py::{letter}" for letter in first]
    on_base = runs.on_base if reruns_max == RERUNS_MAX else None
    repeated = RepeatedCheck(spec or a_check("unit"), runs.again, on_base, reruns_max)
    return repeated.judge(failed(*names), entries, NOW)


@pytest.mark.parametrize(
    ("first", "results", "entry", "outcome", "words"),
    [
        ("a", ".", None, Outcome.FLAKY, ""),
        ("a", "a,.,.,.,.", None, Outcome.FAILED, ""),
        ("a", "a,.,.", ENTRY, Outcome.FLAKY, "excused by the quarantine: t.py::a (owner mia"),
        ("a", "a,a,a,a,a,.", ENTRY, Outcome.FAILED, "it failed 6 of 6 times on this commit"),
        ("a", ".", ENTRY, Outcome.FLAKY, "in quarantine: t.py::a (owner mia"),
        ("a", ".", OLD, Outcome.FAILED, "expired on 2030-01-01 00:00 UTC (owner mia)"),
        ("b", ".", OLD, Outcome.FLAKY, ""),
        ("ab", "ab,ab,.", ENTRY, Outcome.FAILED, ""),
        ("ab", "a,.,.", ENTRY, Outcome.FLAKY, "excused"),
        ("a", "b,.,.", ENTRY, Outcome.FAILED, ""),
        ("a", "", ENTRY, Outcome.FAILED, ""),
    ],
    ids=[
        "no-entry-passes",
        "no-entry-fails-again",
        "excused",
        "deterministic",
        "passes-at-once",
        "expired",
        "expired-entry-of-another-test",
        "another-one-fails-too",
        "another-one-is-cleared",
        "another-one-fails-later",
        "no-time",
    ],
)
def test_a_failure_outside_of_a_run_is_judged_as_in_one(
    first: str, results: str, entry: QuarantineEntry | None, outcome: Outcome, words: str
) -> None:
    judged = judge(Runs(results), *((entry,) if entry else ()), first=first)

    assert (judged.outcome, words in judged.message) == (outcome, True)


def test_a_test_that_seldom_passes_is_compared_with_the_base() -> None:
    worse = judge(Runs("a,a,a,a,.", "....."), ENTRY)
    alike = judge(Runs("a,a,a,a,.", "aa.a."), ENTRY)

    assert (worse.outcome, alike.outcome) == (Outcome.FAILED, Outcome.FLAKY)
    assert "fails more often than without the change" in worse.message


def test_without_a_base_a_test_that_seldom_passes_is_red() -> None:
    runs, few = Runs("a,a,."), FAILURES_TO_COMPARE - 1

    judged = judge(runs, ENTRY, reruns_max=few)

    assert judged.outcome is Outcome.FAILED
    assert runs.results == ["."], "it runs no more often than it can be judged"
    assert judge(Runs("a,."), ENTRY, reruns_max=few).outcome is Outcome.FLAKY


def test_the_tests_of_a_hidden_check_are_not_named() -> None:
    hidden = a_check("unit", hidden=HiddenFiles())

    assert judge(Runs("a,."), ENTRY, spec=hidden).outcome is Outcome.FAILED
    assert judge(Runs("."), OLD, spec=hidden).outcome is Outcome.FLAKY


def test_only_a_failed_command_that_may_be_repeated_is() -> None:
    assert is_repeatable(a_check("unit"), failed("t.py::a"))
    assert not is_repeatable(a_check("unit", rerun=False), failed("t.py::a"))
    assert not is_repeatable(a_check("unit", type=CheckType.FILE), failed("t.py::a"))
    assert not is_repeatable(a_check("unit"), PASSED)
