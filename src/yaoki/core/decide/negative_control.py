"""Judges a negative control: does a check fail when its tests are made to fail? (rule 17.9)

The program under test runs in the process of its tests, so it can rewrite their result.  A check
that reports a test as passed although the test was made to fail proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum, unique

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import (
    NEGATIVE_CONTROL_CHECK,
    Finding,
    FindingItem,
    OnFailure,
    Outcome,
)
from yaoki.core.model.failing_tests import FailingTests
from yaoki.core.model.outcome import TIMED_OUT_PARAM
from yaoki.core.text import format_count, list_some

GAMED_PATTERN = "gamed"
NAMES_SHOWN, PLACES_MAX = 3, 20
_GOOD = frozenset({Outcome.PASSED, Outcome.FLAKY, Outcome.WAIVED})


@unique
class ControlOutcome(StrEnum):
    """HELD: the check reports the tests that were made to fail.  FORGED: it reports one of them as
    passed.  UNNOTICED: it passes, and names none of them.  NOT_RUN: there is no control.
    """

    HELD = "held"
    FORGED = "forged"
    UNNOTICED = "unnoticed"
    NOT_RUN = "not-run"


@dataclass(frozen=True, slots=True)
class ControlResult:
    """The control of one check.  `tests` are those of it that were made to fail, or those that are
    reported as passed all the same; none where the check does not name its tests.
    """

    check: str
    outcome: ControlOutcome
    tests: tuple[str, ...] = ()
    reason: str = ""
    is_hidden: bool = False


def select_failing(names: Iterable[str], files: Sequence[FailingTests]) -> tuple[str, ...]:
    """The reported names of tests that were made to fail; one that may be another test is not."""
    sure = {end for file in files for name in file.names for end in _ends(name)}
    sure -= {end for file in files for name in file.left_alone for end in _ends(name)}
    return tuple(name for name in names if _dotted(name) in sure)


def judge_control(
    run: Finding, normal: Finding, files: Sequence[FailingTests], *, is_hidden: bool = False
) -> ControlResult:
    """`run`: the check with the failing tests; `normal`: its result without them."""
    check = normal.check
    failing = select_failing(normal.passing_tests, files)
    passing = select_failing(run.passing_tests, files)
    if passing or (run.outcome in _GOOD and failing):
        named = passing or failing
        return ControlResult(check, ControlOutcome.FORGED, named, is_hidden=is_hidden)
    if run.outcome in _GOOD:
        return ControlResult(check, ControlOutcome.UNNOTICED)
    if run.outcome is not Outcome.FAILED:
        return ControlResult(check, ControlOutcome.NOT_RUN, reason="it could not run again")
    if run.params.get("loadError") or run.params.get(TIMED_OUT_PARAM):
        too_long = run.params.get(TIMED_OUT_PARAM)
        problem = "it takes too long" if too_long else "they cannot be loaded"
        why = f"with its tests made to fail, {problem}"
        return ControlResult(check, ControlOutcome.NOT_RUN, reason=why)
    return ControlResult(check, ControlOutcome.HELD, failing)


def judge_controls(
    results: Sequence[ControlResult], places: Sequence[FindingItem], seconds: float = 0.0
) -> Finding:
    """One finding about all checks; `places` are the lines that made a control necessary."""
    by_outcome = {
        outcome: [one for one in results if one.outcome is outcome] for outcome in ControlOutcome
    }
    if forged := by_outcome[ControlOutcome.FORGED]:
        words = [f"check {one.check}{_named(one)}" for one in forged]
        message = (
            "the changed code rewrites the result of its tests, which were made to fail and are"
            f" reported as passed: {'; '.join(words)}"
        )
        return _failed(message, places, seconds)
    if unnoticed := by_outcome[ControlOutcome.UNNOTICED]:
        names = list_some([one.check for one in unnoticed], NAMES_SHOWN)
        message = (
            f"check {names} passes although the tests of all Python test files were made to fail:"
            " the changed code rewrites its result, or the check runs none of these tests"
        )
        # Another attempt cannot change what the check runs.
        return _failed(message, places, seconds, OnFailure.ABORT)
    left_out = "; ".join(_describe_left_out(by_outcome[ControlOutcome.NOT_RUN]))
    held = by_outcome[ControlOutcome.HELD]
    if not held:
        why = left_out or "no check runs Python tests"
        message = f"the changed code could rewrite the results of its tests, but {why}"
        return Finding(NEGATIVE_CONTROL_CHECK, Outcome.SKIPPED, message=message, seconds=seconds)
    reports = "; ".join(_describe_held(held))
    message = f"{reports}; {left_out}" if left_out else reports
    return Finding(NEGATIVE_CONTROL_CHECK, Outcome.PASSED, message=message, seconds=seconds)


def _failed(
    message: str,
    places: Sequence[FindingItem],
    seconds: float,
    on_failure: OnFailure = OnFailure.RETRY,
) -> Finding:
    shown = tuple(places[:PLACES_MAX])
    return Finding(
        NEGATIVE_CONTROL_CHECK,
        Outcome.FAILED,
        on_failure=on_failure,
        pattern=GAMED_PATTERN,
        message=message,
        items=shown,
        params={"tellTales": [{"name": one.name, "message": one.message} for one in shown]},
        seconds=seconds,
    )


def _named(one: ControlResult) -> str:
    """Names of hidden tests are not for the agent."""
    if one.is_hidden or not one.tests:
        return ""
    return f" ({list_some(one.tests, NAMES_SHOWN)})"


def _describe_held(held: Iterable[ControlResult]) -> Iterator[str]:
    for one in held:
        count = format_count(len(one.tests), "test is", "tests are")
        tests = count if one.tests else "its tests are"
        yield f"check {one.check} fails when {tests} made to fail"


def _describe_left_out(results: Iterable[ControlResult]) -> Iterator[str]:
    for one in results:
        yield f"check {one.check} has no negative control: {one.reason}"


def _ends(name: str) -> Iterator[str]:
    """`a.test_b.C.test` may be reported as `test_b.C.test`: a check may run in a folder."""
    parts = name.split(".")
    return (".".join(parts[start:]) for start in range(max(1, len(parts) - 1)))


def _dotted(name: str) -> str:
    """`a/test_b.py::C::test[1]` of pytest as `a.test_b.C.test`, the form of unittest."""
    bare = name.partition("[")[0].replace(".py::", ".").replace("::", ".")
    return bare.replace("/", ".").strip()
