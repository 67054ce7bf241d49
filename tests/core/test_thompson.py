"""Thompson sampling (rule 18.5): the draw itself, and what it is worth with known cure rates."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from statistics import fmean, pvariance

import pytest

from yaoki.core.decide.thompson import (
    DISCOUNT,
    OUTCOMES_READ_MAX,
    count_arms,
    draw_arm,
    sample_beta,
)
from yaoki.core.model.treatment import AttemptConversation, Treatment, TreatmentOutcome

pytestmark = pytest.mark.spec("18.5")

Rates = Mapping[str, float]
FAILURES = 200
ARMS = ("small continued", "small fresh", "large fresh")


def outcome(arm: str, cured: bool) -> TreatmentOutcome:
    agent, _, conversation = arm.partition(" ")
    treatment = Treatment("test-failed", "", agent, AttemptConversation(conversation))
    return TreatmentOutcome(treatment, cured)


def arm_of(treatment: Treatment) -> str:
    return f"{treatment.agent} {treatment.conversation.value}"


# ------------------------------------------------------------------ the draw


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (8.5, 3.0), (40.0, 2.0)])
def test_samples_have_the_mean_and_the_variance_of_the_beta_distribution(
    alpha: float, beta: float
) -> None:
    samples = [sample_beta(alpha, beta, f"seed {n}") for n in range(4000)]

    total = alpha + beta
    variance = alpha * beta / (total * total * (total + 1))
    assert fmean(samples) == pytest.approx(alpha / total, abs=4 * sqrt(variance / 4000))
    assert pvariance(samples) == pytest.approx(variance, rel=0.12)
    assert all(0 < sample < 1 for sample in samples)


def test_the_same_seed_and_counts_give_the_same_draw() -> None:
    outcomes = [outcome(ARMS[0], cured=False), outcome(ARMS[2], cured=True)]

    first, again = (draw_arm(ARMS, outcomes, arm_of, "test-failed", "r/r-1/3") for _ in range(2))
    other = draw_arm(ARMS, outcomes, arm_of, "test-failed", "r/r-1/4")

    assert first == again
    assert [arm.sample for arm in other.arms] != [arm.sample for arm in first.arms]
    assert first.chosen == max(first.arms, key=lambda arm: arm.sample).name


def test_a_draw_is_known_for_all_time() -> None:
    """A journal of this version must be explained by every later one."""
    draw = draw_arm(ARMS, [outcome(ARMS[2], cured=True)], arm_of, "test-failed", "r/r-1/1")

    assert draw.chosen == "small continued"
    assert [(arm.cured, arm.failed) for arm in draw.arms] == [(0.0, 0.0), (0.0, 0.0), (1.0, 0.0)]
    assert [arm.sample for arm in draw.arms] == [0.762543, 0.60653, 0.58955]


def test_an_older_outcome_counts_less() -> None:
    outcomes = [outcome("a fresh", cured=True), outcome("a fresh", cured=False)] * 2

    counts = count_arms(outcomes, arm_of)["a fresh"]

    assert counts.cured == pytest.approx(1 + DISCOUNT**2)
    assert counts.failed == pytest.approx(DISCOUNT + DISCOUNT**3)


def test_an_arm_without_outcomes_can_be_drawn() -> None:
    known = [outcome("a fresh", cured=True), outcome("a fresh", cured=False)]

    drawn = {draw_arm(("a fresh", "b fresh"), known, arm_of, "x", str(n)).chosen for n in range(40)}

    assert drawn == {"a fresh", "b fresh"}


# ------------------------------------------------------------------ its worth


class Simulation:
    """Failures with known cure rates, one pattern after the other."""

    def __init__(self, seed: int, rates: Mapping[str, Rates]) -> None:
        self.seed, self.rates = seed, rates
        self.outcomes: dict[str, deque[TreatmentOutcome]] = {
            pattern: deque(maxlen=OUTCOMES_READ_MAX) for pattern in rates
        }
        self.regret, self.cured, self.chosen = 0.0, 0, [""]

    def run(self, failures: int, choose: Callable[[str, int], str]) -> Simulation:
        patterns = list(self.rates)
        for n in range(len(self.chosen), len(self.chosen) + failures):
            pattern = patterns[n % len(patterns)]
            self.fail(pattern, n, choose(pattern, n))
        return self

    def fail(self, pattern: str, n: int, arm: str) -> None:
        rates = self.rates[pattern]
        # The chance of each arm is its own, so equal arms do not get equal results.
        cured = sample_beta(1, 1, f"{self.seed}/{n}/{arm}/cures") < rates[arm]
        self.outcomes[pattern].appendleft(outcome(arm, cured))
        self.regret += max(rates.values()) - rates[arm]
        self.cured += cured
        self.chosen.append(arm)

    def learn(self, pattern: str, n: int) -> str:
        arms = tuple(self.rates[pattern])
        seed = f"{self.seed}/r-{n}/1"
        return draw_arm(arms, self.outcomes[pattern], arm_of, pattern, seed).chosen


def learned(seed: int, rates: Mapping[str, Rates], failures: int = FAILURES) -> Simulation:
    simulation = Simulation(seed, rates)
    return simulation.run(failures, simulation.learn)


def fixed(seed: int, rates: Mapping[str, Rates], arm: str) -> Simulation:
    return Simulation(seed, rates).run(FAILURES, lambda *_: arm)


# No arm is the best for both: a plan that always does the same is wrong about one of them.
TWO_PATTERNS: Mapping[str, Rates] = {
    "test-failed": dict(zip(ARMS, (0.15, 0.45, 0.75), strict=True)),
    "lint-error": dict(zip(ARMS, (0.9, 0.5, 0.4), strict=True)),
}
HARD: Mapping[str, Rates] = {
    "test-failed": dict(zip(ARMS, (0.1, 0.2, 0.4), strict=True)),
    "lint-error": dict(zip(ARMS, (0.5, 0.3, 0.2), strict=True)),
}


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("rates", "seeds"), [(TWO_PATTERNS, 20), (HARD, 30)])
def test_after_200_failures_the_regret_is_below_that_of_any_fixed_choice(
    rates: Mapping[str, Rates], seeds: int
) -> None:
    regrets = [learned(seed, rates).regret for seed in range(seeds)]
    of_fixed = {arm: fixed(0, rates, arm).regret for arm in ARMS}

    assert fmean(regrets) < 0.75 * min(of_fixed.values()), of_fixed
    better = sum(regret < min(of_fixed.values()) for regret in regrets)
    assert better >= 0.9 * seeds, "not only on average"


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("rate", "seeds"), [(0.5, 10), (0.2, 30), (0.9, 30)])
def test_equal_arms_are_not_harmed(rate: float, seeds: int) -> None:
    """Within one per cent of the cures of a fixed choice, beside what chance explains."""
    rates = {"test-failed": dict.fromkeys(ARMS, rate)}
    total = seeds * FAILURES

    cured = sum(learned(seed, rates).cured for seed in range(seeds)) / total
    plain = sum(fixed(seed, rates, ARMS[0]).cured for seed in range(seeds)) / total

    chance = 3 * sqrt(2 * rate * (1 - rate) / total)
    assert cured > plain - 0.01 - chance
    assert learned(0, rates).regret == 0


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("seeds", [6, 15])
def test_a_change_of_the_rates_is_noticed(seeds: int) -> None:
    """The best arm becomes the worst: soon the new best one is chosen, and old counts are over."""
    before = {"test-failed": dict(zip(ARMS, (0.1, 0.3, 0.8), strict=True))}
    after = {"test-failed": dict(zip(ARMS, (0.8, 0.3, 0.1), strict=True))}
    shares: list[float] = []
    regrets: list[float] = []
    for seed in range(seeds):
        simulation = learned(seed, before)
        simulation.rates, simulation.regret = after, 0.0
        simulation.run(FAILURES, simulation.learn)
        shares.append(_share(simulation.chosen[-100:], ARMS[0]))
        regrets.append(simulation.regret)

    assert fmean(shares) > 0.75
    stuck = 0.7 * FAILURES
    assert fmean(regrets) < stuck / 2


def _share(chosen: Sequence[str], arm: str) -> float:
    return chosen.count(arm) / len(chosen)


def test_the_same_outcomes_give_the_same_choices() -> None:
    assert learned(3, TWO_PATTERNS).chosen == learned(3, TWO_PATTERNS).chosen
