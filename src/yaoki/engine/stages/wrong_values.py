"""Runs checks with tests that compare with wrong values as well (rule 17.9).

Only for changes that define how their values compare; any other change costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from yaoki.core.decide.wrong_values import WrongValueRun, describe_unread, judge_wrong_values
from yaoki.core.model import Finding, Task
from yaoki.core.model.change import Change
from yaoki.core.model.names import WRONG_VALUES_CHECK
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.engine.stages.rewritten_tests import RewrittenTests, runs_python_tests, runs_tests
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
        is_decisive = self._quality.decides_equality(changes)
        tree = self._workspace.contents.tree_view(facts.commit)
        tests = RewrittenTests(self._quality, tree, facts)
        runs: list[WrongValueRun] = []
        unread: list[str] = []
        for check, normal in passed:
            if not runs_tests(check.spec, normal):
                continue
            run, gap = self._run(check, normal, tests, facts)
            if check.claim.stop_reason():
                return
            # Other runners have tests in other languages, which may fail for reasons of their own.
            if run is not None and (runs_python_tests(check.spec) or run.is_blind or run.is_sound):
                runs.append(run)
            unread += [gap] if gap else []
            if run is not None and run.is_blind:
                break
        seconds = sum(run.result.seconds for run in runs)
        finding = judge_wrong_values(runs, places, seconds, unread, is_decisive=is_decisive)
        if finding is not None:
            yield finding

    def _run(
        self, check: ProofCheck, normal: Finding, tests: RewrittenTests, facts: CheckFacts
    ) -> tuple[WrongValueRun | None, str]:
        """No run where the check compares nothing that could be made wrong; and a sentence about
        its tests that could not be rewritten.
        """
        spec, is_hidden = check.spec, check.spec.hidden is not None
        unread: list[str] = []

        def is_unread(path: str, text: str, is_run: bool) -> bool:
            return self._quality.is_unread(path, text, is_run=is_run)

        def rewrite(path: str, text: str) -> str | None:
            if is_hidden and is_unread(path, text, True):
                unread.append(path)
            return self._quality.compare_with_wrong_values(path, text, facts.changed)

        files = tests.files(spec, normal, rewrite)
        unread.clear()
        if not is_hidden and runs_python_tests(spec):
            unread += tests.unread(spec, normal, is_unread)
        run = None
        if files or is_hidden:
            result = tests.run(check, files, rewrite, "-wrong-values")
            run = WrongValueRun(spec.name, result, is_hidden, normal.passing_tests)
        gap = describe_unread(spec.name, unread, is_hidden=is_hidden) if unread else ""
        return run, gap
