"""Guards the definition of checks: reviews a change to it, and runs the check as it was before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from yaoki.core.decide.integrity import INTEGRITY_CHECK, WEAKENED_PATTERN
from yaoki.core.decide.integrity import weakened_tests_finding as weaker
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import (
    CheckRunPurpose,
    CheckSpec,
    Finding,
    FindingItem,
    OnFailure,
    Outcome,
    Task,
)
from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import DefinitionReview, TestsOfTwoRuns
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.ports import Candidate, CheckFacts, QualityCriteria, Workspace

PATHS_SHOWN_MAX = 5


class DefinitionGuard:
    """Used by a verification, before its checks and after them."""

    def __init__(self, workspace: Workspace, quality: QualityCriteria) -> None:
        self._workspace, self._quality = workspace, quality

    def review(
        self, task: Task, candidate: Candidate, changes: Sequence[Change]
    ) -> DefinitionReview:
        """Set-up affects what checks find, so its scripts are part of their definition."""
        if INTEGRITY_CHECK in task.waivers:
            return DefinitionReview()
        spec = task.spec
        return self._quality.review_definition(
            (*spec.checks, *_setup_checks(task)),
            changes,
            self._workspace.contents.tree_view(candidate.onto),
            self._workspace.contents.tree_view(candidate.commit),
            scope=spec.scope,
            allow_weaker_tests=spec.allow_weaker_tests,
            goal=spec.goal,
        )

    def find_absent_tests(
        self,
        spec: CheckSpec,
        before: str,
        commit: str,
        review: DefinitionReview,
        tests: TestsOfTwoRuns,
    ) -> Mapping[str, int]:
        """The tests that ran on `before` and do not run now, without a reason in the change."""
        trees = (self._workspace.contents.tree_view(one) for one in (before, commit))
        return self._quality.find_absent_tests(tests, review, *trees, folder=spec.cwd)

    @staticmethod
    def weakened_findings(review: DefinitionReview) -> tuple[Finding, ...]:
        return (weaker(review.weakened),) if review.weakened else ()

    def check_with_base_definition(
        self,
        checks: Sequence[ProofCheck],
        review: DefinitionReview,
        facts: CheckFacts,
        weigh: Callable[[ProofCheck, Finding, CheckFacts], Finding],
    ) -> Iterator[Finding]:
        """Does a check pass only because of an undecided change to its definition?

        It does not if it passes without the change as well.  `weigh` ignores failures that the
        base has, too, if the check has a baseline or a person waived them.
        """
        if not review.undecided or not checks or checks[0].claim.stop_reason():
            return
        commit = self._workspace.contents.commit_with_files_of(
            facts.commit, facts.onto, review.undecided
        )
        for check in checks:
            finding = weigh(
                check,
                check.run_on(
                    commit, facts, "-definition-before", purpose=CheckRunPurpose.COMPARISON
                ),
                facts,
            )
            good = finding.outcome in {Outcome.PASSED, Outcome.WAIVED}
            if not good and not check.claim.stop_reason():
                yield _weakened_check_finding(check.spec, review.undecided, finding)
                return


def _setup_checks(task: Task) -> Iterator[CheckSpec]:
    for n, argv in enumerate(task.spec.setup, start=1):
        yield CheckSpec(f"setup-{n}", argv=argv)


def _weakened_check_finding(spec: CheckSpec, paths: Sequence[str], before: Finding) -> Finding:
    """Only a person knows whether the check was meant to change."""
    more = f" and {len(paths) - PATHS_SHOWN_MAX} more" if len(paths) > PATHS_SHOWN_MAX else ""
    files = f"{', '.join(paths[:PATHS_SHOWN_MAX])}{more}"
    items = tuple(FindingItem(path, "changes what the check does", path) for path in paths)
    return replace(
        weaker(items),
        check=INTEGRITY_CHECK,
        pattern=WEAKENED_PATTERN,
        on_failure=OnFailure.ABORT,
        message=f"check {spec.name} passes only with the changed {files}; with the version before "
        f"the change it fails: {before.message}. Is this change of the check intended?",
    )
