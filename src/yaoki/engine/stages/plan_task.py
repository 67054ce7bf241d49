"""The verify and land stages of a planning task: verify reads its answer, land adds the tasks."""

from __future__ import annotations

from pathlib import Path

from yaoki.core.model import (
    Finding,
    FindingItem,
    OnFailure,
    Outcome,
    Pause,
    PauseCause,
    PlanningRole,
    RefusalCause,
    Run,
    Task,
    Verdict,
)
from yaoki.core.model.stage_report import (
    CandidateVerified,
    CommitNotLanded,
    PlanAccepted,
    StageReport,
)
from yaoki.core.text import format_count
from yaoki.ports import PlannerAnswer, PlanReader, Workspace

PLAN_REFUSED_PATTERN = "plan-refused"
DEFECTS_LISTED_MAX = 30


class PlanTaskStages:
    """Used by the stages for tasks of kind `plan`."""

    def __init__(self, workspace: Workspace, reader: PlanReader) -> None:
        self._workspace, self._reader = workspace, reader

    def context(self, run: Run) -> str:
        return self._reader.context(run)

    def verify(self, run: Run, task: Task, folder: Path) -> StageReport:
        answer = self._reader.read(run, task, folder)
        head = self._workspace.branches.head(run)
        finding = _finding(answer)
        return CandidateVerified(Verdict((finding,)), head, head)

    def land(self, run: Run, task: Task, folder: Path) -> StageReport:
        """Read the answer again: nothing is lost by a kill in between, and later landings count."""
        answer = self._reader.read(run, task, folder)
        if answer.defects:
            # A task that the answer names is gone meanwhile: the verify stage reports it.
            return CommitNotLanded(self._workspace.branches.head(run), RefusalCause.ANSWER)
        brief = task.spec.planning_brief
        needs_approval = (
            brief is not None and brief.role is PlanningRole.GOAL and bool(answer.specs)
        )
        ask = needs_approval and not run.approved
        approval = Pause(PauseCause.APPROVAL, "the plan waits for your approval")
        pause = approval if ask else None
        return PlanAccepted(answer.specs, answer.replaces, task.work.verified_commit, pause)


def _finding(answer: PlannerAnswer) -> Finding:
    if answer.impossible:
        message = f"the planner says it cannot be done: {answer.impossible}"
        return Finding("plan", Outcome.FAILED, on_failure=OnFailure.ABORT, message=message)
    if answer.defects:
        listed = answer.defects[:DEFECTS_LISTED_MAX]
        count = format_count(len(answer.defects), "problem")
        message = f"the plan is refused: {count}, first: {listed[0]}"
        items = tuple(FindingItem(f"defect {n}", each) for n, each in enumerate(listed, start=1))
        return Finding(
            "plan", Outcome.FAILED, pattern=PLAN_REFUSED_PATTERN, message=message, items=items
        )
    message = "nothing is left to do" if answer.done else format_count(len(answer.specs), "task")
    return Finding("plan", Outcome.PASSED, message=message)
