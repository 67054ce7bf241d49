"""Runs a failed check again to tell a real failure from a flaky one.

A second run that passes proves nothing by itself: code may fail first and pass later on purpose.
Each run has a restored room and a private home, so it can leave nothing for the next one.
"""

from __future__ import annotations

from dataclasses import replace

from yaoki.core.decide.flakiness import (
    BASE_RERUNS_MAX,
    CANDIDATE_RERUNS_MAX,
    WHOLE_RERUNS_MAX,
    RepeatedRuns,
)
from yaoki.core.model import CheckRunPurpose, CheckSpec, CheckType, Finding, Outcome
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.ports import Checker, CheckFacts


class CheckRerun:
    """Used when a command check has failed."""

    def __init__(self, checker: Checker) -> None:
        self._checker = checker

    def rerun_failed(self, check: ProofCheck, finding: Finding, facts: CheckFacts) -> Finding:
        """Run a failed check again; returns its finding with the durations of the re-runs, as
        FLAKY with the counts of passes and failures if it is.
        """
        if not check.spec.rerun or check.spec.type is not CheckType.COMMAND:
            return finding
        single = self._checker.narrow(check.spec, finding)
        runs = self._rerun_single(check, single, facts) if single else self._rerun(check, facts)
        finding = replace(finding, rerun_seconds=runs.seconds)
        if not runs.is_flaky:
            return finding
        return replace(
            finding,
            outcome=Outcome.FLAKY,
            message=f"flaky: {runs.description} ({finding.message})",
            params={**finding.params, "looks": runs.counts},
        )

    def _rerun(self, check: ProofCheck, facts: CheckFacts) -> RepeatedRuns:
        """Run the whole check again, at most twice, since it offers no way to run single tests."""
        runs = RepeatedRuns(needed=WHOLE_RERUNS_MAX)
        for n in range(1, WHOLE_RERUNS_MAX + 1):
            runs = runs.with_candidate_run(*self._rerun_once(check, check.spec, facts, n))
            if check.claim.stop_reason() or not runs.always_passed:
                break
        return runs

    def _rerun_single(
        self, check: ProofCheck, single: CheckSpec, facts: CheckFacts
    ) -> RepeatedRuns:
        runs = RepeatedRuns(needed=CANDIDATE_RERUNS_MAX)
        for n in range(1, CANDIDATE_RERUNS_MAX + 1):
            runs = runs.with_candidate_run(*self._rerun_once(check, single, facts, n))
            if check.claim.stop_reason() or not runs.always_passed:
                break
        for n in range(1, (BASE_RERUNS_MAX if runs.never_passed else CANDIDATE_RERUNS_MAX) + 1):
            if check.claim.stop_reason() or runs.is_flaky:
                break
            runs = runs.with_base_run(*self._rerun_once(check, single, facts, n, base=True))
        return runs

    @staticmethod
    def _rerun_once(
        check: ProofCheck, spec: CheckSpec, facts: CheckFacts, n: int, *, base: bool = False
    ) -> tuple[bool, float]:
        """Did it pass, and how long did it take?"""
        commit, suffix = (facts.onto, "onto") if base else (facts.commit, "again")
        purpose = CheckRunPurpose.BASE if base else CheckRunPurpose.AGAIN
        rerun = replace(check, spec=spec)
        finding = rerun.run_on(commit, facts, f"-{suffix}-{n}", purpose=purpose)
        return finding.outcome is Outcome.PASSED, finding.seconds
