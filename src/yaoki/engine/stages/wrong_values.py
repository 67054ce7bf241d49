"""Runs checks with tests that compare with wrong values as well (rule 17.9).

Only for changes that define how their values compare; any other change costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from yaoki.core.decide.wrong_values import WrongValueRun, judge_wrong_values
from yaoki.core.model import Finding, Task
from yaoki.core.model.change import Change
from yaoki.core.model.names import WRONG_VALUES_CHECK
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.engine.stages.rewritten_tests import RewrittenTests, runs_python_tests
from yaoki.ports import CheckFacts, QualityCriteria, Workspace


class WrongValues:
    """Used by a verification after its checks have passed."""

    def __init__(self, workspace: Workspace, quality: QualityCriteria) -> None:
        self._workspace, self._quality = workspace, quality

    def findings(
        self,
        task: Task,
        passed: Sequence[tuple[ProofCheck, Finding]],
        changes: Sequence[Change],
        facts: CheckFacts,
    ) -> Iterator[Finding]:
        """`passed`: the command checks that passed with the change, hidden ones as well."""
        if WRONG_VALUES_CHECK in task.waivers:
            return
        places = self._quality.find_own_equality(changes)
        if not places:
            return
        tree = self._workspace.contents.tree_view(facts.commit)
        tests = RewrittenTests(self._quality, tree, facts)
        runs: list[WrongValueRun] = []
        seconds = 0.0
        for check, normal in passed:
            if not runs_python_tests(check.spec):
                continue
            run = self._run(check, normal, tests, facts)
            if check.claim.stop_reason():
                return
            runs += [run] if run is not None else []
            seconds += run.result.seconds if run is not None else 0.0
            if run is not None and run.is_blind:
                break
        finding = judge_wrong_values(runs, places, seconds)
        if finding is not None:
            yield finding

    def _run(
        self, check: ProofCheck, normal: Finding, tests: RewrittenTests, facts: CheckFacts
    ) -> WrongValueRun | None:
        """None where the check compares nothing that could be made wrong."""
        spec, is_hidden = check.spec, check.spec.hidden is not None

        def rewrite(path: str, text: str) -> str | None:
            return self._quality.compare_with_wrong_values(path, text, facts.changed)

        files = tests.files(spec, normal, rewrite)
        if not files and not is_hidden:
            return None
        return WrongValueRun(
            spec.name, tests.run(check, files, rewrite, "-wrong-values"), is_hidden
        )
