"""The checks of a candidate compared with commits that do not contain the task's work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import RLock

from yaoki.core.decide.baseline import (
    KNOWN_FAILURES,
    as_baseline,
    command_key,
    unmatched_fixes,
    weigh,
)
from yaoki.core.decide.integrity import INTEGRITY_CHECK as WEAKER
from yaoki.core.decide.integrity import (
    compare_tests_run,
    has_fewer_tests,
    has_test_count,
    without_brought_tests,
)
from yaoki.core.decide.same_at_base import passed_at_base
from yaoki.core.model import (
    NO_CHANGE_CHECK,
    BaselineMode,
    CheckRunPurpose,
    CheckSpec,
    Finding,
    Outcome,
    Run,
    Task,
)
from yaoki.core.model.check_definition import DefinitionReview, TestsOfTwoRuns
from yaoki.core.model.check_types import FILE_CHECKS
from yaoki.engine.claim_context import ClaimContext
from yaoki.engine.stages.own_findings import unmatched_fixes_finding
from yaoki.engine.stages.proof_room import ProofCheck, ProofSession
from yaoki.ports import Baselines, CheckFacts, RevertedLanding

# How often a task that waits for another task's run on the base looks whether it must stop.
STOP_POLL_S = 0.2


class BaselineComparison:
    """Runs a check on a base commit at most once; its finding is stored for other tasks."""

    def __init__(self, baselines: Baselines) -> None:
        self._baselines = baselines
        # A task may need the result on the commit that it is proving itself.
        self._locks: dict[tuple[str, str], RLock] = {}

    def baseline(self, check: ProofCheck, facts: CheckFacts, commit: str) -> Finding:
        """The finding on a commit without this task, if failures can be compared with it."""
        return as_baseline(self.finding_on_base(check, facts, commit))

    def finding_on_base(self, check: ProofCheck, facts: CheckFacts, commit: str) -> Finding:
        """The finding on a commit without this task as it is, also if no test passes there.

        The check runs once per commit; a task that needs it while another task runs it waits for
        that result.  A failure that is no baseline is kept for one verification: its cause may be
        the machine.
        """
        key = command_key(check.spec, check.task.spec.setup)
        stored = self._baselines.baseline(commit, key)
        if stored is not None:
            return stored
        with self._turn((commit, key), check.claim):
            return self._baselines.baseline(commit, key) or self._run(check, facts, commit, key)

    @contextmanager
    def proving(self, check: ProofCheck, facts: CheckFacts) -> Iterator[None]:
        """Tasks behind this one in the merge queue need its result as their base: they wait for it
        instead of running the check on the same commit.

        Without a change the commit is that of all such tasks, which need not wait for each other.
        """
        if facts.commit == facts.onto:
            yield
            return
        key = command_key(check.spec, check.task.spec.setup)
        with self._turn((facts.commit, key), check.claim):
            yield

    @contextmanager
    def _turn(self, key: tuple[str, str], claim: ClaimContext) -> Iterator[None]:
        lock = self._locks.setdefault(key, RLock())
        acquired = False
        while not acquired and not claim.stop_reason():
            acquired = lock.acquire(timeout=STOP_POLL_S)
        try:
            yield
        finally:
            if acquired:
                self._locks.pop(key, None)
                lock.release()

    def _run(self, check: ProofCheck, facts: CheckFacts, commit: str, key: str) -> Finding:
        kept = check.session.incomplete_bases
        if (commit, key) in kept:
            return kept[commit, key]
        base = check.run_on(commit, facts, "-base", purpose=CheckRunPurpose.BASE)
        if as_baseline(base).outcome in {Outcome.PASSED, Outcome.FAILED}:
            self._baselines.save_baseline(commit, key, base)
        elif base.outcome is Outcome.FAILED:
            kept[commit, key] = base
        return base

    def change_matters(
        self, task: Task, passed: Sequence[tuple[ProofCheck, Finding]], facts: CheckFacts
    ) -> bool:
        """Did blank lines or comments make a check pass?  Then they were the task.

        A check whose failures were waived fails with them as it did before.
        """
        checks = [check for check, finding in passed if finding.outcome is not Outcome.FLAKY]
        if task.spec.may_change_nothing or NO_CHANGE_CHECK in task.waivers or not checks:
            return True
        checks = [check for check, finding in passed if finding.outcome is Outcome.PASSED]
        bases = (self.baseline(check, facts, facts.onto) for check in checks)
        return any(base.outcome is not Outcome.PASSED for base in bases)

    def weigh(self, check: ProofCheck, finding: Finding, facts: CheckFacts) -> Finding:
        """Failures that the base has as well do not count, if the check has a baseline."""
        if check.spec.baseline is not BaselineMode.KNOWN or finding.outcome is not Outcome.FAILED:
            return finding
        base = self.baseline(check, facts, facts.baseline_commit)
        return weigh(finding, base, check.task.spec.fixes)

    def save_pass(self, check: ProofCheck, finding: Finding, commit: str) -> None:
        """A pass is the baseline of whatever is built on this commit."""
        if finding.outcome is Outcome.PASSED and KNOWN_FAILURES not in finding.params:
            key = command_key(check.spec, check.task.spec.setup)
            self._baselines.save_baseline(commit, key, finding)

    def passed_before(self, check: CheckSpec, task: Task, finding: Finding, commit: str) -> bool:
        """Is it known that the check passed on the commit as well?"""
        base = self._baselines.baseline(commit, command_key(check, task.spec.setup))
        return passed_at_base(finding, base)

    def learn_whether_same(
        self, checked: Sequence[tuple[ProofCheck, Finding]], facts: CheckFacts, commit: str
    ) -> None:
        """Run checks on the commit where their result is unknown, until one tells the work from it.

        A check whose tests are counted has run there already.
        """
        unknown = []
        for check, finding in checked:
            if check.spec.type not in FILE_CHECKS:
                return
            base = self._baselines.baseline(commit, command_key(check.spec, check.task.spec.setup))
            if base is None and finding.outcome is Outcome.PASSED and not has_test_count(finding):
                unknown.append((check, finding))
            elif not passed_at_base(finding, base):
                return
        for check, finding in unknown:
            if check.claim.stop_reason():
                return
            if not passed_at_base(finding, self.baseline(check, facts, commit)):
                return

    def save_failure(self, check: ProofCheck, finding: Finding, commit: str) -> None:
        """A failure that re-runs or the base confirmed is the baseline of what is built on it."""
        base = as_baseline(finding)
        if base.outcome is Outcome.FAILED:
            key = command_key(check.spec, check.task.spec.setup)
            self._baselines.save_baseline(commit, key, base)

    def fewer_tests(
        self,
        check: ProofCheck,
        finding: Finding,
        facts: CheckFacts,
        before: str,
        read_review: Callable[[], DefinitionReview],
        find_absent: Callable[[DefinitionReview, TestsOfTwoRuns], Mapping[str, int]],
        reverted: Sequence[RevertedLanding] = (),
    ) -> Finding | None:
        """The finding that a passing check runs fewer tests than on the commit `before`, or not all
        of those, without the tests that the `reverted` landings of that commit had brought.

        `read_review`: of the change since that commit.
        """
        task, claim = check.task, check.claim
        if not has_test_count(finding) or before == facts.commit:
            return None
        if task.spec.allow_weaker_tests or WEAKER in task.waivers or claim.stop_reason():
            return None
        base = self.baseline(check, facts, before)
        for landing in reverted:
            if has_fewer_tests(finding, base):
                base = self._without_tests_of(landing, base, check, facts)
        if not has_fewer_tests(finding, base):
            return None
        review = read_review()
        return compare_tests_run(finding, base, review.parametrized, partial(find_absent, review))

    def _without_tests_of(
        self, landing: RevertedLanding, base: Finding, check: ProofCheck, facts: CheckFacts
    ) -> Finding:
        landed = self.baseline(check, facts, landing.commit)
        before = self.baseline(check, facts, landing.before)
        return without_brought_tests(base, landed, before)

    def unmatched_fixes(
        self,
        run: Run,
        task: Task,
        findings: Sequence[Finding],
        home: Path,
        facts: CheckFacts,
        claim: ClaimContext,
        session: ProofSession,
    ) -> Iterator[Finding]:
        """Each test in `fixes` must have failed somewhere, or a wrong name would pass.

        Needed only where failures of the base were ignored: if every test passes, so does that one.
        """
        passed = next((finding for finding in findings if KNOWN_FAILURES in finding.params), None)
        if passed is None or not task.spec.fixes:
            return
        ignoring = {finding.check for finding in findings if KNOWN_FAILURES in finding.params}
        guards = [
            spec
            for spec in task.spec.checks
            if spec.baseline is BaselineMode.KNOWN or spec.name in ignoring
        ]
        bases: list[Finding] = []
        # The run branch may contain the fixed test already, so the run's own base counts as well.
        for commit in dict.fromkeys((facts.onto, run.base)):
            for spec in guards:
                if unmatched_fixes(task.spec.fixes, bases) and not claim.stop_reason():
                    folder = home / f"aims-{spec.name}-{commit[:12]}"
                    check = ProofCheck(task, spec, folder, claim, session)
                    bases.append(self.baseline(check, facts, commit))
        unmatched = unmatched_fixes(task.spec.fixes, bases)
        if unmatched and not claim.stop_reason():
            yield unmatched_fixes_finding(passed, unmatched, bases)
