"""The names of tests in two runs of a check: which ran before, and do not run now?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from yaoki.core.decide.baseline import KNOWN_FAILURES
from yaoki.core.model import Finding
from yaoki.core.model.check_definition import TestsOfTwoRuns


def names_of_two_runs(now: Finding, base: Finding) -> TestsOfTwoRuns | None:
    """The names on both sides; None if one of them is unknown, as in older baselines."""
    before = _tests_that_ran(base)
    if not before or not now.passing_tests:
        return None
    return TestsOfTwoRuns(
        before, _tests_that_ran(now), frozenset(base.failing_tests), KNOWN_FAILURES in now.params
    )


def _tests_that_ran(finding: Finding) -> tuple[str, ...]:
    """A flaky test that passed again is in both lists."""
    passing = frozenset(finding.passing_tests)
    failing = (name for name in finding.failing_tests if name not in passing)
    return (*finding.passing_tests, *failing)


def without_parameters(name: str) -> str:
    """`tests/test_a.py::test_x[1]` without its parameters, which may differ from run to run.

    Brackets in the title of another runner are its words.
    """
    bare = name.partition("[")[0]
    return bare if "::" in bare else name


def count_cases(names: Iterable[str]) -> Counter[str]:
    """The number of cases of each test."""
    return Counter(map(without_parameters, names))


def missing_cases(tests: TestsOfTwoRuns) -> Counter[str]:
    """The tests of which fewer cases run than before, and how many fewer."""
    return count_cases(tests.before) - count_cases(tests.now)


def name_missing(tests: TestsOfTwoRuns, missing: Mapping[str, int]) -> tuple[str, ...]:
    """The names of the missing cases, with their parameters."""
    gone = Counter(tests.before) - Counter(tests.now)
    names: list[str] = []
    for name, times in missing.items():
        cases = [case for case in gone.elements() if without_parameters(case) == name]
        names += cases[:times]
    return tuple(names)
