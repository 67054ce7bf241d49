"""Rates of flaky tests, and the evidence for a proposal, in simulated histories."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count, islice, pairwise, product
from math import comb
from random import Random

import pytest

from yaoki.core.decide.flaky_rate import FailureRate, is_worse, missing_evidence
from yaoki.core.decide.quarantine import (
    RERUNS_MAX,
    ExcuseVerdict,
    ObservedTests,
    RepeatedTests,
    select_observations,
)
from yaoki.core.model.flaky_test import (
    FlakySighting,
    FlakyTest,
    QuarantineEntry,
    SameCommitRuns,
)

pytestmark = pytest.mark.spec("18.8")

NOW = datetime(2030, 1, 1, tzinfo=UTC)
TEST = "t.py::a"
RATES = (0.0, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
VERIFICATIONS = (10, 30, 100, 300, 1000)
NEGLIGIBLE, NOTABLE = 0.002, 0.05


def a_flaky_test(passed: int, failed: int, commits: int = 2, tasks: int = 2) -> FlakyTest:
    seen = tuple(
        FlakySighting(f"c{n}", "", "r", f"r-{n % tasks}", 1, 1, NOW) for n in range(commits)
    )
    return FlakyTest(TEST, "unit", passed, failed, 0, NOW, NOW, seen)


@pytest.mark.parametrize(
    ("failed", "runs", "low", "high"),
    [(0, 0, 0.0, 1.0), (0, 10, 0.0, 0.278), (1, 10, 0.018, 0.404), (5, 10, 0.237, 0.763)],
)
def test_the_interval_of_a_rate_is_that_of_wilson(
    failed: int, runs: int, low: float, high: float
) -> None:
    assert FailureRate(failed, runs).interval == pytest.approx((low, high), abs=0.001)


def test_a_rate_without_runs_is_unknown() -> None:
    assert FailureRate(0, 0).value is None
    assert FailureRate(1, 4).value == 0.25


@pytest.mark.parametrize(
    ("test", "words"),
    [
        (a_flaky_test(9, 2), ""),
        (a_flaky_test(9, 2, commits=1), "seen flaky on 1 commit; at least 2 are needed"),
        (a_flaky_test(9, 2, commits=3, tasks=1), "seen flaky in 1 task; at least 2 are needed"),
        (a_flaky_test(7, 2), "9 runs; at least 10 are needed"),
        (a_flaky_test(5, 5), ""),
        (a_flaky_test(5, 6), "it fails more often than it passes: repair it"),
        (a_flaky_test(998, 2), "the lower bound of its rate, 0.1%, is not above 1%"),
    ],
)
def test_a_quarantine_is_proposed_only_with_enough_evidence(test: FlakyTest, words: str) -> None:
    assert missing_evidence(test) == words


@pytest.mark.parametrize(
    ("failed", "runs", "base_failed", "base_runs", "worse"),
    [
        (4, 5, 0, 5, True),
        (3, 4, 0, 5, True),
        (3, 5, 0, 5, False),
        (2, 3, 0, 5, False),
        (4, 5, 1, 5, False),
        (0, 5, 0, 5, False),
        (4, 5, 0, 0, False),
        (0, 0, 0, 5, False),
    ],
)
def test_a_change_makes_a_test_worse_if_chance_explains_it_in_less_than_5_percent(
    failed: int, runs: int, base_failed: int, base_runs: int, worse: bool
) -> None:
    assert is_worse(failed, runs, base_failed, base_runs) is worse


# ------------------------------------------------------------------ simulated histories


FAILS = ObservedTests(frozenset({TEST}), frozenset())
PASSES = ObservedTests(frozenset(), frozenset({TEST}))


def a_run(dice: Random, rate: float) -> ObservedTests:
    return FAILS if dice.random() < rate else PASSES


def rerun(dice: Random, rate: float, *, known: bool) -> RepeatedTests:
    """The re-runs after a failure, as the engine makes them: those of rule 6.5, and for a test that
    was seen flaky before until it passes.
    """
    tests = RepeatedTests(FAILS)
    while len(tests.candidate) < RERUNS_MAX:
        tests = RepeatedTests(FAILS, (*tests.candidate, a_run(dice, rate)))
        if tests.candidate[-1].failed and (not known or any(tests.reruns(TEST))):
            break
        if known and tests.reruns(TEST)[:1] == (False,) and any(tests.reruns(TEST)):
            break
    return tests


class History:
    """Counts as the store does."""

    def __init__(self) -> None:
        self.passed = self.failed = self.always_failed = 0
        self.commits: list[str] = []

    def add(self, runs: SameCommitRuns) -> None:
        if not runs.failed:
            self.passed += runs.passed
        elif not runs.passed:
            self.always_failed += 1
        else:
            self.failed += runs.failed - (0 if self.commits else 1)
            self.passed += runs.passed
            self.commits.append(runs.commit)

    @property
    def known(self) -> frozenset[str]:
        return frozenset({TEST} if self.commits else ())

    @property
    def is_proposed(self) -> bool:
        seen = tuple(FlakySighting(c, "", "r", f"r-{c}", 1, 1, NOW) for c in self.commits[-50:])
        test = FlakyTest(TEST, "u", self.passed, self.failed, self.always_failed, NOW, NOW, seen)
        return bool(self.commits) and not missing_evidence(test)


def simulate(seed: int, rate: float, breakage: float = 0.05) -> Iterator[History]:
    """The history after each verification; the share `breakage` of the commits breaks the test for
    good.
    """
    dice, history = Random(f"{seed} {rate}"), History()
    for n in count():
        actual = 1.0 if dice.random() < breakage else rate
        if dice.random() >= actual:
            history.passed += bool(history.commits)
        else:
            tests = rerun(dice, actual, known=bool(history.commits))
            observed = tuple(tests.observations(f"c{n}", "base"))
            for runs in select_observations(observed, history.known):
                history.add(runs)
        yield history


def proposals(seed: int, rate: float) -> list[bool]:
    """Is a quarantine proposed after so many verifications?"""
    histories = simulate(seed, rate)
    return [
        next(islice(histories, later - before - 1, None)).is_proposed
        for before, later in pairwise((0, *VERIFICATIONS))
    ]


def test_table_of_wrong_and_missed_proposals_by_rate_and_runs() -> None:
    """Each cell: the share of tests with this rate for which a quarantine is proposed.  One commit
    in twenty breaks the test for good, which must never count as flaky.
    """
    tests = 20
    table: dict[tuple[float, int], float] = {}
    for rate in RATES:
        columns = zip(*(proposals(seed, rate) for seed in range(tests)), strict=True)
        for verifications, column in zip(VERIFICATIONS, columns, strict=True):
            table[rate, verifications] = sum(column) / tests

    heads = "".join(f"{verifications:>8}" for verifications in VERIFICATIONS)
    print(f"proposed, by rate of failure and number of verifications\n{'rate':>8}{heads}")
    for rate in RATES:
        cells = "".join(f"{table[rate, one]:>8.0%}" for one in VERIFICATIONS)
        print(f"{rate:>8.1%}{cells}")

    assert all(table[0.0, one] == 0 for one in VERIFICATIONS), "a broken test is never flaky"
    assert all(table[rate, 1000] <= 0.05 for rate in RATES if rate <= NEGLIGIBLE)
    assert all(table[rate, 1000] >= 0.95 for rate in RATES if NOTABLE <= rate < 0.5)
    assert all(table[rate, 100] >= 0.9 for rate in RATES if 0.1 <= rate < 0.5)


@pytest.mark.parametrize("rate", [0.2, pytest.param(0.5, marks=pytest.mark.full)])
def test_the_interval_contains_the_true_rate_in_most_histories(rate: float) -> None:
    """With broken commits among them, which must not raise the rate."""
    histories = [next(islice(simulate(seed, rate), 299, None)) for seed in range(60)]
    intervals = [FailureRate(one.failed, one.failed + one.passed).interval for one in histories]

    held = sum(low <= rate <= high for low, high in intervals)

    assert held >= 52, held


def test_a_quarantined_test_is_rarely_called_worse_if_the_change_did_nothing_to_it() -> None:
    """The failure that caused the re-runs counts, though it was chosen because it failed: a wrong
    verdict must be rare for every rate that is the same on both commits.
    """
    entry = QuarantineEntry(TEST, "mia", datetime(2031, 1, 1, tzinfo=UTC), "flaky")

    def wrong(rate: float) -> float:
        """The probability of WORSE after a first failure; the base passes and fails at `rate`."""
        total = 0.0
        for fails, base_fails in product(range(RERUNS_MAX), range(RERUNS_MAX + 1)):
            base = (FAILS,) * base_fails + (PASSES,) * (RERUNS_MAX - base_fails)
            tests = RepeatedTests(FAILS, (*(FAILS,) * fails, PASSES), base)
            if tests.judge(TEST, RERUNS_MAX, entry, NOW) is ExcuseVerdict.WORSE:
                chance = comb(RERUNS_MAX, base_fails) * rate ** (fails + base_fails)
                total += chance * (1 - rate) ** (RERUNS_MAX - base_fails + 1)
        return total

    assert 0.01 < max(wrong(percent / 100) for percent in range(101)) < 0.05


def test_a_broken_test_that_hides_in_the_quarantine_is_found_whatever_its_rate_was() -> None:
    entry = QuarantineEntry(TEST, "mia", datetime(2031, 1, 1, tzinfo=UTC), "flaky")
    always = RepeatedTests(FAILS, (FAILS,) * RERUNS_MAX)

    assert always.judge(TEST, RERUNS_MAX, entry, NOW) is ExcuseVerdict.COUNTS
