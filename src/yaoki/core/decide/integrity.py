"""Fewer tests than before: a passing check that runs fewer tests proves less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from yaoki.core.decide.baseline import KNOWN_FAILURES
from yaoki.core.decide.test_names import missing_cases, name_missing, names_of_two_runs
from yaoki.core.lazy_dataclass import replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import Finding, FindingItem, OnFailure, Outcome
from yaoki.core.model.check_definition import (
    NO_PARAMETRIZED_TESTS,
    ParametrizedTests,
    TestsOfTwoRuns,
)
from yaoki.core.text import format_count

INTEGRITY_CHECK, WEAKENED_PATTERN = "test-integrity", "test-weakened"
ITEMS_MAX = 50
# XFAILED counts some of those that SKIPPED counts: neither kind proves anything.
COUNT, SKIPPED, PASSED = "testCount", "skippedCount", "passedCount"
XFAILED = "xfailedCount"
_WORDS = lazy_compile(r"\w+")
LOST_TEST_MESSAGE = "passed at the base, and does not pass now"
ABSENT_TEST_MESSAGE = "failed at the base, and does not run now"
# The tests that do not run any more, with their missing cases, for no reason that the change gives.
FindAbsentTests = Callable[[TestsOfTwoRuns], Mapping[str, int]]


def has_test_count(finding: Finding) -> bool:
    """Does the finding say how many tests there were?"""
    return type(finding.params.get(COUNT)) is int


def count_run_tests(finding: Finding) -> int:
    """The number of tests that ran."""
    return int(finding.params[COUNT]) - int(finding.params.get(SKIPPED, 0))


def count_passed_tests(finding: Finding) -> int:
    """The number of tests that passed; all that ran if it is unknown."""
    return int(finding.params.get(PASSED, count_run_tests(finding)))


def describe_test_count(finding: Finding) -> str:
    """`784 tests` that passed, `, 3 skipped, 2 xfailed`; empty if the check counts none.

    Tests that are skipped in a worktree may run in the user's checkout: a file is missing here.
    """
    passed, unproven = finding.params.get(PASSED), finding.params.get(SKIPPED, 0)
    more = describe_unproven(unproven, finding.params.get(XFAILED, 0))
    parts = [format_count(passed, "test"), more] if type(passed) is int else []
    return ", ".join(filter(None, parts))


def describe_unproven(unproven: int, xfailed: int) -> str:
    """`3 skipped, 2 xfailed`, in the words of pytest; `unproven` counts both."""
    counts = {"skipped": unproven - xfailed, "xfailed": xfailed}
    return ", ".join(f"{number} {word}" for word, number in counts.items() if number)


def has_fewer_tests(now: Finding, base: Finding) -> bool:
    """Are there fewer tests than at the base, or is a test of the base missing by its name?"""
    if not has_test_count(now) or not has_test_count(base):
        return False
    tests = names_of_two_runs(now, base)
    is_missing = tests is not None and bool(missing_cases(tests))
    return is_missing or hides_names(now, base) or compare_tests_run(now, base) is not None


def compare_tests_run(
    now: Finding,
    base: Finding,
    folding: ParametrizedTests = NO_PARAMETRIZED_TESTS,
    find_absent: FindAbsentTests | None = None,
) -> Finding | None:
    """The tests that are missing compared with the base; None if none are, or if it is unknown.

    Tests that became cases of a parametrized test are not missing.

    Where both sides have names, a test that ran at the base must run again, unless `find_absent`
    knows why the change makes it absent.  Without it, a test that passed at the base must pass
    again: under a guard that accepts old failures, only a moved test replaces one that passed;
    elsewhere other tests of the same file may, since a table of cases can replace single tests.
    """
    if not has_test_count(now) or not has_test_count(base):
        return None
    tests = names_of_two_runs(now, base)
    named = bool(now.passing_tests and base.passing_tests)
    if hides_names(now, base) and find_absent is not None:
        return _hidden_names_finding(now, base)
    if tests is not None and find_absent is not None:
        items = list(_absent_items(tests, find_absent))
    else:
        items = list(_lost_items(now, base, folding)) if named else []
    less = folding.fewer_tests + _count_more_removed(base, folding)
    if count_run_tests(now) + less >= count_run_tests(base) and (
        named or count_passed_tests(now) + less >= count_passed_tests(base)
    ):
        return weakened_tests_finding(items) if items else None
    words = (
        f"{format_count(count_run_tests(base), 'test')} ran before the change, "
        f"{count_run_tests(now)} with it{_describe_more_unproven(now, base)}"
    )
    return weakened_tests_finding([FindingItem(f"check {now.check}", words), *items])


def hides_names(now: Finding, base: Finding) -> bool:
    """Does a check that named its tests at the base not name them now?

    A flaky check and one with old failures may name fewer for other reasons.
    """
    passed = now.outcome is Outcome.PASSED and KNOWN_FAILURES not in now.params
    return passed and not now.passing_tests and bool(base.passing_tests or base.failing_tests)


def _hidden_names_finding(now: Finding, base: Finding) -> Finding:
    """Only a person can tell whether the same tests run."""
    count = format_count(len(base.passing_tests) + len(base.failing_tests), "test")
    words = f"its output named {count} before the change, and does not name all of them with it"
    found = weakened_tests_finding([FindingItem(f"check {now.check}", words)])
    return replace(found, on_failure=OnFailure.ABORT)


def _lost_items(now: Finding, base: Finding, folding: ParametrizedTests) -> Iterator[FindingItem]:
    guard = KNOWN_FAILURES in now.params
    for name in vanished_tests(now.passing_tests, base.passing_tests, strict=guard):
        if not folding.names & set(_WORDS.findall(name)):
            yield FindingItem(name, LOST_TEST_MESSAGE, _file(name))


def _absent_items(tests: TestsOfTwoRuns, find_absent: FindAbsentTests) -> Iterator[FindingItem]:
    for name in name_missing(tests, find_absent(tests)):
        failed = name in tests.failed_before
        words = ABSENT_TEST_MESSAGE if failed else LOST_TEST_MESSAGE
        yield FindingItem(name, words, _file(name))


def _count_more_removed(base: Finding, folding: ParametrizedTests) -> int:
    """The removed tests beyond one of each name: cases, and tests of that name in other files."""
    ran = [
        name
        for name in (*base.passing_tests, *base.failing_tests)
        if name.partition("[")[0] in folding.removed
    ]
    return len(ran) - len({_function_name(name) for name in ran})


def _describe_more_unproven(now: Finding, base: Finding) -> str:
    """`, and 2 more are skipped`: tests that fail as expected are not skipped."""
    unproven, xfailed = (
        int(now.params.get(key, 0)) - int(base.params.get(key, 0)) for key in (SKIPPED, XFAILED)
    )
    counts = {"skipped": unproven - xfailed, "xfailed": xfailed}
    parts = [
        f"{format_count(number, 'more is', 'more are')} {word}"
        for word, number in counts.items()
        if number > 0
    ]
    return "".join(f", and {part}" for part in parts)


def without_brought_tests(base: Finding, landed: Finding, before: Finding) -> Finding:
    """The base without the tests that `landed` ran and the commit `before` it did not.

    Where they have names, exactly those of them that the base still runs; else their number.
    """
    if not _has_run_tests(landed) or not (_has_run_tests(before) or _has_no_tests(before)):
        return base
    if base.passing_tests and landed.passing_tests:
        brought = Counter(landed.passing_tests) - Counter(before.passing_tests)
        kept = tuple((Counter(base.passing_tests) - brought).elements())
        less = len(base.passing_tests) - len(kept)
        failing = tuple(name for name in base.failing_tests if name not in brought)
        without = replace(base, passing_tests=kept, failing_tests=failing)
        return _with_fewer_tests(without, less)
    return _with_fewer_tests(base, max(0, count_run_tests(landed) - count_run_tests(before)))


def _has_run_tests(finding: Finding) -> bool:
    complete = finding.outcome in {Outcome.PASSED, Outcome.FAILED}
    return complete and has_test_count(finding)


def _has_no_tests(finding: Finding) -> bool:
    """Did the check find no tests?  A suite that could not be loaded is another case."""
    known = has_test_count(finding) and "loadError" not in finding.params
    return known and count_run_tests(finding) == 0


def _with_fewer_tests(finding: Finding, less: int) -> Finding:
    counts = (COUNT, PASSED) if PASSED in finding.params else (COUNT,)
    fewer = {name: int(finding.params[name]) - less for name in counts}
    return replace(finding, params={**finding.params, **fewer})


def vanished_tests(now: Sequence[str], base: Sequence[str], *, strict: bool) -> tuple[str, ...]:
    """The tests that passed at the base and neither pass again nor were replaced."""
    fresh = Counter(now)
    fresh.subtract(base)
    lost = [name for name, times in fresh.items() for _ in range(-times)]
    new = [name for name, times in fresh.items() for _ in range(times)]
    lost = _unmatched(lost, Counter(_function_name(name) for name in new), _function_name)
    if not strict:
        remaining = Counter(_file(name) for name in new)
        lost = _unmatched(lost, remaining, _file)
    return tuple(lost)


def _unmatched(lost: Sequence[str], new: Counter[str], key: Callable[[str], str]) -> list[str]:
    """The tests for which no new test of the same key is left; each new test counts once."""
    rest: list[str] = []
    for name in lost:
        if key(name) and new[key(name)] > 0:
            new[key(name)] -= 1
        else:
            rest.append(name)
    return rest


def _function_name(name: str) -> str:
    """`tests/test_a.py::C::test_x[1]` is test_x, whatever its file and parameters."""
    return name.rpartition("::")[2].partition("[")[0]


def _file(name: str) -> str:
    return name.partition("::")[0] if "::" in name else ""


def weakened_tests_finding(items: Sequence[FindingItem]) -> Finding:
    """A single finding about all weakened tests."""
    shown = tuple(items[:ITEMS_MAX])
    named = ", ".join(_test_with_file(item) for item in shown[:3])
    many = "1 change weakens" if len(items) == 1 else f"{len(items)} changes weaken"
    return Finding(
        INTEGRITY_CHECK,
        Outcome.FAILED,
        pattern=WEAKENED_PATTERN,
        message=f"{many} the tests: {named}",
        items=shown,
        params={"weakenedTests": [_record(item) for item in shown]},
    )


def _test_with_file(item: FindingItem) -> str:
    """The test with its file, since several files may have a test of that name."""
    place = f" in {item.where}" if item.where and item.where not in item.name else ""
    return f"{item.name}{place} ({item.message})"


def _record(item: FindingItem) -> dict[str, str]:
    return {"name": item.name, "message": item.message, "file": item.where}
