"""The fourth stage: the branch moves to exactly the verified commit, or the task verifies again."""

from __future__ import annotations

from yaoki.core.model import FINAL_CHECK_NAME, RefusalCause, Run, Stage, Task, TaskKind
from yaoki.core.model.stage_report import (
    CommitLanded,
    CommitNotLanded,
    StageDeferred,
    StageReport,
    WorkInterrupted,
)
from yaoki.engine.claim_context import ClaimContext, ClaimSuperseded, StopReason
from yaoki.engine.stages.company_wait import CompanyWait
from yaoki.engine.stages.plan_task import PlanTaskStages
from yaoki.engine.stages.predecessor_wait import DEFERRED_WAIT, PredecessorWait
from yaoki.engine.stages.processes import AttemptProcesses
from yaoki.ports import Workspace


def on_target_branch(workspace: Workspace, run: Run, task: Task) -> Run:
    """The run, with the branch that this task lands on: its group's, or the run's own."""
    if not task.parent:
        return run
    if task.stage is Stage.WORK:
        # An agent needs no branch, and must not wait or end because the remote is unreachable.
        return run.on_group_branch(task.parent, task.work.base)
    # The process that submitted the run may have died before it created the branch.
    workspace.branches.open_run_branch(run)
    if task.stage is Stage.PREPARE:
        return workspace.groups.refresh_group_branch(run, task.parent)
    return workspace.groups.open_group_branch(run, task.parent)


class LandStage:
    """Moves the target branch to the verified commit of a task."""

    def __init__(
        self,
        workspace: Workspace,
        processes: AttemptProcesses,
        queue: PredecessorWait,
        company: CompanyWait,
        plan_task: PlanTaskStages,
    ) -> None:
        self._workspace, self._processes = workspace, processes
        self._queue, self._company, self._plan_task = queue, company, plan_task

    def land(self, run: Run, task: Task, claim: ClaimContext) -> StageReport:
        commit, onto = task.work.verified_commit, task.work.onto
        if task.spec.kind is TaskKind.PLAN:
            return self._plan_task.land(run, task, self._processes.folder(task, task.attempt))
        # Ask first who takes it along: after a landing the queue does not contain it any more.
        may_cancel = task.cancel_requested and not self._company.is_taken_along(run, task, claim)
        if self._has_landed(run, task, commit):
            return self._landed_before(run, commit)
        if may_cancel:
            return WorkInterrupted(
                "cancelled by a person before it landed", saved_ref=task.work.head
            )
        if claim.queue.must_yield():
            return self._wait_for_company(run, task, claim)
        # A task without changes is verified on a commit of the branch, perhaps a joint one.
        joint = self._workspace.landings.read_joint(commit) if commit != onto else None
        predecessor = joint.predecessor if joint else onto
        if deferred := self._queue.wait_for_predecessor(run, task, predecessor, claim):
            return deferred
        if claim.stop_reason() is StopReason.LOST:
            raise ClaimSuperseded
        if joint and not claim.queue.are_waiting(joint.parts):
            return CommitNotLanded(predecessor, RefusalCause.COMPANION)
        head = self._move_branch(run, task, claim)
        if head == commit or self._has_landed(run, task, commit):
            return CommitLanded(commit, was_there_before=commit == onto)
        if task.work.is_queued or commit == onto:
            return self._refuse(run, predecessor, head, claim)
        return self._wait_for_company(run, task, claim)

    def _move_branch(self, run: Run, task: Task, claim: ClaimContext) -> str:
        """The head of the branch afterwards: the verified commit, unless the branch has moved."""
        # A worker that was cut off does not know that another worker has the task by now.
        claim.confirm_claim()
        return self._workspace.landings.land(run, task.work.verified_commit, task.work.onto)

    def _wait_for_company(self, run: Run, task: Task, claim: ClaimContext) -> StageReport:
        """Verified, but the branch has moved: wait until a queued task takes the work along.

        If none does, the task enters the queue itself.  If the tasks ahead of it have left the
        queue without landing, it lands at once, since the branch is as it was verified.
        """
        commit = task.work.verified_commit
        stopped = self._company.wait(run, task, claim)
        if self._has_landed(run, task, commit):
            return self._landed_before(run, commit)
        if stopped is StopReason.LOST:
            raise ClaimSuperseded
        if stopped is StopReason.CANCEL:
            return WorkInterrupted(
                "cancelled by a person before it landed", saved_ref=task.work.head
            )
        if stopped and stopped.ends_worker:
            return StageDeferred("stopped before it landed", DEFERRED_WAIT)
        head, yields = self._workspace.branches.head(run), claim.queue.must_yield()
        if head == task.work.onto and not yields:
            head = self._move_branch(run, task, claim)
            if head == commit:
                return CommitLanded(commit)
            if head != task.work.onto:
                # Another task was faster, and this one may still be taken along.
                return self._wait_for_company(run, task, claim)
        if head != task.work.onto:
            return CommitNotLanded(head, RefusalCause.MOVED)
        return CommitNotLanded(head, RefusalCause.WAITED if yields else RefusalCause.UNKNOWN)

    def _refuse(
        self, run: Run, predecessor: str, head: str, claim: ClaimContext
    ) -> CommitNotLanded:
        if head == predecessor:
            return CommitNotLanded(head, RefusalCause.UNKNOWN)
        if self._workspace.branches.branch_contains(run, predecessor):
            return CommitNotLanded(head, RefusalCause.MOVED)
        # A task that keeps failing would make the next proof void as well.
        choice = claim.queue.choose_entry()
        avoids_queue = choice is not None and not choice.enters
        return CommitNotLanded(head, RefusalCause.PREDECESSOR, avoids_queue)

    def _landed_before(self, run: Run, commit: str) -> CommitLanded:
        """The commit is on the branch: another task took it along, or a kill hid its landing."""
        steps = self._workspace.branches.list_landings(run)
        joint = next((step.joint_commit for step in steps if step.commit == commit), "")
        leader = next((step.task_id for step in steps if joint and step.commit == joint), "")
        return CommitLanded(commit, was_there_before=not joint, taken_along_by=leader)

    def _has_landed(self, run: Run, task: Task, commit: str) -> bool:
        """Does the branch contain the verified commit, and does that count as this landing?"""
        counts = commit != task.work.onto or _lands_where_verified(task)
        return counts and self._workspace.branches.branch_contains(run, commit)


def _lands_where_verified(task: Task) -> bool:
    """A task without changes counts as landed at the commit it was verified on.

    This holds even if the branch has moved since: where many tasks land it would otherwise be
    verified again and again.  The final check of a run is the exception: it must hold on the
    branch as it is.
    """
    final = task.spec.kind is TaskKind.CHECK and task.spec.name.startswith(FINAL_CHECK_NAME)
    return not final and (task.spec.kind.is_change or task.work.is_queued)
