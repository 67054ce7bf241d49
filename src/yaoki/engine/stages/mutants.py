"""Runs the checks on mutants of the changed lines, in the proof room of the candidate (17.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from yaoki.core.commands.test_runners import stop_at_first_failure
from yaoki.core.decide.baseline import KNOWN_FAILURES
from yaoki.core.decide.integrity import has_test_count
from yaoki.core.decide.mutants import (
    MutantOutcome,
    MutantResult,
    combine_runs,
    judge_mutants,
    judge_run,
    mutant_deadline,
)
from yaoki.core.model import MUTANTS_CHECK, CheckSpec, Finding, OnFailure, Task
from yaoki.core.model.change import Change
from yaoki.core.model.mutant import Mutant
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.ports import CheckFacts, QualityCriteria

PassedCheck = tuple[ProofCheck, Finding]


class MutantRuns:
    """Used by a verification after its checks have passed."""

    def __init__(self, quality: QualityCriteria) -> None:
        self._quality = quality

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
        checks = _checks_with_tests(passed)
        mutants = self._quality.list_mutants(changes, rules.count_max)
        results: list[MutantResult] = []
        for number, mutant in enumerate(mutants if checks else (), start=1):
            if sum(one.seconds for one in results) >= rules.timeout.total_seconds():
                break
            results.append(_run(checks, mutant, facts, number))
            if checks[0][0].claim.stop_reason():
                return
        yield judge_mutants(results, rules, len(mutants), has_tests=bool(checks))


def _checks_with_tests(passed: Sequence[PassedCheck]) -> list[PassedCheck]:
    """The checks that count tests; all of them if none does, for it may run tests all the same.

    Hidden ones come last: what the visible tests kill needs no other run.
    """
    counting = [one for one in passed if has_test_count(one[1])]
    return sorted(counting or passed, key=lambda one: one[0].spec.hidden is not None)


def _run(
    checks: Sequence[PassedCheck], mutant: Mutant, facts: CheckFacts, number: int
) -> MutantResult:
    outcomes: list[MutantOutcome] = []
    seconds = 0.0
    for check, normal in checks:
        spec = _spec_for_mutant(check.spec, normal)
        folder = check.folder.with_name(f"mutant-{number}-{check.spec.name}")
        run = replace(check, spec=spec, folder=folder).run_with(
            facts.commit, facts, {mutant.path: mutant.text}
        )
        outcomes.append(judge_run(run, normal))
        seconds += run.seconds
        if outcomes[-1] is MutantOutcome.KILLED or check.claim.stop_reason():
            break
    return MutantResult(mutant, combine_runs(outcomes), seconds)


def _spec_for_mutant(spec: CheckSpec, normal: Finding) -> CheckSpec:
    """The check with a shorter deadline; the first failure ends it, unless some are known."""
    has_known = bool(normal.params.get(KNOWN_FAILURES))
    argv = spec.argv if has_known else stop_at_first_failure(spec.argv)
    deadline = mutant_deadline(normal.seconds, spec.timeout)
    return replace(spec, argv=argv, timeout=deadline, on_failure=OnFailure.RETRY)
