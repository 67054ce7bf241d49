"""Runs a failed check again to tell a real failure from a flaky one.

A second run that passes proves nothing by itself: code may fail first and pass later on purpose.
Each run has a restored room and a private home, so it can leave nothing for the next one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from yaoki.core.decide.flakiness import (
    BASE_RERUNS_MAX,
    CANDIDATE_RERUNS_MAX,
    WHOLE_RERUNS_MAX,
    RepeatedRuns,
)
from yaoki.core.decide.quarantine import (
    RERUNS_MAX,
    ExcuseVerdict,
    RepeatedTests,
    apply_quarantine,
    count_passed_tests,
    name_entries,
    names_every_failure,
    note_unmatched,
    observe_known,
    observe_tests,
    select_observations,
    with_test_runs,
)
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import CheckRunPurpose, CheckSpec, CheckType, Finding, Outcome
from yaoki.core.model.flaky_test import QuarantineEntry, find_entry
from yaoki.core.model.outcome import PASSED_ON_BASE_PARAM
from yaoki.core.model.verdict_key import digest_of
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.ports import Checker, CheckFacts, Clock, FlakyTests

ENVIRONMENT_CHARS = 12


class CheckRerun:
    """Runs failed command checks again, and records the results of flaky tests."""

    def __init__(
        self,
        checker: Checker,
        flaky_tests: FlakyTests,
        quarantine: Sequence[QuarantineEntry],
        clock: Clock,
    ) -> None:
        self._checker, self._flaky_tests = checker, flaky_tests
        self._quarantine, self._clock = tuple(quarantine), clock

    def rerun_failed(self, check: ProofCheck, finding: Finding, facts: CheckFacts) -> Finding:
        """Run a failed check again; returns its finding with the durations of the re-runs, as
        FLAKY with the counts of passes and failures if it is.
        """
        finding = self._note_unmatched(check, finding)
        if not check.spec.rerun or check.spec.type is not CheckType.COMMAND:
            return finding
        rerun = _Rerun(check, self._checker.narrow(check.spec, finding), finding, facts)
        judged = _as_flaky(finding, rerun.run_by_rule())
        # The names of hidden tests must not be recorded.
        if check.spec.hidden is None and finding.items:
            known = self._flaky_tests.known_flaky_tests()
            rerun.run_for_rate(known)
            judged = self._apply_quarantine(judged, rerun)
            judged = self._with_observations(judged, rerun, facts, known)
        judged = count_passed_tests(judged, rerun.tests)
        if rerun.always_passed_on_base:
            judged = replace(judged, params={**judged.params, PASSED_ON_BASE_PARAM: True})
        judged = _with_passes(judged, rerun.runs)
        return replace(judged, rerun_seconds=rerun.seconds)

    def observe_passes(self, check: ProofCheck, finding: Finding, commit: str) -> Finding:
        """Record the passes of tests that were seen flaky before: they count in the rate."""
        if check.spec.hidden is not None or not finding.passing_tests:
            return finding
        finding = self._note_unmatched(check, finding)
        observed = observe_known(finding, commit, self._flaky_tests.known_flaky_tests())
        return with_test_runs(finding, observed, "")

    def _note_unmatched(self, check: ProofCheck, finding: Finding) -> Finding:
        """A quarantine does not reach hidden tests, whose names must not be recorded."""
        entries = self._quarantine if check.spec.hidden is None else ()
        return note_unmatched(finding, entries)

    def _apply_quarantine(self, judged: Finding, rerun: _Rerun) -> Finding:
        entries = {test: self._entry(test) for test in rerun.tests.failing}
        now = self._clock.now()
        quarantined = [test for test, entry in entries.items() if entry is not None]
        expired = any(entry.has_expired(now) for entry in entries.values() if entry is not None)
        if not quarantined:
            return judged
        if judged.outcome is Outcome.FLAKY and not expired:
            return name_entries(judged, quarantined, self._quarantine)
        if not expired:
            rerun.run_for_quarantine(quarantined)
        if not names_every_failure(rerun.findings):
            return judged
        verdicts = self._judge(rerun, now)
        return apply_quarantine(judged, rerun.tests, verdicts, self._quarantine)

    def _judge(self, rerun: _Rerun, now: datetime) -> dict[str, ExcuseVerdict]:
        tests = rerun.tests
        return {
            test: tests.judge(test, rerun.needed, self._entry(test), now) for test in tests.failing
        }

    def _entry(self, test: str) -> QuarantineEntry | None:
        return find_entry(self._quarantine, test)

    def _with_observations(
        self, judged: Finding, rerun: _Rerun, facts: CheckFacts, known: frozenset[str]
    ) -> Finding:
        observed = tuple(rerun.tests.observations(facts.commit, facts.onto))
        selected = select_observations(observed, known)
        if not selected:
            return judged
        return with_test_runs(judged, selected, self._environment(rerun.check, facts))

    def _environment(self, check: ProofCheck, facts: CheckFacts) -> str:
        """A digest of set-up and tools, which may differ between verifications of one commit."""
        tools = self._checker.identify_tools(check.spec)
        return digest_of(check.session.setup_key(facts.commit), tools)[:ENVIRONMENT_CHARS]


def _as_flaky(finding: Finding, runs: RepeatedRuns) -> Finding:
    if not runs.is_flaky:
        return finding
    return replace(
        finding,
        outcome=Outcome.FLAKY,
        message=f"flaky: {runs.description} ({finding.message})",
        params={**finding.params, "looks": runs.counts},
    )


def _with_passes(finding: Finding, runs: RepeatedRuns) -> Finding:
    """Correct work must not look wrong for certain if its check also passed."""
    if finding.outcome is not Outcome.FAILED or runs.never_passed:
        return finding
    message = f"{finding.message}; {runs.passes_words}"
    return replace(finding, message=message, rerun_passes=sum(runs.candidate))


class _Rerun:
    """The re-runs of one failed check: of its failing tests, or of all of it."""

    def __init__(
        self, check: ProofCheck, single: CheckSpec | None, first: Finding, facts: CheckFacts
    ) -> None:
        self.check, self._facts, self._first = check, facts, first
        self._is_single = single is not None
        self._spec = single or check.spec
        self._candidate: list[Finding] = []
        self._base: list[Finding] = []
        self.needed = CANDIDATE_RERUNS_MAX if self._is_single else WHOLE_RERUNS_MAX

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All runs on the candidate."""
        return (self._first, *self._candidate)

    @property
    def always_passed_on_base(self) -> bool:
        return bool(self._base) and all(one.outcome is Outcome.PASSED for one in self._base)

    @property
    def seconds(self) -> tuple[float, ...]:
        return tuple(finding.seconds for finding in (*self._candidate, *self._base))

    @property
    def tests(self) -> RepeatedTests:
        return RepeatedTests(
            observe_tests(self._first),
            tuple(map(observe_tests, self._candidate)),
            tuple(map(observe_tests, self._base)),
        )

    @property
    def runs(self) -> RepeatedRuns:
        return RepeatedRuns(
            self.needed,
            tuple(finding.outcome is Outcome.PASSED for finding in self._candidate),
            tuple(finding.outcome is Outcome.PASSED for finding in self._base),
            self.seconds,
        )

    def run_by_rule(self) -> RepeatedRuns:
        """The re-runs of rule 6.5; a check that cannot run single tests is not run on the base."""
        self._run_candidate_while_passing()
        if self._is_single:
            self._run_base(BASE_RERUNS_MAX if self.runs.never_passed else CANDIDATE_RERUNS_MAX)
            if self.runs.fails_on_base_at_random:
                self._run_candidate_until_passed()
        return self.runs

    def _run_candidate_while_passing(self) -> None:
        while len(self._candidate) < self.needed:
            self._run_once()
            if self._is_stopped or not self.runs.always_passed:
                return

    def _run_candidate_until_passed(self) -> None:
        """Find out whether the check ever passes with the change."""
        while (
            self.runs.never_passed
            and len(self._candidate) < CANDIDATE_RERUNS_MAX
            and not self._is_stopped
        ):
            self._run_once()

    def _run_base(self, count: int) -> None:
        while len(self._base) < count and not self._is_stopped and not self.runs.is_flaky:
            self._run_once(base=True)

    def run_for_rate(self, known: frozenset[str]) -> None:
        """Run tests that were seen flaky until they pass.

        Otherwise two failures in a row would not be counted, and the rate would be too low.
        """
        if self._is_single and known.intersection(self.tests.failing):
            self._run_candidate_until_passed()

    def run_for_quarantine(self, quarantined: Collection[str]) -> None:
        """Run until each quarantined test has passed once and every other is cleared; a test that
        seldom passes is also run on the base.
        """
        while (
            len(self._candidate) < RERUNS_MAX
            and not self._is_stopped
            and self.tests.are_undecided(quarantined, self.needed)
        ):
            self._run_once()
        while (
            len(self._base) < RERUNS_MAX
            and not self._is_stopped
            and any(map(self.tests.seldom_passes, quarantined))
        ):
            self._run_once(base=True)

    @property
    def _is_stopped(self) -> bool:
        return bool(self.check.claim.stop_reason())

    def _run_once(self, *, base: bool = False) -> None:
        runs = self._base if base else self._candidate
        commit, suffix = (self._facts.onto, "onto") if base else (self._facts.commit, "again")
        purpose = CheckRunPurpose.BASE if base else CheckRunPurpose.AGAIN
        rerun = replace(self.check, spec=self._spec)
        number = f"-{suffix}-{len(runs) + 1}"
        runs.append(rerun.run_on(commit, self._facts, number, purpose=purpose))
