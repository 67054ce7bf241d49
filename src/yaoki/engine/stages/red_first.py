"""Runs the tests of a change on the commit before it, where one of them must fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from yaoki.core.decide.red_first import compare_without_change, judge_red_first
from yaoki.core.model import RED_FIRST_CHECK, CheckRunPurpose, CriterionLevel, Finding, Task
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
        tests = self._quality.list_test_files(changes)
        without = (
            self._workspace.contents.commit_with_files_of(facts.onto, facts.commit, tests)
            if tests
            else facts.onto
        )
        evidence = []
        for check, finding in passed:
            if check.claim.stop_reason():
                return
            before = self._run(check, facts, without, own=bool(tests))
            evidence.append(compare_without_change(before, finding, tests))
            if evidence[-1].red_tests:
                break
        yield judge_red_first(evidence, level, tests)

    def _run(self, check: ProofCheck, facts: CheckFacts, commit: str, *, own: bool) -> Finding:
        """The commit before the change is a baseline; one with the new tests is this task's own."""
        if not own:
            return self._comparison.baseline(check, facts, commit)
        return check.run_on(commit, facts, "-without-change", purpose=CheckRunPurpose.COMPARISON)
