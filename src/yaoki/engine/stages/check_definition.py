"""The definition of a check: what a change does to it, and a look with the version before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from yaoki.core.decide.integrity import INTEGRITY_CHECK, WEAKENED_PATTERN
from yaoki.core.decide.integrity import weakened_tests_finding as weaker
from yaoki.core.model import CheckSpec, Finding, FindingItem, OnFailure, Outcome, Task
from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import DefinitionReview
from yaoki.engine.stages.proof_room import CheckFacts, ProofCheck
from yaoki.ports import Candidate, QualityCriteria, Workspace

SHOWN = 5


class DefinitionGuard:
    """Asked by a proof, before its checks and after them."""

    def __init__(self, workspace: Workspace, quality: QualityCriteria) -> None:
        self._workspace, self._quality = workspace, quality

    def review(
        self, task: Task, candidate: Candidate, changes: Sequence[Change]
    ) -> DefinitionReview:
        """Set-up decides what checks find, so its scripts are part of their definition."""
        if INTEGRITY_CHECK in task.waivers:
            return DefinitionReview()
        spec = task.spec
        return self._quality.review_definition(
            (*spec.checks, *_setup(task)),
            changes,
            self._workspace.contents.tree_view(candidate.onto),
            self._workspace.contents.tree_view(candidate.commit),
            scope=spec.scope,
            allow_weaker_tests=spec.allow_weaker_tests,
            goal=spec.goal,
        )

    @staticmethod
    def weakened_findings(review: DefinitionReview) -> tuple[Finding, ...]:
        return (weaker(review.weakened),) if review.weakened else ()

    def check_with_base_definition(
        self,
        cases: Sequence[ProofCheck],
        review: DefinitionReview,
        facts: CheckFacts,
        weigh: Callable[[ProofCheck, Finding, CheckFacts], Finding],
    ) -> Iterator[Finding]:
        """Did an undecided change help a check to pass?  Not if it passes without it as well.

        `weigh` forgives what the base fails as well.
        """
        if not review.undecided or not cases or cases[0].hold.stop_reason():
            return
        commit = self._workspace.contents.commit_with_files_of(
            facts["commit"], facts["onto"], review.undecided
        )
        for case in cases:
            seen = weigh(case, case.run_on(commit, facts, "-definition-before"), facts)
            if seen.outcome is not Outcome.PASSED and not case.hold.stop_reason():
                yield _aided(case.spec, review.undecided, seen)
                return


def _setup(task: Task) -> Iterator[CheckSpec]:
    for n, argv in enumerate(task.spec.setup, start=1):
        yield CheckSpec(f"setup-{n}", argv=argv)


def _aided(spec: CheckSpec, paths: Sequence[str], seen: Finding) -> Finding:
    """Only a person knows whether the check was to change."""
    more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    files = f"{', '.join(paths[:SHOWN])}{more}"
    words = f"check {spec.name} passes only with the changed {files}; with the version before the"
    items = tuple(FindingItem(path, "changes what the check does", path) for path in paths)
    told = weaker(items)
    return replace(
        told,
        check=INTEGRITY_CHECK,
        pattern=WEAKENED_PATTERN,
        on_failure=OnFailure.ABORT,
        message=f"{words} change it fails: {seen.message}. Was it to change?",
    )
