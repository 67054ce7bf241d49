"""Explains a check that fails on the commit alone: which uncommitted files does it need?

The room contains the commit and nothing that git ignores.  If the check passes once the uncommitted
files are added that an agent wrote, or a person who took over, the finding names these files.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import CheckRunPurpose, Finding, FindingItem, Outcome, Task
from yaoki.core.model.check_types import FILE_CHECKS
from yaoki.core.model.outcome import CANNOT_START_PARAM, DOUBTFUL_PARAM, MISSING_PATH_PARAM
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.ports import CheckFacts, IgnoredFile, Workspace

NOT_COMMITTED_PATTERN = "not-committed"
FILES_SHOWN_MAX, FILES_LISTED_MAX = 5, 50


class MissingFiles:
    """Used when a check has failed and is not flaky."""

    def __init__(self, workspace: Workspace, work_started_at: Callable[[Task], float]) -> None:
        self._workspace, self._work_started_at = workspace, work_started_at

    def explain(self, check: ProofCheck, finding: Finding, facts: CheckFacts) -> Finding:
        """The finding, with the pattern `not-committed` where that is the cause."""
        task, reads_files = check.task, check.spec.type in FILE_CHECKS
        if not reads_files or finding.outcome is not Outcome.FAILED or check.claim.stop_reason():
            return finding
        since = self._work_started_at(task)
        if not task.spec.kind.is_change or (task.taken_over and not since):
            return finding
        files = self._workspace.uncommitted.uncommitted_files(task, since)
        if not files or not self._passes_with(check, facts, files):
            return _with_left_out(finding, task)
        return _missing_files_finding(finding, files)

    def _passes_with(
        self, check: ProofCheck, facts: CheckFacts, files: tuple[IgnoredFile, ...]
    ) -> bool:
        names = [file.path for file in files]

        def copy_files(room: Path) -> None:
            self._workspace.uncommitted.copy_uncommitted_files(check.task, names, room)

        rerun = check.run_on(
            facts.commit,
            facts,
            "-with-ignored-files",
            copy_files,
            purpose=CheckRunPurpose.COMPARISON,
        )
        return rerun.outcome is Outcome.PASSED


def _missing_files_finding(finding: Finding, files: tuple[IgnoredFile, ...]) -> Finding:
    shown = ", ".join(f"{file.path} (ignored by {file.rule})" for file in files[:FILES_SHOWN_MAX])
    more = f" and {len(files) - FILES_SHOWN_MAX} more" if len(files) > FILES_SHOWN_MAX else ""
    listed = files[:FILES_LISTED_MAX]
    values = [{"name": file.path, "message": f"ignored by {file.rule}"} for file in listed]
    return replace(
        finding,
        pattern=NOT_COMMITTED_PATTERN,
        message=f"it passes only with files that are not in the commit: {shown}{more}",
        items=tuple(
            FindingItem(file.path, f"ignored by {file.rule}", file.path) for file in listed
        ),
        params={**_params_of_started(finding), "uncommittedFiles": values},
    )


def _params_of_started(finding: Finding) -> dict[str, Any]:
    """The agent made what the check could not open, so the check is not to blame."""
    marks = (CANNOT_START_PARAM, MISSING_PATH_PARAM, DOUBTFUL_PARAM)
    return {name: value for name, value in finding.params.items() if name not in marks}


def _with_left_out(finding: Finding, task: Task) -> Finding:
    """New files outside the scope are not committed, and the agent may not know that."""
    names = task.work.left_out_files
    if not names:
        return finding
    more = f" and {len(names) - FILES_SHOWN_MAX} more" if len(names) > FILES_SHOWN_MAX else ""
    shown = f"{', '.join(names[:FILES_SHOWN_MAX])}{more}"
    message = f"{finding.message} (new files outside the task's scope were left out: {shown})"
    return replace(finding, message=message)
