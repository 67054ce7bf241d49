"""The verify and land stages of a plan task: its proof is that its answer passes, its landing that
the tasks stand in the store.
"""

from __future__ import annotations

from pathlib import Path

from yaoki.core.counting import count
from yaoki.core.model import Finding, Item, OnFailure, Outcome, Run, Task, Verdict
from yaoki.core.model.report import Moved, PlanMade, Report, Verified
from yaoki.ports import PlanAnswer, Planning, Workspace

REFUSED = "plan-refused"
DEFECTS_TOLD_MAX = 30


class PlanStages:
    """Asked by the stages for tasks of the kind `plan`."""

    def __init__(self, workspace: Workspace, planning: Planning) -> None:
        self._workspace, self._planning = workspace, planning

    def context(self, run: Run) -> str:
        return self._planning.context(run)

    def verify(self, run: Run, task: Task, folder: Path) -> Report:
        answer = self._planning.read(run, task, folder)
        head = self._workspace.head(run)
        finding = _finding(answer)
        return Verified(Verdict((finding,)), head, head)

    def land(self, run: Run, task: Task, folder: Path) -> Report:
        """Read again: a kill in between loses nothing, and what landed meanwhile counts."""
        answer = self._planning.read(run, task, folder)
        if answer.defects:
            # What it names is gone since: the verify stage says so.
            return Moved(self._workspace.head(run))
        fill = task.spec.fill
        asks = fill is not None and fill.role == "goal" and bool(answer.specs)
        pause = "approval: the plan waits for your yes" if asks and not run.approved else ""
        return PlanMade(answer.specs, answer.replaces, task.work.proven, pause)


def _finding(answer: PlanAnswer) -> Finding:
    if answer.impossible:
        words = f"the planner says it cannot be done: {answer.impossible}"
        return Finding("plan", Outcome.FAILED, on_failure=OnFailure.ABORT, message=words)
    if answer.defects:
        shown = answer.defects[:DEFECTS_TOLD_MAX]
        words = f"the plan is refused: {count(len(answer.defects), 'defect')}, first: {shown[0]}"
        items = tuple(Item(f"defect {n}", each) for n, each in enumerate(shown, start=1))
        return Finding("plan", Outcome.FAILED, pattern=REFUSED, message=words, items=items)
    words = "nothing is left to do" if answer.done else count(len(answer.specs), "task")
    return Finding("plan", Outcome.PASSED, message=words)
