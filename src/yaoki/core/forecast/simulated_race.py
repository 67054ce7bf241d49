"""One round of a race in a simulated run: which candidate may start, and when it is decided.

The same rules as the referee's (`core/decide/race.py`), without the work that is compared: a
simulation knows who is proven, not whose diff is smaller.
"""

from __future__ import annotations

from enum import Enum, auto, unique

from yaoki.core.forecast.planned_task import CandidatePhase
from yaoki.core.model import RaceEnd, RaceRules, RaceStart


@unique
class RoundResult(Enum):
    OPEN = auto()
    WON = auto()
    LOST = auto()


class SimulatedRace:
    """`phases` are by the position of the candidate, in the order in which they start."""

    def __init__(self, rules: RaceRules, phases: dict[int, CandidatePhase]) -> None:
        self._rules, self.phases = rules, phases
        # The delay after work that failed; without any, a lost round asks a person.
        self.retry_delay_s: float | None = None
        # When the checks of the first proven candidate began.
        self.proof_began_s: float | None = None

    @property
    def follows_starts(self) -> bool:
        """Does anything follow from the start of a candidate?"""
        return self._rules.start is RaceStart.AFTER

    @property
    def result(self) -> RoundResult:
        """The first proof decides, or the end of all that are awaited."""
        phases = list(self.phases.values())
        is_proven = CandidatePhase.PROVEN in phases
        if is_proven and (self._rules.until is RaceEnd.FIRST or not self._awaits_others(phases)):
            return RoundResult.WON
        if all(phase.is_settled for phase in phases):
            return RoundResult.LOST
        return RoundResult.OPEN

    def _awaits_others(self, phases: list[CandidatePhase]) -> bool:
        """A candidate that starts only after a failure is not awaited once one is proven."""
        after_failure = self._rules.start is RaceStart.AFTER_FAILURE
        return any(
            not phase.is_settled and not (after_failure and phase is CandidatePhase.UNRELEASED)
            for phase in phases
        )

    def release(self) -> list[tuple[int, float]]:
        """The candidates that may start now, each with the seconds that it has to wait."""
        waiting = self._positions(CandidatePhase.UNRELEASED)
        released = self._positions(CandidatePhase.RELEASED)
        if self._rules.start is RaceStart.AT_ONCE:
            return self._let_start(waiting, 0.0)
        if self._positions(CandidatePhase.STARTED):
            # The next one waits from the start of the one before it.
            is_next = self._rules.start is RaceStart.AFTER and not released
            delay_s = self._rules.delay.total_seconds()
            return self._let_start(waiting[:1], delay_s) if is_next else []
        if released:
            # Those before it have ended; without a proof it need not wait for their time.
            is_proven = bool(self._positions(CandidatePhase.PROVEN))
            return [] if is_proven else [(released[0], 0.0)]
        return self._let_start(waiting[:1], 0.0)

    def _positions(self, phase: CandidatePhase) -> list[int]:
        return [position for position, one in self.phases.items() if one is phase]

    def _let_start(self, positions: list[int], delay_s: float) -> list[tuple[int, float]]:
        for position in positions:
            self.phases[position] = CandidatePhase.RELEASED
        return [(position, delay_s) for position in positions]
