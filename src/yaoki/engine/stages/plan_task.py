"""The verify and land stages of a plan task: its proof is that its answer passes, its landing that
the tasks stand in the store.
"""

from __future__ import annotations

from pathlib import Path

from yaoki.core.counting import format_count
from yaoki.core.model import Finding, FindingItem, OnFailure, Outcome, Run, Task, Verdict
from yaoki.core.model.stage_report import BranchMoved, CandidateVerified, PlanAccepted, StageReport
from yaoki.ports import PlannerAnswer, PlanReader, Workspace

PLAN_REFUSED_PATTERN = "plan-refused"
DEFECTS_TOLD_MAX = 30


class PlanTaskStages:
    """Asked by the stages for tasks of the kind `plan`."""

    def __init__(self, workspace: Workspace, planning: PlanReader) -> None:
        self._workspace, self._planning = workspace, planning

    def context(self, run: Run) -> str:
        return self._planning.context(run)

    def verify(self, run: Run, task: Task, folder: Path) -> StageReport:
        answer = self._planning.read(run, task, folder)
        head = self._workspace.branches.head(run)
        finding = _finding(answer)
        return CandidateVerified(Verdict((finding,)), head, head)

    def land(self, run: Run, task: Task, folder: Path) -> StageReport:
        """Read again: a kill in between loses nothing, and what landed meanwhile counts."""
        answer = self._planning.read(run, task, folder)
        if answer.defects:
            # What it names is gone since: the verify stage says so.
            return BranchMoved(self._workspace.branches.head(run))
        fill = task.spec.planning_brief
        asks = fill is not None and fill.role == "goal" and bool(answer.specs)
        pause = "approval: the plan waits for your yes" if asks and not run.approved else ""
        return PlanAccepted(answer.specs, answer.replaces, task.work.verified_commit, pause)


def _finding(answer: PlannerAnswer) -> Finding:
    if answer.impossible:
        words = f"the planner says it cannot be done: {answer.impossible}"
        return Finding("plan", Outcome.FAILED, on_failure=OnFailure.ABORT, message=words)
    if answer.defects:
        shown = answer.defects[:DEFECTS_TOLD_MAX]
        words = (
            f"the plan is refused: {format_count(len(answer.defects), 'defect')}, first: {shown[0]}"
        )
        items = tuple(FindingItem(f"defect {n}", each) for n, each in enumerate(shown, start=1))
        return Finding(
            "plan", Outcome.FAILED, pattern=PLAN_REFUSED_PATTERN, message=words, items=items
        )
    words = "nothing is left to do" if answer.done else format_count(len(answer.specs), "task")
    return Finding("plan", Outcome.PASSED, message=words)
