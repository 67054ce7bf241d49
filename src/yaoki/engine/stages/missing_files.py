"""A check that fails on the commit alone: which files of the agent does it need?

The room contains the commit and nothing that git ignores.  If the check passes once the agent's
uncommitted files are added, these are what is missing, and the agent is told their names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from yaoki.core.model import Finding, FindingItem, Outcome, Task, TaskKind
from yaoki.engine.stages.proof_room import CheckFacts, ProofCheck
from yaoki.ports import IgnoredFile, Workspace

NOT_COMMITTED_PATTERN = "not-committed"
SHOWN, LISTED = 5, 50


class MissingFiles:
    """Asked when a check has failed for good."""

    def __init__(self, workspace: Workspace, began: Callable[[Task], float]) -> None:
        self._workspace, self._began = workspace, began

    def explain(self, case: ProofCheck, finding: Finding, facts: CheckFacts) -> Finding:
        """The finding, with the pattern `not-committed` where that is the cause."""
        task, runs = case.task, case.spec.type in {"command", "file"}
        if not runs or finding.outcome is not Outcome.FAILED or case.hold.stop_reason():
            return finding
        if task.spec.kind is not TaskKind.CHANGE or task.taken_over:
            return finding
        files = self._workspace.uncommitted.uncommitted_files(task, self._began(task))
        if not files or not self._passes_with(case, facts, files):
            return _with_left_out(finding, task)
        return _missing(finding, files)

    def _passes_with(
        self, case: ProofCheck, facts: CheckFacts, files: tuple[IgnoredFile, ...]
    ) -> bool:
        names = [file.path for file in files]

        def bring(room: Path) -> None:
            self._workspace.uncommitted.copy_uncommitted_files(case.task, names, room)

        seen = case.run_on(facts["commit"], facts, "-with-ignored-files", bring)
        return seen.outcome is Outcome.PASSED


def _missing(finding: Finding, files: tuple[IgnoredFile, ...]) -> Finding:
    shown = ", ".join(f"{file.path} (ignored by {file.rule})" for file in files[:SHOWN])
    more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
    listed = files[:LISTED]
    told = [{"name": file.path, "message": f"ignored by {file.rule}"} for file in listed]
    return replace(
        finding,
        pattern=NOT_COMMITTED_PATTERN,
        message=f"it passes only with files that are not in the commit: {shown}{more}",
        items=tuple(
            FindingItem(file.path, f"ignored by {file.rule}", file.path) for file in listed
        ),
        params={**finding.params, "uncommittedFiles": told},
    )


def _with_left_out(finding: Finding, task: Task) -> Finding:
    """Files outside the scope are no part of the work; the agent may not know that."""
    names = task.work.left_out_files
    if not names:
        return finding
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    words = f"new files outside the task's scope were left out: {', '.join(names[:SHOWN])}{more}"
    return replace(finding, message=f"{finding.message} ({words})")
