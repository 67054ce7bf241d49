"""A failed check is looked at again: is it the change, or chance?

A second look that passes proves nothing by itself: code may fail first and pass later on purpose.
Each look is in a restored room with a private home, so nothing can be left for the next one.
"""

from __future__ import annotations

from dataclasses import replace

from yaoki.core.decide.flakiness import (
    BASE_RERUNS_MAX,
    CANDIDATE_RERUNS_MAX,
    WHOLE_RERUNS_MAX,
    RepeatedRuns,
)
from yaoki.core.model import CheckSpec, Finding, Outcome
from yaoki.engine.stages.proof_room import CheckFacts, ProofCheck
from yaoki.ports import Checker


class CheckRerun:
    """Asked when a command check has failed."""

    def __init__(self, checker: Checker) -> None:
        self._checker = checker

    def rerun_failed(self, case: ProofCheck, finding: Finding, facts: CheckFacts) -> Finding:
        """The finding as it stands, or FLAKY with the counts that say so."""
        if not case.spec.rerun or case.spec.type != "command":
            return finding
        single = self._checker.narrow(case.spec, finding)
        looks = self._single(case, single, facts) if single else self._whole(case, facts)
        if not looks.is_flaky:
            return finding
        return replace(
            finding,
            outcome=Outcome.FLAKY,
            message=f"flaky: {looks.description} ({finding.message})",
            params={**finding.params, "looks": looks.counts},
        )

    def _whole(self, case: ProofCheck, facts: CheckFacts) -> RepeatedRuns:
        """Where single tests cannot be run, the whole check is, and at most twice."""
        looks = RepeatedRuns(needed=WHOLE_RERUNS_MAX)
        for n in range(1, WHOLE_RERUNS_MAX + 1):
            looks = looks.with_candidate_run(self._passes(case, case.spec, facts, n))
            if case.hold.stop_reason() or not looks.always_passed:
                break
        return looks

    def _single(self, case: ProofCheck, single: CheckSpec, facts: CheckFacts) -> RepeatedRuns:
        looks = RepeatedRuns(needed=CANDIDATE_RERUNS_MAX)
        for n in range(1, CANDIDATE_RERUNS_MAX + 1):
            looks = looks.with_candidate_run(self._passes(case, single, facts, n))
            if case.hold.stop_reason() or not looks.always_passed:
                break
        for n in range(1, (BASE_RERUNS_MAX if looks.never_passed else CANDIDATE_RERUNS_MAX) + 1):
            if case.hold.stop_reason() or looks.is_flaky:
                break
            looks = looks.with_base_run(self._passes(case, single, facts, n, base=True))
        return looks

    @staticmethod
    def _passes(
        case: ProofCheck, spec: CheckSpec, facts: CheckFacts, n: int, *, base: bool = False
    ) -> bool:
        commit, place = (facts["onto"], "onto") if base else (facts["commit"], "again")
        look = replace(case, spec=spec)
        return look.run_on(commit, facts, f"-{place}-{n}").outcome is Outcome.PASSED
