"""Runs checks with tests that are made to fail: one that still passes proves nothing (rule 17.9).

Only for changes that could rewrite the result of their tests; any other change costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from posixpath import join, normpath

from yaoki.core.commands.test_runners import find_test_runners
from yaoki.core.decide.integrity import has_test_count
from yaoki.core.decide.negative_control import (
    ControlOutcome,
    ControlResult,
    judge_control,
    judge_controls,
    select_failing,
)
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import (
    NEGATIVE_CONTROL_CHECK,
    CheckRunPurpose,
    CheckSpec,
    Finding,
    OnFailure,
    Task,
)
from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import TreeView
from yaoki.core.model.failing_tests import FailingTests
from yaoki.core.scope import is_in_scope
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.ports import CheckFacts, QualityCriteria, Workspace

FILES_MAX = 2_000
PYTHON_RUNNERS = frozenset({"pytest", "unittest"})


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
        results: list[ControlResult] = []
        seconds = 0.0
        for check, normal in passed:
            if not _runs_tests(check.spec, normal):
                continue
            result, took = self._control(check, normal, tree, facts)
            if check.claim.stop_reason():
                return
            results.append(result)
            seconds += took
            if result.outcome is ControlOutcome.FORGED:
                break
        yield judge_controls(results, places, seconds)

    def _control(
        self, check: ProofCheck, normal: Finding, tree: TreeView, facts: CheckFacts
    ) -> tuple[ControlResult, float]:
        """The result for one check, and the duration of its run."""
        spec, is_hidden = check.spec, check.spec.hidden is not None
        files = self._failing_files(spec, normal, tree)
        if why := _missing_control(spec, normal, tuple(files.values())):
            return ControlResult(spec.name, ControlOutcome.NOT_RUN, reason=why), 0.0
        hidden: list[FailingTests] = []

        def rewrite_hidden(path: str, text: str) -> str:
            made = self._quality.make_tests_fail(path, text)
            if made is not None:
                hidden.append(made)
            return made.text if made is not None else text

        # A failure that the plan tolerates would be reported as skipped.
        strict = replace(check, spec=replace(spec, on_failure=OnFailure.RETRY))
        run = strict.run_with(
            facts.commit,
            replace(facts, rewrite_hidden=rewrite_hidden),
            {path: made.text for path, made in files.items()},
            "-negative-control",
            purpose=CheckRunPurpose.COMPARISON,
        )
        made = [*files.values(), *hidden]
        return judge_control(run, normal, made, is_hidden=is_hidden), run.seconds

    def _failing_files(
        self, spec: CheckSpec, normal: Finding, tree: TreeView
    ) -> dict[str, FailingTests]:
        """The test files of the commit by their paths, and other files whose tests are named."""
        named = {normpath(join(spec.cwd, name.partition("::")[0])) for name in normal.passing_tests}
        paths = [
            path
            for path in sorted(tree.paths)
            if (path in named or self._quality.is_python_test_file(path))
            and (not spec.inputs or is_in_scope(path, spec.inputs))
        ]
        # Those with tests that the check names first, where there are too many.
        paths.sort(key=lambda path: path not in named)
        texts = ((path, tree.read(path)) for path in paths[:FILES_MAX])
        made = ((path, self._quality.make_tests_fail(path, text or "")) for path, text in texts)
        return {path: one for path, one in made if one is not None}


def _runs_tests(spec: CheckSpec, normal: Finding) -> bool:
    """A linter has no tests that could fail."""
    return has_test_count(normal) or bool(PYTHON_RUNNERS.intersection(_runners(spec)))


def _runners(spec: CheckSpec) -> tuple[str, ...]:
    return find_test_runners(spec.argv, spec.shell)


def _missing_control(spec: CheckSpec, normal: Finding, files: Sequence[FailingTests]) -> str:
    """Why a control would show nothing; empty if it shows something.

    The names in a report may be forged as well, so a runner of Python tests gets a control whatever
    it names.
    """
    names, is_hidden = normal.passing_tests, spec.hidden is not None
    if not files and not is_hidden:
        return "no Python file with tests that can be made to fail was found"
    if PYTHON_RUNNERS.intersection(_runners(spec)) or select_failing(names, files):
        return ""
    if is_hidden and any(".py::" in name for name in names):
        return ""
    if names:
        return "none of its tests is in a Python file that can be made to fail"
    return "it does not name its tests; let it write a report: --junit-xml {report}"
