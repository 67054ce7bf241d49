"""Reads a change before any check runs: yaoki's own rules, and the criteria on its diff."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from yaoki.core.decide.escalation import AGENTLESS_KINDS
from yaoki.core.lazy_dataclass import dataclass, field, replace
from yaoki.core.leaks import SECRETS_CHECK
from yaoki.core.model import Finding, Run, Task, TaskKind
from yaoki.core.model.change import Change, ChangeContext
from yaoki.core.model.check_definition import DefinitionReview
from yaoki.core.model.names import CONFLICT_MARKERS_CHECK
from yaoki.engine.stages.check_definition import DefinitionGuard
from yaoki.engine.stages.own_findings import built_in_findings
from yaoki.engine.stages.secrets import SecretGuard, passed_variables
from yaoki.ports import Candidate, Checker, QualityCriteria, Workspace

# After these the criteria would only repeat the finding, or quote a secret value.
_EXPLAINING_CHECKS = frozenset({CONFLICT_MARKERS_CHECK, "mass-deletion", SECRETS_CHECK})
# After these no check runs: its result would say nothing, or running it is not safe.
_STOPPING_CHECKS = _EXPLAINING_CHECKS | {"links", "bytecode", "session-files"}


@dataclass(frozen=True, slots=True)
class ReviewedChange:
    """An agent's change, read before any check runs; its text files, that is.

    `findings` are those about the change itself: one of them, and the work does not land.
    """

    by_agent: bool = False
    findings: tuple[Finding, ...] = ()
    changes: Sequence[Change] = ()
    definition: DefinitionReview = field(default_factory=DefinitionReview)
    is_trivial: bool = False

    @property
    def is_checked(self) -> bool:
        """Do the checks run?  On a rejected change they only tell what else is wrong with it."""
        if not self.findings:
            return True
        return self.by_agent and _STOPPING_CHECKS.isdisjoint(one.check for one in self.findings)


class ChangeReview:
    """The findings about the change itself, from git objects alone."""

    def __init__(
        self,
        workspace: Workspace,
        checker: Checker,
        quality: QualityCriteria,
        definitions: DefinitionGuard,
    ) -> None:
        self._workspace, self._checker = workspace, checker
        self._quality, self._definitions = quality, definitions
        self._secrets = SecretGuard(workspace, checker)

    def read(self, run: Run, task: Task, candidate: Candidate) -> ReviewedChange:
        """Read the change, before any check runs."""
        reviewed = ReviewedChange()
        findings = tuple(built_in_findings(task, candidate))
        # The subtasks of a group were judged one by one.
        by_agent = candidate.changed and task.spec.kind not in AGENTLESS_KINDS
        if by_agent:
            findings += self._secrets.findings(run, task, candidate)
        if by_agent and _EXPLAINING_CHECKS.isdisjoint(finding.check for finding in findings):
            reviewed = self._read_files(task, candidate)
            findings += self._criteria(task, candidate, reviewed)
        variables = passed_variables(run, task) if findings else ()
        masked = (self._checker.mask_finding(finding, variables) for finding in findings)
        return replace(reviewed, findings=tuple(masked))

    def _read_files(self, task: Task, candidate: Candidate) -> ReviewedChange:
        changes = self._workspace.contents.read_changes(candidate.onto, candidate.commit)
        definition = self._definitions.review(task, candidate, changes)
        trivial = self._quality.is_trivial(changes) and len(changes) == len(candidate.changed)
        return ReviewedChange(True, (), changes, definition, trivial)

    def _criteria(
        self,
        task: Task,
        candidate: Candidate,
        reviewed: ReviewedChange,
    ) -> tuple[Finding, ...]:
        """The findings about the quality of the change itself, before any command runs."""
        context = ChangeContext(
            files_expected=tuple(c.path for c in task.spec.checks if c.file.get("exists")),
            agent_output=task.work.exit.output_tail if task.work.exit else "",
            kind=task.spec.kind,
            report="" if task.spec.kind is not TaskKind.REPORT else "reported",
        )
        criteria = self._quality.judge_criteria(
            reviewed.changes, context, exists=self._is_tracked(task, candidate)
        )
        findings = [f for f in criteria if f.check in task.spec.quality]
        findings += self._definitions.weakened_findings(reviewed.definition)
        gaming = self._quality.find_gaming(
            reviewed.changes,
            self._workspace.contents.tree_view(candidate.onto),
            goal=task.spec.goal,
            checks=task.spec.checks,
        )
        findings += [gaming] if gaming is not None else []
        return tuple(f for f in findings if f.check not in task.waivers)

    def _is_tracked(self, task: Task, candidate: Candidate) -> Callable[[str], bool]:
        """Is a path in the candidate?  An agent may name it from the root of its worktree."""
        top = PurePosixPath(task.work.worktree)

        def exists(name: str) -> bool:
            path = PurePosixPath(name)
            inside = path.relative_to(top) if path.is_relative_to(top) else path
            return self._workspace.contents.has_path(candidate.commit, str(inside))

        return exists
