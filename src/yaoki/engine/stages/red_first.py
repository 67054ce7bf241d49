"""Runs the tests of a change on the commit before it, where one of them must fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from yaoki.core.decide.red_first import (
    PASSES,
    RedEvidence,
    compare_with_base,
    compare_without_change,
    judge_red_first,
)
from yaoki.core.model import (
    RED_FIRST_CHECK,
    CheckRunPurpose,
    CriterionLevel,
    Finding,
    Task,
    TaskKind,
)
from yaoki.core.model.change import Change
from yaoki.engine.stages.baseline_comparison import BaselineComparison
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.ports import CheckFacts, QualityCriteria, Workspace


class RedFirst:
    """Used by a verification after its checks have passed."""

    def __init__(
        self, workspace: Workspace, quality: QualityCriteria, comparison: BaselineComparison
    ) -> None:
        self._workspace, self._quality, self._comparison = workspace, quality, comparison

    def findings(
        self,
        task: Task,
        passed: Sequence[tuple[ProofCheck, Finding]],
        changes: Sequence[Change],
        facts: CheckFacts,
    ) -> Iterator[Finding]:
        """`passed`: the command checks that passed with the change."""
        level = task.spec.red
        if level is CriterionLevel.OFF or RED_FIRST_CHECK in task.waivers:
            return
        tests = tuple(self._quality.list_test_files(changes))
        moved = tuple(one.path for one in changes if one.before is None or one.after is None)
        evidence = []
        for check, finding in passed:
            if check.claim.stop_reason():
                return
            evidence.append(self._evidence(check, finding, tests, moved, facts))
            if evidence[-1].red_tests:
                break
        is_fix = task.spec.kind is TaskKind.FIX
        yield judge_red_first(evidence, level, tests, is_fix=is_fix)

    def _evidence(
        self,
        check: ProofCheck,
        finding: Finding,
        tests: Sequence[str],
        moved: Sequence[str],
        facts: CheckFacts,
    ) -> RedEvidence:
        """The tests of the change first; then those that the commit before it has."""
        own = self._with_own_tests(check, finding, tests, facts) if tests else None
        if own is not None and (own.red_tests or own.why_not == PASSES):
            return own
        base = self._comparison.finding_on_base(check, facts, facts.onto)
        old = compare_with_base(base, finding, moved)
        return old if own is None or old.red_tests else own

    def _with_own_tests(
        self, check: ProofCheck, finding: Finding, tests: Sequence[str], facts: CheckFacts
    ) -> RedEvidence:
        contents = self._workspace.contents
        without = contents.commit_with_files_of(facts.onto, facts.commit, tests)
        before = check.run_on(without, facts, "-without-change", purpose=CheckRunPurpose.COMPARISON)
        return compare_without_change(before, finding, tests)
