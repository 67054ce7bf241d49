"""Runs the checks on mutants of the changed lines, in the proof room of the candidate (17.3).

The tests that kill a mutant are mostly those that the task added or changed.  Where a check is slow
and can run them alone, they run first, and the whole check only on what they let survive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from yaoki.core.commands.test_runners import stop_at_first_failure
from yaoki.core.decide.baseline import KNOWN_FAILURES
from yaoki.core.decide.integrity import has_test_count
from yaoki.core.decide.mutants import (
    OWN_TESTS_MAX,
    OWN_TESTS_WORTH_SECONDS,
    MutantOutcome,
    MutantResult,
    combine_runs,
    judge_mutants,
    judge_run,
    mutant_deadline,
)
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import (
    MUTANTS_CHECK,
    CheckRunPurpose,
    CheckSpec,
    Finding,
    FindingItem,
    OnFailure,
    Outcome,
    Task,
)
from yaoki.core.model.change import Change
from yaoki.core.model.mutant import Mutant
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.ports import Checker, CheckFacts, QualityCriteria

PassedCheck = tuple[ProofCheck, Finding]


@dataclass(frozen=True, slots=True)
class MutantCheck:
    """A check as it runs on mutants.  `normal` is its finding without one.

    `specs` are tried in this order until one kills the mutant; the last one is the whole check.
    """

    check: ProofCheck
    normal: Finding
    specs: tuple[CheckSpec, ...]

    def run(self, mutant: Mutant, facts: CheckFacts, number: int) -> tuple[MutantOutcome, float]:
        """The result of the check on the mutant, and its duration."""
        outcome, seconds = MutantOutcome.UNJUDGED, 0.0
        for spec in self.specs:
            folder = self.check.folder.with_name(f"mutant-{number}-{spec.name}")
            check = replace(self.check, spec=spec, folder=folder)
            run = check.run_with(facts.commit, facts, {mutant.path: mutant.text})
            outcome, seconds = judge_run(run, self.normal), seconds + run.seconds
            if outcome.is_kill or self.check.claim.stop_reason():
                break
        return outcome, seconds


class MutantRuns:
    """Used by a verification after its checks have passed."""

    def __init__(self, quality: QualityCriteria, checker: Checker) -> None:
        self._quality, self._checker = quality, checker

    def findings(
        self,
        task: Task,
        passed: Sequence[PassedCheck],
        changes: Sequence[Change],
        facts: CheckFacts,
    ) -> Iterator[Finding]:
        """`passed`: the command checks that passed with the change, hidden ones as well."""
        rules = task.spec.mutants
        if not rules.count_max or MUTANTS_CHECK in task.waivers:
            return
        mutants = self._quality.list_mutants(changes, rules.count_max)
        tests = self._quality.list_test_files(changes)
        usable = _checks_with_tests(passed) if mutants else ()
        checks = [self._prepare(check, normal, tests, facts) for check, normal in usable]
        results: list[MutantResult] = []
        for number, mutant in enumerate(mutants if checks else (), start=1):
            if sum(one.seconds for one in results) >= rules.timeout.total_seconds():
                break
            results.append(_run(checks, mutant, facts, number))
            if checks[0].check.claim.stop_reason():
                return
        hidden = self._quality.list_hidden_code(changes)
        yield judge_mutants(results, rules, len(mutants), has_tests=bool(checks), hidden=hidden)

    def _prepare(
        self, check: ProofCheck, normal: Finding, test_files: Sequence[str], facts: CheckFacts
    ) -> MutantCheck:
        whole = _spec_for_mutant(check.spec, normal)
        own = self._own_tests(check, normal, test_files, facts)
        return MutantCheck(check, normal, (own, whole) if own else (whole,))

    def _own_tests(
        self, check: ProofCheck, normal: Finding, test_files: Sequence[str], facts: CheckFacts
    ) -> CheckSpec | None:
        """The check for the tests in these files alone, where that is quicker and works."""
        names = [
            name for name in normal.passing_tests if name.partition("::")[0] in set(test_files)
        ]
        if normal.seconds < OWN_TESTS_WORTH_SECONDS or not 0 < len(names) <= OWN_TESTS_MAX:
            return None
        wanted = replace(normal, items=tuple(FindingItem(name) for name in names))
        own = self._checker.narrow(check.spec, wanted)
        # Tests that depend on others fail alone whatever the mutant is, and would kill them all.
        alone = (
            replace(check, spec=own).run_on(
                facts.commit, facts, "-own-tests", purpose=CheckRunPurpose.MUTANT
            )
            if own
            else None
        )
        if own is None or alone is None or alone.outcome is not Outcome.PASSED:
            return None
        return _spec_for_mutant(own, alone)


def _checks_with_tests(passed: Sequence[PassedCheck]) -> list[PassedCheck]:
    """The checks that count tests; all of them if none does, for it may run tests all the same.

    Hidden ones come last: what the visible tests kill needs no other run.
    """
    counting = [one for one in passed if has_test_count(one[1])]
    return sorted(counting or passed, key=lambda one: one[0].spec.hidden is not None)


def _run(
    checks: Sequence[MutantCheck], mutant: Mutant, facts: CheckFacts, number: int
) -> MutantResult:
    outcomes: list[MutantOutcome] = []
    total = 0.0
    for check in checks:
        outcome, seconds = check.run(mutant, facts, number)
        outcomes.append(outcome)
        total += seconds
        if outcome.is_kill or check.check.claim.stop_reason():
            break
    return MutantResult(mutant, combine_runs(outcomes), total)


def _spec_for_mutant(spec: CheckSpec, normal: Finding) -> CheckSpec:
    """The check with a shorter deadline; the first failure ends it, unless some are known."""
    has_known = bool(normal.params.get(KNOWN_FAILURES))
    argv = spec.argv if has_known else stop_at_first_failure(spec.argv)
    deadline = mutant_deadline(normal.seconds, spec.timeout)
    return replace(spec, argv=argv, timeout=deadline, on_failure=OnFailure.RETRY)
