"""What a quarantine excuses, and what it never does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from yaoki.core.decide.quarantine import (
    EXPIRED,
    QUARANTINED,
    TEST_RUNS,
    UNMATCHED,
    ExcuseVerdict,
    ObservedTests,
    RepeatedTests,
    apply_quarantine,
    count_passed_tests,
    names_every_failure,
    note_unmatched,
    observe_known,
    observe_tests,
    select_observations,
    with_test_runs,
)
from yaoki.core.model import Finding, FindingItem, Outcome
from yaoki.core.model.flaky_test import QuarantineEntry, SameCommitRuns, find_entry

pytestmark = pytest.mark.spec("18.8")

NOW = datetime(2030, 1, 1, tzinfo=UTC)
ENTRY = QuarantineEntry("t.py::a", "mia", NOW + timedelta(days=9), "races with the clock")
OLD = QuarantineEntry("t.py::a", "mia", NOW, "races with the clock")


def a_run(mark: str, test: str = "t.py::a") -> ObservedTests:
    """`.` is a pass, `F` a failure, `-` a run that does not say."""
    one = frozenset({test})
    return ObservedTests(one if mark == "F" else frozenset(), one if mark == "." else frozenset())


def repeated(candidate: str, base: str = "") -> RepeatedTests:
    return RepeatedTests(a_run("F"), tuple(map(a_run, candidate)), tuple(map(a_run, base)))


def failed(*names: str, **fields: object) -> Finding:
    items = tuple(FindingItem(name) for name in names)
    return Finding("unit", Outcome.FAILED, message="1 test failed", items=items, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("candidate", "base", "entry", "verdict"),
    [
        (".....", "", None, ExcuseVerdict.CLEARED),
        ("....", "", None, ExcuseVerdict.COUNTS),
        (".F", "", None, ExcuseVerdict.COUNTS),
        ("F.", "", ENTRY, ExcuseVerdict.EXCUSED),
        (".F", "", ENTRY, ExcuseVerdict.EXCUSED),
        (".....", "", ENTRY, ExcuseVerdict.CLEARED),
        ("FFFFF", "", ENTRY, ExcuseVerdict.COUNTS),
        ("FFFFF", ".F.F.", ENTRY, ExcuseVerdict.COUNTS),
        ("-----", "", ENTRY, ExcuseVerdict.COUNTS),
        ("", "", ENTRY, ExcuseVerdict.COUNTS),
        ("FFF.", ".....", ENTRY, ExcuseVerdict.WORSE),
        ("FFFF.", ".....", ENTRY, ExcuseVerdict.WORSE),
        ("FFF.", "..F..", ENTRY, ExcuseVerdict.EXCUSED),
        ("FF.", ".....", ENTRY, ExcuseVerdict.WORSE),
        ("FF.", "..F..", ENTRY, ExcuseVerdict.EXCUSED),
        ("F.", ".....", ENTRY, ExcuseVerdict.EXCUSED),
        ("FFF.", "", ENTRY, ExcuseVerdict.EXCUSED),
        ("F.", "", OLD, ExcuseVerdict.EXPIRED),
        (".....", "", OLD, ExcuseVerdict.EXPIRED),
    ],
)
def test_only_a_listed_test_that_passes_on_the_same_commit_is_excused(
    candidate: str, base: str, entry: QuarantineEntry | None, verdict: ExcuseVerdict
) -> None:
    assert repeated(candidate, base).judge("t.py::a", 5, entry, NOW) is verdict


@pytest.mark.parametrize(
    ("candidate", "undecided"),
    [("", True), ("F", True), ("FF", True), ("F.", False), (".", False)],
)
def test_a_quarantined_test_runs_until_it_passes_once(candidate: str, undecided: bool) -> None:
    assert repeated(candidate).are_undecided({"t.py::a"}, 5) is undecided


def test_another_failing_test_must_be_cleared_and_ends_the_runs_if_it_fails_again() -> None:
    other = ObservedTests(frozenset({"t.py::a", "t.py::b"}), frozenset())
    only_a = ObservedTests(frozenset({"t.py::a"}), frozenset({"t.py::b"}))
    both_pass = ObservedTests(frozenset(), frozenset({"t.py::a", "t.py::b"}))

    again = RepeatedTests(other, (other,))
    waits = RepeatedTests(other, (both_pass,))
    cleared = RepeatedTests(other, (only_a, both_pass))

    assert not again.are_undecided({"t.py::a"}, 2), "it is red anyway"
    assert waits.are_undecided({"t.py::a"}, 2)
    assert not cleared.are_undecided({"t.py::a"}, 2)
    assert cleared.judge("t.py::b", 2, None, NOW) is ExcuseVerdict.CLEARED
    assert again.judge("t.py::b", 2, None, NOW) is ExcuseVerdict.COUNTS


def test_an_excused_failure_is_flaky_and_names_its_entry() -> None:
    finding = failed("t.py::a")

    excused = apply_quarantine(
        finding, repeated("F."), {"t.py::a": ExcuseVerdict.EXCUSED}, (ENTRY,)
    )

    assert excused.outcome is Outcome.FLAKY
    assert excused.params[QUARANTINED] == [
        {
            "test": "t.py::a",
            "owner": "mia",
            "expires": "2030-01-10T00:00:00+00:00",
            "reason": "races with the clock",
        }
    ]
    assert "t.py::a (owner mia, until 2030-01-10 00:00 UTC)" in excused.message


def test_after_its_expiry_a_test_is_red_even_if_it_was_called_flaky() -> None:
    flaky = Finding("unit", Outcome.FLAKY, message="flaky", items=(FindingItem("t.py::a"),))

    red = apply_quarantine(flaky, repeated("....."), {"t.py::a": ExcuseVerdict.EXPIRED}, (OLD,))

    assert red.outcome is Outcome.FAILED
    assert "expired on 2030-01-01 00:00 UTC (owner mia)" in red.message
    assert [entry["test"] for entry in red.params[EXPIRED]] == ["t.py::a"]
    assert QUARANTINED not in red.params


def test_one_failure_that_counts_keeps_the_check_red_and_says_why() -> None:
    finding, tests = failed("t.py::a"), repeated("FFFFF")

    broken = apply_quarantine(finding, tests, {"t.py::a": ExcuseVerdict.COUNTS}, (ENTRY,))
    worse = apply_quarantine(finding, tests, {"t.py::a": ExcuseVerdict.WORSE}, (ENTRY,))
    beside = {"t.py::a": ExcuseVerdict.EXCUSED, "t.py::b": ExcuseVerdict.COUNTS}

    assert broken.outcome is worse.outcome is Outcome.FAILED
    assert "it failed 6 of 6 times on this commit: t.py::a" in broken.message
    assert "fails more often than without the change: t.py::a" in worse.message
    assert apply_quarantine(finding, repeated("F."), beside, (ENTRY,)) == finding


def test_cleared_tests_alone_need_no_quarantine() -> None:
    finding = failed("t.py::a")
    cleared = {"t.py::a": ExcuseVerdict.CLEARED}
    assert apply_quarantine(finding, repeated("....."), cleared, (ENTRY,)) == finding


def test_an_excused_check_names_the_entry_of_a_cleared_test_as_well() -> None:
    other = QuarantineEntry("t.py::b", "tom", ENTRY.expires, "slow")
    verdicts = {"t.py::a": ExcuseVerdict.EXCUSED, "t.py::b": ExcuseVerdict.CLEARED}

    excused = apply_quarantine(
        failed("t.py::a", "t.py::b"), repeated("F."), verdicts, (ENTRY, other)
    )

    assert [one["owner"] for one in excused.params[QUARANTINED]] == ["mia", "tom"]


def test_an_entry_covers_the_parametrizations_of_its_test_and_the_exact_name_wins() -> None:
    exact = QuarantineEntry("t.py::a[1]", "tom", NOW, "later")

    assert find_entry((ENTRY, exact), "t.py::a[1]") == exact
    assert find_entry((ENTRY, exact), "t.py::a[2]") == ENTRY
    assert find_entry((ENTRY,), "t.py::ab") is None


@pytest.mark.parametrize(
    ("finding", "unmatched"),
    [
        (Finding("unit", Outcome.PASSED, passing_tests=("t.py::a[1]", "t.py::b")), ["t.py::z"]),
        (Finding("unit", Outcome.PASSED, passing_tests=("t.py::b",)), ["t.py::a", "t.py::z"]),
        (failed("t.py::a", passing_tests=("t.py::b",)), ["t.py::z"]),
        (Finding("unit", Outcome.PASSED), None),
        (failed("t.py::b", passing_tests=("t.py::c",), params={"stoppedEarly": "-x"}), None),
    ],
    ids=["parametrized", "none", "failed", "no-names", "not-all-names"],
)
def test_an_entry_without_a_test_is_noted_if_the_check_names_its_tests(
    finding: Finding, unmatched: list[str] | None
) -> None:
    other = QuarantineEntry("t.py::z", "tom", NOW, "gone")

    assert note_unmatched(finding, (ENTRY, other)).params.get(UNMATCHED) == unmatched
    assert note_unmatched(finding, ()) == finding


def test_a_test_is_known_to_have_passed_only_if_the_run_says_so() -> None:
    named = Finding("unit", Outcome.PASSED, passing_tests=("t.py::b",))
    unnamed = Finding("unit", Outcome.PASSED)
    skipped = Finding("unit", Outcome.PASSED, params={"skippedCount": 1})
    broken = Finding("unit", Outcome.BROKEN)

    results = [observe_tests(one).result("t.py::a") for one in (named, unnamed, skipped, broken)]

    assert results == [None, True, None, None]
    assert observe_tests(failed("t.py::a")).result("t.py::a") is False


def test_a_failure_without_a_name_is_never_excused() -> None:
    assert names_every_failure((failed("t.py::a"), Finding("unit", Outcome.PASSED)))
    assert not names_every_failure((failed("t.py::a"), failed()))
    assert not names_every_failure((failed("t.py::a", params={"stoppedEarly": "-x"}),))
    assert not names_every_failure((failed("t.py::a"), Finding("unit", Outcome.BROKEN)))


def test_only_tests_that_were_seen_flaky_are_counted() -> None:
    observed = tuple(repeated("F.", "..").observations("c1", "c0"))
    always = (SameCommitRuns("t.py::b", "c1", 0, 2),)

    assert observed == (
        SameCommitRuns("t.py::a", "c1", 1, 2),
        SameCommitRuns("t.py::a", "c0", 2, 0),
    )
    assert select_observations((*observed, *always), frozenset()) == observed
    assert select_observations(always, {"t.py::b"}) == always
    assert select_observations(always, frozenset()) == ()


def test_the_pass_of_a_known_flaky_test_counts() -> None:
    passed = Finding("unit", Outcome.PASSED, passing_tests=("t.py::a", "t.py::b"))

    observed = observe_known(passed, "c1", frozenset({"t.py::a", "t.py::z"}))

    assert observed == (SameCommitRuns("t.py::a", "c1", 1, 0),)
    (row,) = with_test_runs(passed, observed, "e1").params[TEST_RUNS]
    assert row == {
        "test": "t.py::a",
        "commit": "c1",
        "passed": 1,
        "failed": 0,
        "environment": "e1",
    }
    assert with_test_runs(passed, (), "e1") == passed


def test_an_entry_lasts_90_days_at_most() -> None:
    near = QuarantineEntry("t", "mia", NOW + timedelta(days=90), "r")
    far = QuarantineEntry("t", "mia", NOW + timedelta(days=90, seconds=1), "r")

    assert near.distant_expiry(NOW) == ""
    assert far.distant_expiry(NOW) == "expires 2030-04-01, more than 90 days from now"


FLAKY = Finding(
    "unit", Outcome.FLAKY, passing_tests=("t.py::b",), params={"passedCount": 1, "x": "y"}
)


def test_a_test_that_passed_in_a_rerun_counts_among_those_that_passed() -> None:
    counted = count_passed_tests(FLAKY, repeated("F."))

    assert counted.passing_tests == ("t.py::b", "t.py::a")
    assert counted.params == {"passedCount": 2, "x": "y"}
    assert FLAKY.params["passedCount"] == 1


@pytest.mark.parametrize("candidate", ["", "F", "-", "FF"])
def test_a_test_that_never_passed_is_not_counted(candidate: str) -> None:
    assert count_passed_tests(FLAKY, repeated(candidate)) is FLAKY


def test_only_a_flaky_check_is_counted_again() -> None:
    finding = failed("t.py::a", passing_tests=("t.py::b",), params={"passedCount": 1})

    assert count_passed_tests(finding, repeated(".....")) is finding


def test_unknown_numbers_and_names_stay_unknown() -> None:
    unnamed = Finding("unit", Outcome.FLAKY)

    counted = count_passed_tests(unnamed, repeated("."))

    assert (counted.passing_tests, counted.params) == ((), {})


def test_a_test_that_failed_only_in_a_rerun_had_been_counted() -> None:
    """It passed in the first run, whose number and names hold it already."""
    tests = RepeatedTests(a_run("F"), (a_run("F", "t.py::b"), a_run("."), a_run(".", "t.py::b")))

    counted = count_passed_tests(FLAKY, tests)

    assert counted.passing_tests == ("t.py::b", "t.py::a")
    assert counted.params["passedCount"] == 2
