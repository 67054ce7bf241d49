"""Thompson sampling: each arm gets a random number from what is known about it, the largest wins.

An arm that cured often gets large numbers.  An arm that was rarely tried gets any numbers, so it is
tried again.  Older outcomes count less, so that a change of an agent shows.  The random numbers are
made from a text: the same counts and the same text give the same choice.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model.treatment import ArmDraw, DrawnArm, Treatment, TreatmentOutcome

# Outcomes that a decision reads; the oldest of them counts less than a fiftieth.
OUTCOMES_READ_MAX = 200
# Each outcome counts this much less than the one after it.
DISCOUNT = 0.98
# 53 bits: every number of this many bits below one is a float.
_FRACTION_BITS = 53
_BYTES_PER_NUMBER = 8


@dataclass(frozen=True, slots=True)
class ArmCounts:
    """The discounted outcomes of one arm."""

    cured: float = 0.0
    failed: float = 0.0


def draw_arm(
    names: Sequence[str],
    outcomes: Sequence[TreatmentOutcome],
    arm_of: Callable[[Treatment], str],
    pattern: str,
    seed: str,
) -> ArmDraw:
    """Draw one of the arms.  `outcomes` are those of the pattern, the newest first."""
    assert names, "there is no arm to draw"
    counts = count_arms(outcomes, arm_of)
    arms = tuple(_draw(name, counts.get(name, ArmCounts()), seed) for name in names)
    chosen = max(arms, key=lambda arm: arm.sample)
    return ArmDraw(pattern, seed, chosen.name, arms)


def count_arms(
    outcomes: Iterable[TreatmentOutcome], arm_of: Callable[[Treatment], str]
) -> dict[str, ArmCounts]:
    """The discounted counts of each arm that has any."""
    sums: dict[str, dict[bool, float]] = {}
    weight = 1.0
    for outcome in outcomes:
        counts = sums.setdefault(arm_of(outcome.treatment), {True: 0.0, False: 0.0})
        counts[outcome.cured] += weight
        weight *= DISCOUNT
    return {name: ArmCounts(counts[True], counts[False]) for name, counts in sums.items()}


def _draw(name: str, counts: ArmCounts, seed: str) -> DrawnArm:
    cured, failed = round(counts.cured, 3), round(counts.failed, 3)
    sample = sample_beta(1 + cured, 1 + failed, f"{seed}/{name}")
    return DrawnArm(name, cured, failed, round(sample, 6))


def sample_beta(alpha: float, beta: float, seed: str) -> float:
    """A number from the Beta distribution; both parameters are at least one."""
    return sample_beta_with(alpha, beta, _uniform_numbers(seed))


def sample_beta_with(alpha: float, beta: float, numbers: Iterator[float]) -> float:
    """The same with random numbers above zero and up to one."""
    first = _sample_gamma(alpha, numbers)
    return first / (first + _sample_gamma(beta, numbers))


def _sample_gamma(shape: float, numbers: Iterator[float]) -> float:
    """The method of Marsaglia and Tsang: it accepts more than 95 of 100 tries."""
    assert shape >= 1, shape
    d = shape - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        normal = _normal(numbers)
        v = (1 + c * normal) ** 3
        if v <= 0:
            continue
        limit = normal * normal / 2 + d - d * v + d * math.log(v)
        if math.log(next(numbers)) < limit:
            return d * v


def _normal(numbers: Iterator[float]) -> float:
    """The method of Box and Muller."""
    return math.sqrt(-2 * math.log(next(numbers))) * math.cos(2 * math.pi * next(numbers))


def _uniform_numbers(seed: str) -> Iterator[float]:
    """Numbers between zero and one, without both, as long as they are asked for."""
    block = 0
    while True:
        digest = hashlib.sha256(f"{seed}/{block}".encode(errors="surrogatepass")).digest()
        for start in range(0, len(digest), _BYTES_PER_NUMBER):
            raw = int.from_bytes(digest[start : start + _BYTES_PER_NUMBER], "big")
            yield ((raw >> (64 - _FRACTION_BITS)) + 0.5) / (1 << _FRACTION_BITS)
        block += 1
