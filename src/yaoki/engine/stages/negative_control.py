"""Runs checks with tests that are made to fail: one that still passes proves nothing (rule 17.9).

Only for changes that could rewrite the result of their tests; any other change costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from yaoki.core.decide.negative_control import (
    ControlOutcome,
    ControlResult,
    judge_control,
    judge_controls,
    select_failing,
)
from yaoki.core.model import NEGATIVE_CONTROL_CHECK, CheckSpec, Finding, Task
from yaoki.core.model.change import Change
from yaoki.core.model.failing_tests import FailingTests
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.engine.stages.rewritten_tests import RewrittenTests, runs_python_tests, runs_tests
from yaoki.ports import CheckFacts, QualityCriteria, Workspace


class NegativeControl:
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
        if NEGATIVE_CONTROL_CHECK in task.waivers:
            return
        places = self._quality.find_process_access(changes, facts.changed)
        if not places:
            return
        tree = self._workspace.contents.tree_view(facts.commit)
        tests = RewrittenTests(self._quality, tree, facts)
        results: list[ControlResult] = []
        seconds = 0.0
        for check, normal in passed:
            if not runs_tests(check.spec, normal):
                continue
            result, took = self._control(check, normal, tests)
            if check.claim.stop_reason():
                return
            results.append(result)
            seconds += took
            if result.outcome is ControlOutcome.FORGED:
                break
        yield judge_controls(results, places, seconds)

    def _control(
        self, check: ProofCheck, normal: Finding, tests: RewrittenTests
    ) -> tuple[ControlResult, float]:
        """The result for one check, and the duration of its run."""
        spec, is_hidden = check.spec, check.spec.hidden is not None
        made: list[FailingTests] = []

        def rewrite(path: str, text: str) -> str | None:
            failing = self._quality.make_tests_fail(path, text)
            if failing is not None:
                made.append(failing)
            return None if failing is None else failing.text

        files = tests.files(spec, normal, rewrite)
        if why := _missing_control(spec, normal, made):
            return ControlResult(spec.name, ControlOutcome.NOT_RUN, reason=why), 0.0
        run = tests.run(check, files, rewrite, "-negative-control")
        return judge_control(run, normal, made, is_hidden=is_hidden), run.seconds


def _missing_control(spec: CheckSpec, normal: Finding, files: Sequence[FailingTests]) -> str:
    """Why a control would show nothing; empty if it shows something.

    The names in a report may be forged as well, so a runner of Python tests gets a control whatever
    it names.
    """
    names, is_hidden = normal.passing_tests, spec.hidden is not None
    if not files and not is_hidden:
        return "no Python file with tests that can be made to fail was found"
    if runs_python_tests(spec) or select_failing(names, files):
        return ""
    if is_hidden and any(".py::" in name for name in names):
        return ""
    if names:
        return "none of its tests is in a Python file that can be made to fail"
    return "it does not name its tests; let it write a report: --junit-xml {report}"
