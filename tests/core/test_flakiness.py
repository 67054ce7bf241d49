"""Flakiness from repeated runs of a check."""

from __future__ import annotations

import pytest

from yaoki.core.decide.flakiness import CANDIDATE_RERUNS_MAX, WHOLE_RERUNS_MAX, RepeatedRuns

pytestmark = pytest.mark.spec("6.5")


def repeated_runs(needed: int, candidate: str, base: str = "") -> RepeatedRuns:
    """`.` is a pass, `F` a failure."""
    looks = RepeatedRuns(needed)
    for mark in candidate:
        looks = looks.with_candidate_run(mark == ".")
    for mark in base:
        looks = looks.with_base_run(mark == ".")
    return looks


@pytest.mark.parametrize(
    ("needed", "candidate", "base", "flaky"),
    [
        (CANDIDATE_RERUNS_MAX, ".....", "", True),
        (CANDIDATE_RERUNS_MAX, "....", "", False),
        (CANDIDATE_RERUNS_MAX, ".F", "", False),
        (CANDIDATE_RERUNS_MAX, "F", "..", False),
        (CANDIDATE_RERUNS_MAX, "F", "FF", False),
        (CANDIDATE_RERUNS_MAX, "F", ".F", False),
        (CANDIDATE_RERUNS_MAX, "FFFFF", ".F", False),
        (CANDIDATE_RERUNS_MAX, "FF.", ".F", True),
        (CANDIDATE_RERUNS_MAX, ".F", "...F", True),
        (WHOLE_RERUNS_MAX, "..", "", True),
        (WHOLE_RERUNS_MAX, ".", "", False),
        (WHOLE_RERUNS_MAX, ".F", "", False),
        (WHOLE_RERUNS_MAX, "F", "", False),
    ],
)
def test_a_failure_is_flaky_if_reruns_pass_or_the_base_fails_at_random(
    needed: int, candidate: str, base: str, flaky: bool
) -> None:
    assert repeated_runs(needed, candidate, base).is_flaky is flaky


def test_repeated_runs_report_their_counts() -> None:
    assert repeated_runs(CANDIDATE_RERUNS_MAX, ".F", ".F").counts == {
        "candidate": 2,
        "candidate_passed": 1,
        "base": 2,
        "base_passed": 1,
    }
    assert (
        "passed 1 of 2 times without the change"
        in repeated_runs(CANDIDATE_RERUNS_MAX, ".F", ".F").description
    )
