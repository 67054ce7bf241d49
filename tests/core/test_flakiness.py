"""Chance or change: what repeated looks say."""

from __future__ import annotations

import pytest

from yaoki.core.decide.flakiness import LOOKS, WHOLE_LOOKS, Looks

pytestmark = pytest.mark.spec("6.5")


def seen(needed: int, candidate: str, base: str = "") -> Looks:
    """`.` is a pass, `F` a failure."""
    looks = Looks(needed)
    for mark in candidate:
        looks = looks.on_candidate(mark == ".")
    for mark in base:
        looks = looks.on_base(mark == ".")
    return looks


@pytest.mark.parametrize(
    ("needed", "candidate", "base", "flaky"),
    [
        (LOOKS, ".....", "", True),
        (LOOKS, "....", "", False),
        (LOOKS, ".F", "", False),
        (LOOKS, "F", "..", False),
        (LOOKS, "F", "FF", False),
        (LOOKS, "F", ".F", True),
        (LOOKS, ".F", "...F", True),
        (WHOLE_LOOKS, "..", "", True),
        (WHOLE_LOOKS, ".", "", False),
        (WHOLE_LOOKS, ".F", "", False),
        (WHOLE_LOOKS, "F", "", False),
    ],
)
def test_only_steadiness_or_chance_without_the_change_makes_a_failure_flaky(
    needed: int, candidate: str, base: str, flaky: bool
) -> None:
    assert seen(needed, candidate, base).flaky is flaky


def test_the_counts_are_told() -> None:
    assert seen(LOOKS, ".F", ".F").counts == {
        "candidate": 2,
        "candidate_passed": 1,
        "base": 2,
        "base_passed": 1,
    }
    assert "passed 1 of 2 times without the change" in seen(LOOKS, ".F", ".F").words
