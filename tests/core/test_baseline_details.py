"""Old failures and new ones, weakened tests: the words and params of each comparison."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from tests.builders import a_check, a_finding, an_agent
from yaoki.core.decide.baseline import (
    as_baseline,
    as_displayed_baseline,
    command_key,
    incomplete_suite_reason,
    is_too_red,
    unmatched_fixes,
    weigh,
)
from yaoki.core.decide.fingerprint import fingerprint
from yaoki.core.decide.integrity import (
    compare_tests_run,
    describe_test_count,
    vanished_tests,
    weakened_tests_finding,
)
from yaoki.core.model import CheckSpec, CheckType, Finding, FindingItem, HiddenFiles, Outcome
from yaoki.core.model.check_definition import ParametrizedTests
from yaoki.core.model.outcome import DOUBTFUL_PARAM, bound_items

FAILED, PASSED, BROKEN = Outcome.FAILED, Outcome.PASSED, Outcome.BROKEN


def failed(*names: str, **given: Any) -> Finding:
    items = tuple(FindingItem(name, f"AssertionError: {name}") for name in names)
    return a_finding(FAILED, items=items, **{"message": "it failed", **given})


# ------------------------------------------------------------------ keys and baselines


# The fields of a check that make it another command, or the same one under other conditions.
IN_KEY: dict[str, Any] = {
    "type": CheckType.GIT,
    "argv": ("a",),
    "shell": "a",
    "path": "a",
    "file": {"exists": True},
    "git": "clean",
    "success": "empty",
    "reader": "junit",
    "cwd": "sub",
    "env": {"A": "1"},
    "agent": an_agent(),
    "ask": "a",
    "entry": "a",
    "options": {"a": 1},
    "hidden": HiddenFiles(digest="a"),
    "inputs": ("a",),
}
# The others, and why a stored result stays true when they change.
NOT_IN_KEY = {
    "name": "a command gives the same result under any name",
    "pattern": "names the failure for its template",
    "required": "says what follows from the result",
    "on_failure": "says what follows from the result",
    "timeout": "says how long to wait; a check that ended was given enough time",
    "baseline": "says what the result is compared with",
    "rerun": "says what follows from the result",
    "extract": "adds params for the prompt of a retry",
    "definition": "says which changed files a person must see, not what the command reads",
}


@pytest.mark.spec("6.4")
def test_each_field_of_a_check_is_part_of_its_key_or_has_a_reason_not_to_be() -> None:
    """A new field that is forgotten would reuse the result of another check."""
    assert sorted([*IN_KEY, *NOT_IN_KEY]) == sorted(field.name for field in fields(CheckSpec))


@pytest.mark.spec("6.4")
@pytest.mark.parametrize("field", IN_KEY)
def test_a_baseline_belongs_to_one_command_and_its_conditions(field: str) -> None:
    change = {field: IN_KEY[field]}
    plain = command_key(a_check())

    assert len(plain) == 24
    assert command_key(a_check(**change)) != plain
    assert command_key(a_check("other")) == plain
    assert command_key(a_check(), [["npm", "ci"]]) != plain
    one, two = {"a": "1", "b": "2"}, {"b": "2", "a": "1"}
    assert command_key(a_check(env=one)) == command_key(a_check(env=two))


@pytest.mark.spec("16.5")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"params": {"missingModules": ["a", "b"], "remedy": "install them"}},
            "cannot run: No module named 'a', 'b': install them",
        ),
        ({"params": {"missingModules": ["a"]}}, "cannot run: No module named 'a': "),
        ({"params": {"loadError": True}}, "cannot run: its tests did not load: it failed"),
        (
            {"params": {"stoppedEarly": "-x"}},
            "did not run to its end (-x), so the results of the remaining tests are unknown",
        ),
        ({"params": {"passedCount": 0}}, "cannot run: no test passes: it failed"),
        (
            {"pattern": "test-failed"},
            "cannot run: it does not say which tests pass: it failed",
        ),
    ],
)
def test_a_suite_that_did_not_run_whole_is_no_baseline(given: dict[str, Any], words: str) -> None:
    seen = failed("t", transient=True, **given)

    params = {**seen.params, "incomparable": words}
    assert as_baseline(seen) == replace(
        seen, outcome=BROKEN, transient=False, message=words, items=(), params=params
    )
    assert as_baseline(replace(seen, outcome=PASSED)) == replace(seen, outcome=PASSED)


@pytest.mark.spec("16.5")
@pytest.mark.parametrize(
    "seen",
    [
        failed("t"),
        failed("t", pattern="test-failed", params={"passedCount": 1}),
        failed(pattern="test-failed"),
        failed("t", pattern="lint-error"),
    ],
)
def test_a_suite_that_ran_whole_is_a_baseline(seen: Finding) -> None:
    assert as_baseline(seen) == seen
    assert incomplete_suite_reason(seen) == ""


@pytest.mark.spec("16.5")
def test_a_suite_in_which_every_test_fails_is_displayed_as_failed() -> None:
    every, early = failed("t", params={"passedCount": 0}), failed("t", params={"loadError": True})

    assert as_displayed_baseline(every) == every
    assert as_displayed_baseline(early) == as_baseline(early)


# ------------------------------------------------------------------ old and new


@pytest.mark.spec("6.4")
@pytest.mark.parametrize(
    ("now", "base", "words"),
    [
        (
            failed("a"),
            a_finding(BROKEN, message="no bash"),
            "it failed (on the base the check cannot run)",
        ),
        (
            failed("a"),
            a_finding(BROKEN, params={"incomparable": "cannot run: no test passes: x"}),
            "it failed (on the base the check cannot run: no test passes: x)",
        ),
        (
            failed("a"),
            a_finding(BROKEN, params={"incomparable": "did not run to its end"}),
            "it failed (on the base the check did not run to its end)",
        ),
        (
            failed(),
            failed("a"),
            "it failed (the base fails too, and old and new failures cannot be distinguished)",
        ),
        (
            failed("a"),
            failed(),
            "it failed (the base fails too, and old and new failures cannot be distinguished)",
        ),
        (
            replace(failed("a"), items=(FindingItem("a", unlisted_count=3),)),
            failed("a"),
            "it failed (the base fails too, and old and new failures cannot be distinguished)",
        ),
        (
            failed("a"),
            replace(failed("a"), items=(FindingItem("a", unlisted_count=3),)),
            "it failed (the base fails too, and old and new failures cannot be distinguished)",
        ),
        (failed("a", params={"loadError": True}), failed("a"), "it failed"),
    ],
)
def test_a_failure_that_cannot_be_compared_counts(now: Finding, base: Finding, words: str) -> None:
    assert weigh(now, base, ()) == replace(now, message=words)


@pytest.mark.parametrize("guard", [True, False])
def test_a_failure_of_a_check_that_passed_on_the_base_counts_and_says_so(guard: bool) -> None:
    now = failed("a")

    assert weigh(now, a_finding(PASSED), (), guard=guard) == replace(
        now, params={**now.params, "passedOnBase": True}
    )


@pytest.mark.spec("6.4")
def test_only_a_guard_excuses_known_failures() -> None:
    now = failed("a")

    assert weigh(now, failed("a"), (), guard=False) == now
    assert weigh(now, failed("a"), ()).outcome is PASSED
    assert weigh(replace(now, outcome=PASSED), failed("a"), ()) == replace(now, outcome=PASSED)


@pytest.mark.spec("6.4", "10.4")
def test_a_failure_beside_passing_tests_says_whether_the_base_has_it_too() -> None:
    params = {DOUBTFUL_PARAM: True, "testCount": 2, "passedCount": 2}
    now = a_finding(FAILED, message="exit code 1", params=params)
    other = replace(now, params={"testCount": 2, "passedCount": 1})
    passed = a_finding(PASSED, params={"testCount": 2, "passedCount": 2})

    same = weigh(now, as_baseline(now), (), guard=False)
    assert same == replace(now, message="it fails on the base, too: exit code 1")
    assert weigh(now, other, (), guard=False) == now
    blamed = weigh(now, passed, (), guard=False)
    assert blamed.params == {"testCount": 2, "passedCount": 2, "passedOnBase": True}


@pytest.mark.spec("6.4", "16.5")
def test_failures_that_are_not_listed_are_compared_as_well() -> None:
    """Each must be known: names that are missing could be those of new failures."""

    def many(*more: str) -> Finding:
        whole = failed(*(f"t{n}" for n in range(30)), *more)
        listed = bound_items(whole.items, len(whole.items))
        params = {"failedTests": [f"t{n}" for n in range(25)], "failureCount": len(whole.items)}
        return replace(whole, items=listed, unlisted=whole.items[20:], params=params)

    def cut(finding: Finding) -> Finding:
        return replace(finding, unlisted=finding.unlisted[1:])

    same, new = weigh(many(), many(), ()), weigh(many("new"), many(), ())
    assert (same.outcome, same.params["known"]) == (PASSED, [f"t{n}" for n in range(30)])
    assert new.outcome is FAILED
    assert (new.items, new.unlisted) == ((FindingItem("new", "AssertionError: new"),), ())
    assert (new.params["failedTests"], new.params["failureCount"]) == ([], 1)
    fixes = weigh(many(), many(), ["t29"])
    assert [item.name for item in fixes.items] == ["t29"]
    assert len(weigh(many(), failed("other"), ()).items) == 21, "all are new, and 20 are listed"
    for now, base in ((cut(many()), many()), (many(), cut(many()))):
        assert "cannot be distinguished" in weigh(now, base, ()).message
    assert unmatched_fixes(["t29", "x"], [many()]) == ("x",)
    assert not is_too_red(many())
    assert is_too_red(cut(many()))


@pytest.mark.spec("6.4")
def test_known_failures_are_named_and_do_not_count() -> None:
    names = [f"t{n}" for n in range(6)]
    now = failed(*names, params={"x": 1})

    weighed = weigh(now, failed(*names), ())

    assert weighed == replace(
        now,
        outcome=PASSED,
        message="6 failures already exist on the base: t0, t1, t2, t3, t4",
        items=(),
        params={"x": 1, "known": names},
    )


@pytest.mark.spec("6.4", "6.9")
def test_the_agent_gets_only_the_new_failures() -> None:
    now = failed(
        "old",
        "new",
        output="raw",
        params={
            "failedTests": ["old", "new"],
            "lintErrors": ["one"],
            "failureCount": 2,
            "stdout": "raw",
            "stderr": "raw",
            "errorOutput": "raw",
            "x": ["a", "b"],
        },
    )

    weighed = weigh(now, failed("old"), ())

    assert weighed.outcome is FAILED
    assert weighed.message == "1 failure counts against this task: new: AssertionError: new"
    assert weighed.items == (FindingItem("new", "AssertionError: new"),)
    assert weighed.output == ""
    assert weighed.params == {
        "failedTests": ["new"],
        "lintErrors": ["one"],
        "failureCount": 1,
        "x": ["a", "b"],
        "known": ["old"],
    }


@pytest.mark.spec("6.4")
def test_the_output_is_unchanged_without_known_failures() -> None:
    now = failed("a", "b", output="raw", params={"stdout": "raw"})

    weighed = weigh(now, failed("c"), ())

    assert weighed.message == "2 failures count against this task: a: AssertionError: a"
    assert (weighed.items, weighed.output) == (now.items, "raw")
    assert weighed.params == {"stdout": "raw", "known": []}
    bare = replace(now, items=(FindingItem("a"),))
    assert weigh(bare, failed("c"), ()).message == "1 failure counts against this task: a"


@pytest.mark.spec("6.4")
@pytest.mark.parametrize(
    ("fixes", "outcome"), [((), PASSED), (("t",), FAILED), (("t*",), FAILED), (("u",), PASSED)]
)
def test_a_failure_that_the_task_was_to_fix_counts(
    fixes: tuple[str, ...], outcome: Outcome
) -> None:
    assert weigh(failed("t1", "t"), failed("t", "t1"), fixes).outcome is outcome


@pytest.mark.spec("6.4")
def test_another_exception_of_the_same_test_is_a_new_failure() -> None:
    now = replace(failed("t"), items=(FindingItem("t", "KeyError: 'x'"),))

    assert weigh(now, failed("t"), ()).outcome is FAILED


@pytest.mark.spec("6.4", "16.5")
@pytest.mark.parametrize(
    ("missing", "base", "declared", "guard", "outcome"),
    [
        (["a"], ["a"], [], True, BROKEN),
        (["a"], ["a", "b"], [], True, BROKEN),
        (["a", "b"], ["a"], [], True, FAILED),
        (["a"], ["a"], [], False, FAILED),
        (["a"], ["a"], ["a"], False, BROKEN),
        ([], [], [], True, FAILED),
    ],
)
def test_a_module_missing_at_the_base_does_not_fail_the_task(
    missing: list[str], base: list[str], declared: list[str], guard: bool, outcome: Outcome
) -> None:
    now = failed("t", params={"missingModules": missing, "declaredModules": declared})
    before = as_baseline(failed("t", params={"missingModules": base}))

    weighed = weigh(now, before, (), guard=guard)

    assert weighed.outcome is (outcome if missing else PASSED)
    if outcome is BROKEN:
        assert weighed.message == "cannot run: No module named 'a': "
        assert (weighed.items, weighed.transient) == ((), False)


@pytest.mark.spec("6.4")
def test_fixes_that_match_no_failure_of_the_base_are_found() -> None:
    assert unmatched_fixes(["a", "b*"], [failed("a", "bc")]) == ()
    assert unmatched_fixes(["a", "x"], [failed("a"), failed("b")]) == ("x",)
    assert unmatched_fixes(["a"], [replace(failed("a"), outcome=PASSED)]) == ("a",)
    cut = replace(failed("b"), items=(FindingItem("b", unlisted_count=1),))
    assert unmatched_fixes(["a"], [cut]) == ()


# ------------------------------------------------------------------ fewer tests


def ran(count: int, skipped: int | None = None, *names: str, **more: Any) -> Finding:
    params = {"testCount": count, **more}
    if skipped is not None:
        params["skippedCount"] = skipped
    return a_finding(PASSED, params=params, passing_tests=names)


@pytest.mark.spec("6.6")
@pytest.mark.parametrize(
    ("now", "base", "words"),
    [
        (ran(5), ran(5), ""),
        (ran(6), ran(5), ""),
        (ran(4), ran(5), "5 tests ran before the change, 4 with it"),
        (ran(0), ran(1), "1 test ran before the change, 0 with it"),
        (ran(5, 1), ran(5), "5 tests ran before the change, 4 with it, and 1 more is skipped"),
        (
            ran(5, 3),
            ran(5, 1),
            "4 tests ran before the change, 2 with it, and 2 more are skipped",
        ),
        (ran(5, 1), ran(6, 1), "5 tests ran before the change, 4 with it"),
        (ran(5, 0), ran(7, 1), "6 tests ran before the change, 5 with it"),
        (
            ran(5, None, passedCount=3),
            ran(5, None, passedCount=4),
            "5 tests ran before the change, 5 with it",
        ),
        (ran(5, None, passedCount=4), ran(5, None, passedCount=4), ""),
        (a_finding(PASSED), ran(5), ""),
        (ran(5), a_finding(PASSED), ""),
    ],
)
def test_fewer_tests_than_at_the_base_are_counted(now: Finding, base: Finding, words: str) -> None:
    found = compare_tests_run(now, base)

    assert (found.message if found else "") == (
        f"1 change weakens the tests: check tests ({words})" if words else ""
    )


@pytest.mark.spec("6.6")
def test_tests_merged_into_a_parametrized_one_are_not_missing() -> None:
    folded = ParametrizedTests(frozenset({"test_a", "test_b", "test_c"}), 1)

    assert compare_tests_run(ran(3), ran(5), folded) is None
    assert compare_tests_run(ran(2), ran(5), folded) is not None
    counted = ran(5, None, passedCount=3), ran(5, None, passedCount=5)
    assert compare_tests_run(*counted, folded) is None
    named = ran(1, None, "f.py::x"), ran(1, None, "g.py::test_a")
    assert compare_tests_run(*named, folded) is None
    assert compare_tests_run(*named) is not None


@pytest.mark.spec("6.6")
def test_a_lost_test_is_named_with_its_file() -> None:
    found = compare_tests_run(ran(2, None, "b.py::x"), ran(2, None, "a.py::y"))

    words = "passed at the base, and does not pass now"
    assert found is not None
    assert found.message == f"1 change weakens the tests: a.py::y ({words})"
    assert found.items == (FindingItem("a.py::y", words, "a.py"),)
    both = compare_tests_run(ran(1, None, "b.py::x"), ran(2, None, "a.py::y"))
    assert both is not None
    assert [item.name for item in both.items] == ["check tests", "a.py::y"]


@pytest.mark.spec("6.6")
@pytest.mark.parametrize(
    ("now", "base", "strict", "lost"),
    [
        ("a::x", "a::x", True, ""),
        ("b::x", "a::x", True, ""),
        ("a::y", "a::x", True, "a::x"),
        ("a::y", "a::x", False, ""),
        ("b::y", "a::x", False, "a::x"),
        ("a::x[1] a::x[2]", "a::x[3]", True, ""),
        ("b::x", "a::x c::x", True, "c::x"),
        ("a::y", "a::x a::z", False, "a::z"),
        ("x", "y", False, "y"),
        ("", "a::x a::x", True, "a::x a::x"),
    ],
)
def test_vanished_tests_are_found(now: str, base: str, strict: bool, lost: str) -> None:
    assert vanished_tests(now.split(), base.split(), strict=strict) == tuple(lost.split())


@pytest.mark.spec("6.6")
def test_under_a_guard_only_a_moved_test_replaces_one_that_passed() -> None:
    now, base = ran(1, None, "a::y", known=[]), ran(1, None, "a::x")

    assert compare_tests_run(now, base) is not None
    assert compare_tests_run(ran(1, None, "a::y"), base) is None


@pytest.mark.spec("6.6")
def test_the_finding_names_each_weakened_test() -> None:
    items = [FindingItem(f"t{n}", "gone", f"f{n}.py") for n in range(60)]

    found = weakened_tests_finding(items)

    assert (found.check, found.outcome, found.pattern) == (
        "test-integrity",
        FAILED,
        "test-weakened",
    )
    assert found.message == (
        "60 changes weaken the tests: t0 in f0.py (gone), t1 in f1.py (gone), t2 in f2.py (gone)"
    )
    assert found.items == tuple(items[:50])
    assert found.params["weakenedTests"][1] == {"name": "t1", "message": "gone", "file": "f1.py"}
    assert len(found.params["weakenedTests"]) == 50
    inside = weakened_tests_finding([FindingItem("a.py::t", "gone", "a.py")])
    assert inside.message == "1 change weakens the tests: a.py::t (gone)"
    assert weakened_tests_finding([FindingItem("t", "gone")]).message.endswith("t (gone)")


@pytest.mark.spec("6.6")
@pytest.mark.parametrize(
    ("params", "words"),
    [({"passedCount": 784}, "784 tests"), ({"passedCount": 1}, "1 test"), ({}, ""),
     ({"passedCount": 735, "skippedCount": 143}, "735 tests, 143 skipped"),
     ({"passedCount": 9, "skippedCount": 3, "xfailedCount": 2}, "9 tests, 1 skipped, 2 xfailed"),
     ({"passedCount": 9, "skippedCount": 2, "xfailedCount": 2}, "9 tests, 2 xfailed"),
     ({"passedCount": None}, ""), ({"passedCount": True}, "")],
)  # fmt: skip
def test_the_test_count_is_described_in_words(params: dict[str, Any], words: str) -> None:
    assert describe_test_count(a_finding(params=params)) == words


# ------------------------------------------------------------------ fingerprints


@pytest.mark.spec("4.6")
def test_a_fingerprint_never_changes_between_versions() -> None:
    """Rows and journals of older versions hold these digits."""
    items = (FindingItem("b", "boom"), FindingItem("a", "at 0x7f12"))

    assert fingerprint("QUALITY_FAILURE", "test-failed", "tests", "m", items) == "a0d53c61fe58"
    assert fingerprint("TIMEOUT", "", "", "after 61 s", ()) == "42ebc1e83e71"
    assert fingerprint("TIMEOUT", "", "", "a\udc80", ()) == "d62c5caadd32"
