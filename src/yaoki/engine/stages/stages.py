"""The four stages.  Each touches the outside world, may be repeated without harm, and returns what
it saw; what follows from it is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from yaoki.core.model import (
    FINAL_CHECK_NAME,
    Run,
    Stage,
    Task,
    TaskId,
    TaskKind,
    TaskSpec,
    Verdict,
    Work,
)
from yaoki.core.model.stage_report import (
    BisectResult,
    BranchMoved,
    CandidateVerified,
    CommitLanded,
    MergeConflicted,
    StageDeferred,
    StageReport,
    WorkInterrupted,
)
from yaoki.engine.claim_context import ClaimContext, ClaimSuperseded
from yaoki.engine.stage_settings import FreeCapacity, StageSettings
from yaoki.engine.stages.bisect import LandingBisection
from yaoki.engine.stages.plan_task import PlanTaskStages
from yaoki.engine.stages.predecessor_wait import PredecessorWait
from yaoki.engine.stages.prepare import PrepareStage
from yaoki.engine.stages.processes import AttemptProcesses
from yaoki.engine.stages.proof_room import ProofSessions
from yaoki.engine.stages.resources import TaskResources
from yaoki.engine.stages.verify import CandidateVerifier
from yaoki.engine.stages.work import WorkStage
from yaoki.errors import WorkspaceError
from yaoki.ports import (
    AgentDriver,
    Baselines,
    Candidate,
    Checker,
    Clock,
    PlanReader,
    Processes,
    PromptWriter,
    ProofRooms,
    QualityCriteria,
    Workspace,
)


class Stages:
    """One piece of work each."""

    def __init__(
        self,
        workspace: Workspace,
        processes: Processes,
        rooms: ProofRooms,
        checker: Checker,
        find_agent: Callable[[str], AgentDriver],
        clock: Clock,
        prompt_writer: Callable[[TaskSpec], PromptWriter],
        settings: StageSettings,
        baselines: Baselines,
        quality: QualityCriteria,
        free_capacity: Callable[[], FreeCapacity],
        planning: PlanReader,
        find_task: Callable[[TaskId], Task],
        resources: TaskResources | None = None,
    ) -> None:
        self._workspace, self._resources = workspace, resources
        self._attending = AttemptProcesses(processes, clock, settings)
        self._planning = PlanTaskStages(workspace, planning)
        self._readying = PrepareStage(
            workspace, self._attending, find_agent, settings, free_capacity, resources
        )
        self._working = WorkStage(
            workspace,
            processes,
            self._attending,
            self._readying.task_environment,
            find_agent,
            prompt_writer,
            self._planning,
            settings,
        )
        clean = ProofSessions(rooms, checker, processes, self._attending)
        began = self._attending.agent_started_at
        self._proving = CandidateVerifier(workspace, checker, clean, baselines, quality, began)
        self._blaming = LandingBisection(workspace, clean, find_task)
        self._riding = PredecessorWait(workspace, clock)

    def prepare(self, run: Run, task: Task, hold: ClaimContext) -> StageReport:
        return self._readying.prepare(run, task, hold)

    def work(self, run: Run, task: Task, hold: ClaimContext) -> StageReport:
        return self._working.work(run, task, hold)

    def end_leftovers(self, task: Task) -> None:
        """Whatever still runs for this or the coming attempt: agent, set-up or checks."""
        self._attending.end_leftovers(task)

    # -------------------------------------------------------------- verify

    def on_target_branch(self, run: Run, task: Task) -> Run:
        """The run, seen from the branch that this task lands on."""
        if not task.parent:
            return run
        if task.stage is Stage.WORK:
            # An agent needs no branch; it must not wait, nor end, because a remote is away.
            return run.on_group_branch(task.parent, task.work.base)
        # Whoever submitted the run may have died before its branch was made.
        self._workspace.branches.open_run_branch(run)
        if task.stage is Stage.PREPARE:
            return self._workspace.groups.refresh_group_branch(run, task.parent)
        return self._workspace.groups.open_group_branch(run, task.parent)

    def verify(self, run: Run, task: Task, hold: ClaimContext) -> StageReport:
        if task.spec.kind is TaskKind.PLAN:
            return self._planning.verify(run, task, self._attending.folder(task, task.attempt))
        own = self._readying.task_environment(task)
        if isinstance(own, StageDeferred):
            return own
        hold = replace(hold, environment=own)
        # Of a branch that somebody else moved: what is proven on it is not what was landed.
        self._workspace.branches.refuse_drift(run)
        if self._workspace.worktrees.rebuild_worktree(task):
            fault = self._readying.set_up(run, task, task.attempt, Path(task.work.worktree), hold)
            if fault is not None:
                return fault
        candidate = self._workspace.landings.build_candidate(run, task, hold.queue_members)
        if candidate.conflicts:
            conflicted = MergeConflicted(candidate.conflicts, candidate.onto, task.work.tree)
            return (
                self._riding.discard_if_predecessor_failed(run, task, candidate.onto, hold)
                or conflicted
            )
        home = self._attending.folder(task, task.attempt) / "checks"
        findings = self._proving.verify(run, task, candidate, home, hold)
        if hold.stop_reason() == "lost":
            raise ClaimSuperseded
        verdict = Verdict(findings)
        if not verdict.passed and (
            void := self._riding.discard_if_predecessor_failed(run, task, candidate.onto, hold)
        ):
            return void
        blame = self._blame(run, task, verdict, hold)
        already = not candidate.changed and (
            bool(task.work.changed_file_count) or self._landed(run, task)
        )
        elsewhere = (
            ()
            if candidate.changed or already
            else self._workspace.uncommitted.find_work_elsewhere(task)
        )
        return CandidateVerified(
            verdict, candidate.commit, candidate.onto, candidate.changed, already, blame, elsewhere
        )

    def _landed(self, run: Run, task: Task) -> bool:
        """Does the branch hold this very task's work, though the store lost its landing?"""
        steps = self._workspace.branches.list_landings(run)
        undone = {step.undoes for step in steps}
        return any(step.task_id == task.id and step.commit not in undone for step in steps)

    def verify_commit(self, run: Run, spec: TaskSpec, commit: str, onto: str) -> Verdict:
        """Prove a commit that no task made, a merge or an undo, with the checks of `spec`."""
        task = Task(TaskId(f"{run.id}-proof"), run.id, 0, spec, work=Work(base=onto))
        home = self._attending.folder(task, 0) / f"{spec.name}-{commit[:12]}"
        hold = ClaimContext(stop_reason=lambda: "")
        candidate = Candidate(commit, onto, "")
        return Verdict(self._proving.verify(run, task, candidate, home, hold))

    def _blame(
        self, run: Run, task: Task, verdict: Verdict, hold: ClaimContext
    ) -> BisectResult | None:
        """Only where several landings are proven together; else the work itself is to blame."""
        proof = task.spec.kind is TaskKind.CHECK and task.spec.name.startswith(FINAL_CHECK_NAME)
        group = task.spec.kind is TaskKind.GROUP
        if verdict.passed or hold.stop_reason() or not (proof or group):
            return None
        line = self._workspace.groups.open_group_branch(run, task.id) if group else run
        home = self._attending.folder(task, task.attempt) / "blame"
        return self._blaming.find_culprit(line, task, verdict, home, hold)

    # -------------------------------------------------------------- land

    def land(self, run: Run, task: Task, hold: ClaimContext) -> StageReport:
        commit, onto = task.work.verified_commit, task.work.onto
        if task.spec.kind is TaskKind.PLAN:
            return self._planning.land(run, task, self._attending.folder(task, task.attempt))
        if (commit != onto or self._passed_by(task)) and self._workspace.branches.branch_contains(
            run, commit
        ):
            return CommitLanded(commit, was_there_before=True)
        if task.cancel_requested:
            return WorkInterrupted(
                "cancelled by a person before it landed", saved_ref=task.work.head
            )
        if hold.must_yield():
            return BranchMoved(onto, "others that were refused before land first")
        if early := self._riding.wait_for_predecessor(run, task, onto, hold):
            return early
        if hold.stop_reason() == "lost":
            raise ClaimSuperseded
        # Whoever was cut off does not know that somebody else has the task by now.
        hold.confirm_claim()
        head = self._workspace.landings.land(run, commit, onto)
        stands = commit != onto or self._passed_by(task)
        if head == commit or (stands and self._workspace.branches.branch_contains(run, commit)):
            return CommitLanded(commit, was_there_before=commit == onto)
        return BranchMoved(head)

    @staticmethod
    def _passed_by(task: Task) -> bool:
        """Work that moves nothing stands where it was proven, though others landed right behind.

        Refused once, it would be too late again and again where many land.  What proves the whole
        run is held against the branch as it is.
        """
        whole = task.spec.kind is TaskKind.CHECK and task.spec.name.startswith(FINAL_CHECK_NAME)
        return task.work.landing_refusals > 0 and not whole

    def remove_worktree(self, run: Run, task: Task) -> str:
        """Remove the worktree of finished work; a failure only warns."""
        try:
            # In this order: a worktree that is still there tells a sweep to close the line, too.
            if task.spec.kind is TaskKind.GROUP:
                self._workspace.groups.close_group_branch(run, task.id)
            self._workspace.worktrees.remove_worktree(task)
        except WorkspaceError as error:
            left = task.id in self._workspace.worktrees.tasks_with_worktree()
            return f"the worktree stays: {error.sentence}" if left else ""
        if self._resources is not None:
            self._resources.release(task)
        return ""
