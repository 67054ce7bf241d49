"""The failures that a task is to fix, compared with those of the base."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import a_finding
from yaoki.core.decide.baseline import (
    ONLY_WARNINGS,
    as_baseline,
    describe_alike_failures,
    exception_kind,
    fails_as_before,
    unmatched_fixes,
    weigh,
)
from yaoki.core.decide.integrity import compare_tests_run, vanished_tests
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import Finding, FindingItem, Outcome


def failing_finding(*names: str) -> Finding:
    return a_finding(Outcome.FAILED, items=tuple(FindingItem(name) for name in names))


CUT = a_finding(
    Outcome.FAILED, items=(FindingItem("test_b"), FindingItem("and 7 more", unlisted_count=7))
)


@pytest.mark.spec("6.4", "0.6")
@pytest.mark.parametrize(
    ("fixes", "bases", "lost"),
    [
        (("test_a",), (failing_finding("test_a"),), ()),
        (("test_*",), (failing_finding("lint"), failing_finding("test_a")), ()),
        (("nosuch*", "test_a"), (failing_finding("test_a"),), ("nosuch*",)),
        (("test_a",), (a_finding(Outcome.PASSED),), ("test_a",)),
        (("test_a",), (CUT,), ()),
        (("test_a",), (failing_finding("test_b", "and shows one more"),), ("test_a",)),
        ((), (failing_finding("test_a"),), ()),
    ],
)
def test_a_fix_that_names_no_failure_of_the_base_is_reported(
    fixes: tuple[str, ...], bases: tuple[Finding, ...], lost: tuple[str, ...]
) -> None:
    assert unmatched_fixes(fixes, bases) == lost


# ------------------------------------------------------------------ rule 16.5


def suite(passed: int = 1, outcome: Outcome = Outcome.FAILED, **more: Any) -> Finding:
    """A finding of a test check; `failed` maps names to messages."""
    failed = more.pop("failed", {"t.py::test_old": "assert 1 == 2"})
    passing = tuple(more.pop("passing_tests", (f"t.py::test_{n}" for n in range(passed))))
    params = {"testCount": len(failed) + passed, "skippedCount": 0, "passedCount": passed}
    items = tuple(FindingItem(name, message) for name, message in failed.items())
    return a_finding(
        outcome,
        pattern="test-failed",
        items=items,
        params={**params, **more},
        passing_tests=passing,
        message="1 test failed",
    )


MISSING: dict[str, Any] = {
    "loadError": True,
    "missingModules": ["freezegun"],
    "remedy": "pip install freezegun",
}


@pytest.mark.spec("16.5")
@pytest.mark.parametrize(
    ("base", "words"),
    [
        (suite(0), "no test passes"),
        (suite(2, loadError=True), "did not load"),
        (suite(2, **MISSING), "No module named 'freezegun': pip install freezegun"),
        (suite(2, stoppedEarly="stopping after 1 failures"), "stopping after 1 failures"),
        (
            a_finding(Outcome.FAILED, pattern="test-failed", items=(FindingItem("a"),)),
            "which tests pass",
        ),
    ],
)
def test_an_incomplete_base_run_is_no_baseline(base: Finding, words: str) -> None:
    seen = as_baseline(base)

    assert (seen.outcome, seen.transient) == (Outcome.BROKEN, False)
    assert words in seen.message
    assert weigh(base, seen, ()).outcome is not Outcome.PASSED


@pytest.mark.spec("16.5", "6.4")
@pytest.mark.parametrize(
    "base",
    [suite(1), a_finding(Outcome.PASSED), a_finding(Outcome.FAILED, pattern="lint-error")],
)
def test_a_complete_base_run_is_a_baseline(base: Finding) -> None:
    assert as_baseline(base) == base


@pytest.mark.spec("16.5", "6.4")
def test_a_known_failure_has_the_same_name_and_exception() -> None:
    base = suite(failed={"a": "assert 1 == 2"})

    assert weigh(suite(failed={"a": "assert 3 == 4"}), base, ()).outcome is Outcome.PASSED
    for message in ("ImportError: no name f", "KeyError: 'x'", "it hangs"):
        assert weigh(suite(failed={"a": message}), base, ()).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("assert 1 == 2", "AssertionError"),
        ("AssertionError: no", "AssertionError"),
        ("django.core.exceptions.ImproperlyConfiguredError: x", "ImproperlyConfiguredError"),
        ("ModuleNotFoundError: No module named 'x'", "ModuleNotFoundError"),
        ("does not load: SyntaxError: Unexpected token ';'", "SyntaxError"),
        ("expected 2 to be 3", ""),
        ("", ""),
    ],
)
def test_the_kind_of_a_failure_is_its_exception(message: str, kind: str) -> None:
    assert exception_kind(message) == kind


@pytest.mark.spec("16.5")
def test_a_module_that_is_missing_at_the_base_as_well_is_not_blamed_on_a_guards_task() -> None:
    seen = weigh(suite(0, **MISSING), as_baseline(suite(0, **MISSING)), ())

    assert seen.outcome is Outcome.BROKEN
    assert "No module named 'freezegun'" in seen.message


@pytest.mark.spec("16.5", "6.4")
@pytest.mark.parametrize(("declared", "outcome"), [(["freezegun"], "BROKEN"), ([], "FAILED")])
def test_a_missing_module_that_the_task_may_create_counts_against_the_agent(
    declared: list[str], outcome: str
) -> None:
    """A strict check of a module that is still to be written is the task's own aim."""
    now = suite(0, **MISSING, declaredModules=declared)

    assert weigh(now, as_baseline(now), (), guard=False).outcome == outcome


@pytest.mark.spec("16.5")
def test_a_load_error_of_the_candidate_alone_fails_the_task() -> None:
    now = suite(0, failed={"tests/test_a.py": "ImportError: x"}, loadError=True)

    assert weigh(now, as_baseline(suite(3)), ()).outcome is Outcome.FAILED
    assert weigh(suite(0, **MISSING), as_baseline(suite(3)), ()).outcome is Outcome.FAILED


@pytest.mark.spec("16.5", "6.6")
def test_a_test_that_passed_at_the_base_must_pass_again() -> None:
    base = suite(passing_tests=("t.py::test_a", "t.py::test_b"), passed=2)
    now = weigh(suite(passing_tests=("t.py::test_a", "t.py::test_new"), passed=2), base, ())

    found = compare_tests_run(now, base)

    assert now.outcome is Outcome.PASSED
    assert found is not None
    assert (found.pattern, found.items[0].name) == ("test-weakened", "t.py::test_b")
    assert found.items[0].where == "t.py"


@pytest.mark.spec("16.5", "6.6")
@pytest.mark.parametrize(
    ("base", "now", "lost", "strictly"),
    [
        (["a.py::f"], ["a.py::f", "a.py::g"], 0, 0),
        (["a.py::f"], ["b.py::f"], 0, 0),
        (["a.py::f[0x1]"], ["a.py::f[0x2]"], 0, 0),
        (["a.py::f1", "a.py::f2"], ["a.py::f[1]", "a.py::f[2]", "a.py::f[3]"], 0, 2),
        (["a.py::f1", "a.py::f2"], ["a.py::f[1]"], 1, 2),
        (["a.py::f"], ["b.py::g", "b.py::h"], 1, 1),
        (["f", "f"], ["f"], 1, 1),
    ],
)
def test_only_tests_of_the_same_file_or_name_replace_vanished_ones(
    base: list[str], now: list[str], lost: int, strictly: int
) -> None:
    assert len(vanished_tests(now, base, strict=False)) == lost
    assert len(vanished_tests(now, base, strict=True)) == strictly


@pytest.mark.spec("6.4", "0.6")
@pytest.mark.parametrize("unexplained", ["now", "base"])
def test_warnings_alone_do_not_explain_a_failure(unexplained: str) -> None:
    """Another command behind the same check may have failed."""
    named = a_finding(Outcome.FAILED, items=(FindingItem("a.js: unused"),))
    warned = replace(named, params={ONLY_WARNINGS: True})
    pair = (warned, named) if unexplained == "now" else (named, warned)

    assert weigh(named, named, ()).outcome is Outcome.PASSED
    judged = weigh(*pair, ())
    assert judged.outcome is Outcome.FAILED
    assert "old and new failures cannot be distinguished" in judged.message


def test_a_test_named_like_the_end_of_a_shortened_list_is_a_test() -> None:
    """A failure called "and shows one more" made every guard undecidable."""
    base = a_finding(
        Outcome.FAILED, items=(FindingItem("test_b"), FindingItem("and shows one more"))
    )

    assert unmatched_fixes(("test_a",), (base,)) == ("test_a",)


def test_a_check_fails_as_before_if_it_failed_and_names_no_new_failure() -> None:
    old = suite(failed={"a": "assert 1"})

    assert fails_as_before(old, old)
    assert fails_as_before(old, suite(failed={"a": "assert 1", "b": "assert 2"}))
    assert not fails_as_before(suite(failed={"a": "assert 1", "b": "assert 2"}), old)
    assert not fails_as_before(old, suite(outcome=Outcome.PASSED))
    assert not fails_as_before(old, suite(outcome=Outcome.WAIVED))
    nameless = a_finding(Outcome.FAILED)
    assert fails_as_before(nameless, old), "failures without names cannot be compared"
    assert fails_as_before(old, nameless)


@pytest.mark.spec("12.3")
@pytest.mark.parametrize(
    ("messages", "words"),
    [
        (["KeyError: 'URL'"] * 20, "the first 20 of 90 failures are alike: KeyError: 'URL'"),
        (
            ["KeyError: 'URL'"] * 18 + ["x", "y"],
            "18 of the first 20 of 90 failures are alike: KeyError: 'URL'",
        ),
        (["KeyError: 'URL'"] * 17 + ["x", "y", "z"], ""),
        (["AssertionError: no URL"] * 20, "the first 20 of 90 failures are alike: AssertionError"),
        # An assertion without a message, and a failure without a text, have any cause.
        (["assert False"] * 20, ""),
        (["AssertionError: assert False"] * 20, ""),
        (["AssertionError"] * 20, ""),
        ([""] * 20, ""),
        ([], ""),
    ],
)
def test_failures_with_one_message_are_described_together(messages: list[str], words: str) -> None:
    items = [FindingItem(f"test_{n}", message) for n, message in enumerate(messages)]
    rest = FindingItem("and 70 more", unlisted_count=70)
    finding = a_finding(Outcome.FAILED, items=(*items, rest), params={"failureCount": 90})

    assert describe_alike_failures(finding).startswith(words)
    assert bool(describe_alike_failures(finding)) is bool(words)
