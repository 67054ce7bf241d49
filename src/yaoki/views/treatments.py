"""The treatments of all runs, summed up by what a reader wants to compare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum, unique
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model.treatment import Treatment, TreatmentCount
from yaoki.core.rate_interval import wilson_interval

BUILT_IN_WORDS = "built-in words"
UNKNOWN_CONVERSATION = "unknown"


@unique
class TreatmentPart(StrEnum):
    """A part of a treatment, by which treatments are compared."""

    PATTERN = "pattern"
    AGENT = "agent"
    CONVERSATION = "conversation"
    PROMPT = "prompt"


ALL_PARTS = tuple(TreatmentPart)
PROMPT_PARTS = (TreatmentPart.PATTERN, TreatmentPart.PROMPT)


@dataclass(frozen=True, slots=True)
class CureRate:
    """The counts of treatments with the same parts: tried, fixed, not fixed.

    `undecided`: the attempt was never verified.  `interval` is the 95 % Wilson interval.
    """

    parts: tuple[str, ...]
    sent: int
    cured: int
    failed: int

    @property
    def undecided(self) -> int:
        return self.sent - self.cured - self.failed

    @property
    def rate(self) -> float | None:
        decided = self.cured + self.failed
        return self.cured / decided if decided else None

    @property
    def interval(self) -> tuple[float, float]:
        return wilson_interval(self.cured, self.cured + self.failed)


def sum_treatments(
    counts: Iterable[TreatmentCount], parts: Sequence[TreatmentPart] = ALL_PARTS
) -> list[CureRate]:
    """The most used first."""
    sums: dict[tuple[str, ...], tuple[int, int, int]] = {}
    for one in counts:
        key = tuple(_part(one.treatment, part) for part in parts)
        sent, cured, failed = sums.get(key, (0, 0, 0))
        sums[key] = (sent + one.sent, cured + one.cured, failed + one.failed)
    rates = (CureRate(key, *numbers) for key, numbers in sums.items())
    return sorted(rates, key=lambda rate: (-rate.sent, rate.parts))


def _part(treatment: Treatment, part: TreatmentPart) -> str:
    match part:
        case TreatmentPart.PATTERN:
            return treatment.pattern
        case TreatmentPart.AGENT:
            return treatment.agent
        case TreatmentPart.CONVERSATION:
            return treatment.conversation.value or UNKNOWN_CONVERSATION
        case TreatmentPart.PROMPT:
            return treatment.prompt or BUILT_IN_WORDS


def cure_rate_document(rate: CureRate, parts: Sequence[TreatmentPart]) -> dict[str, Any]:
    low, high = rate.interval
    return {
        **{part.value: word for part, word in zip(parts, rate.parts, strict=True)},
        "sent": rate.sent,
        "cured": rate.cured,
        "not_cured": rate.failed,
        "open": rate.undecided,
        "rate": rate.rate,
        "low": round(low, 4),
        "high": round(high, 4),
    }
