"""Flaky tests in the words of the report and of `yaoki stats flaky`."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import NOW
from yaoki.core.model.flaky_test import FlakyTest, QuarantineEntry
from yaoki.views.flaky_tests import view_flaky_tests

TEST = "tests/test_sync.py::test_two_writers"


def describe(test: FlakyTest, *quarantine: QuarantineEntry) -> str:
    [view] = view_flaky_tests([test], quarantine, NOW, "mia")
    return view.words


@pytest.mark.spec("18.8")
@pytest.mark.parametrize(
    ("always_failed", "words"),
    [
        (0, "failed in 3 of 13 runs, 23% (8% to 50%); seen flaky"),
        (1, "; in 1 verification every run failed; seen flaky"),
        (2, "; in 2 verifications every run failed; seen flaky"),
    ],
)
def test_verifications_in_which_every_run_failed_are_named_as_such(
    always_failed: int, words: str
) -> None:
    """A commit may be verified twice, so they are not a number of commits."""
    assert words in describe(FlakyTest(TEST, "unit", 10, 3, always_failed, NOW, NOW))


@pytest.mark.spec("18.8")
def test_an_expired_quarantine_names_the_person_who_made_it() -> None:
    test = FlakyTest(TEST, "unit", 10, 3, 0, NOW, NOW)
    expired = QuarantineEntry(TEST, "mia", NOW - timedelta(days=1), "races with the clock")

    words = describe(test, expired)

    assert f"quarantine by mia expired on {expired.expires:%Y-%m-%d %H:%M} UTC" in words
