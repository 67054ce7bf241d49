"""A failed check is looked at again: is it the change, or chance?

A second look that passes proves nothing by itself: code may fail first and pass later on purpose.
Each look is in a restored room with a private home, so nothing can be left for the next one.
"""

from __future__ import annotations

from dataclasses import replace

from yaoki.core.decide.flakiness import BASE_LOOKS, LOOKS, WHOLE_LOOKS, Looks
from yaoki.core.model import CheckSpec, Finding, Outcome
from yaoki.engine.stages.proof_room import Case, Facts
from yaoki.ports import Checker


class SecondLook:
    """Asked when a command check has failed."""

    def __init__(self, checker: Checker) -> None:
        self._checker = checker

    def weighed(self, case: Case, finding: Finding, facts: Facts) -> Finding:
        """The finding as it stands, or FLAKY with the counts that say so."""
        if not case.spec.rerun or case.spec.type != "command":
            return finding
        single = self._checker.narrowed(case.spec, finding)
        looks = self._single(case, single, facts) if single else self._whole(case, facts)
        if not looks.flaky:
            return finding
        return replace(
            finding,
            outcome=Outcome.FLAKY,
            message=f"flaky: {looks.words} ({finding.message})",
            params={**finding.params, "looks": looks.counts},
        )

    def _whole(self, case: Case, facts: Facts) -> Looks:
        """Where single tests cannot be run, the whole check is, and at most twice."""
        looks = Looks(needed=WHOLE_LOOKS)
        for n in range(1, WHOLE_LOOKS + 1):
            looks = looks.on_candidate(self._passes(case, case.spec, facts, n))
            if case.hold.why() or not looks.steady:
                break
        return looks

    def _single(self, case: Case, single: CheckSpec, facts: Facts) -> Looks:
        looks = Looks(needed=LOOKS)
        for n in range(1, LOOKS + 1):
            looks = looks.on_candidate(self._passes(case, single, facts, n))
            if case.hold.why() or not looks.steady:
                break
        for n in range(1, (BASE_LOOKS if looks.never_passed else LOOKS) + 1):
            if case.hold.why() or looks.flaky:
                break
            looks = looks.on_base(self._passes(case, single, facts, n, base=True))
        return looks

    @staticmethod
    def _passes(case: Case, spec: CheckSpec, facts: Facts, n: int, *, base: bool = False) -> bool:
        commit, place = (facts["onto"], "onto") if base else (facts["commit"], "again")
        look = replace(case, spec=spec)
        return look.look(commit, facts, f"-{place}-{n}").outcome is Outcome.PASSED
