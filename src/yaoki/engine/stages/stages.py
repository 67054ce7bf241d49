"""The four stages.  Each touches the outside world, may be repeated without harm, and returns what
it saw; what follows from it is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from yaoki.core.model import DONE_WHEN, Run, Spec, Stage, Task, TaskId, TaskKind, Verdict, Work
from yaoki.core.model.report import (
    Blame,
    Conflicted,
    Declined,
    Interrupted,
    LandedOn,
    Moved,
    Report,
    Verified,
)
from yaoki.engine.claim_context import Hold, Superseded
from yaoki.engine.completion.bisect import Blaming
from yaoki.engine.stages.plan_task import PlanStages
from yaoki.engine.stages.predecessor_wait import Riding
from yaoki.engine.stages.prepare import Readying
from yaoki.engine.stages.processes import Attending
from yaoki.engine.stages.proof_room import CleanRooms
from yaoki.engine.stages.resources import Resources
from yaoki.engine.stages.stage_settings import Room, Settings
from yaoki.engine.stages.verify import Proving
from yaoki.engine.stages.work import Working
from yaoki.errors import WorkspaceError
from yaoki.ports import (
    Agent,
    Baselines,
    Candidate,
    Checker,
    Clock,
    Planning,
    Processes,
    ProofRooms,
    Quality,
    Telling,
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
        find_agent: Callable[[str], Agent],
        clock: Clock,
        telling: Callable[[Spec], Telling],
        settings: Settings,
        baselines: Baselines,
        quality: Quality,
        room: Callable[[], Room],
        planning: Planning,
        find_task: Callable[[TaskId], Task],
        resources: Resources | None = None,
    ) -> None:
        self._workspace, self._resources = workspace, resources
        self._attending = Attending(processes, clock, settings)
        self._planning = PlanStages(workspace, planning)
        self._readying = Readying(workspace, self._attending, find_agent, settings, room, resources)
        self._working = Working(
            workspace,
            processes,
            self._attending,
            self._readying.own,
            find_agent,
            telling,
            self._planning,
            settings,
        )
        clean = CleanRooms(rooms, checker, processes, self._attending)
        began = self._attending.began
        self._proving = Proving(workspace, checker, clean, baselines, quality, began)
        self._blaming = Blaming(workspace, clean, find_task)
        self._riding = Riding(workspace, clock)

    def prepare(self, run: Run, task: Task, hold: Hold) -> Report:
        return self._readying.prepare(run, task, hold)

    def work(self, run: Run, task: Task, hold: Hold) -> Report:
        return self._working.work(run, task, hold)

    def end_leftovers(self, task: Task) -> None:
        """Whatever still runs for this or the coming attempt: agent, set-up or checks."""
        self._attending.end_leftovers(task)

    # -------------------------------------------------------------- verify

    def line(self, run: Run, task: Task) -> Run:
        """The run, seen from the branch that this task lands on."""
        if not task.parent:
            return run
        if task.stage is Stage.WORK:
            # An agent needs no branch; it must not wait, nor end, because a remote is away.
            return run.line_of(task.parent, task.work.base)
        # Whoever submitted the run may have died before its branch was made.
        self._workspace.open_run(run)
        if task.stage is Stage.PREPARE:
            return self._workspace.refresh_line(run, task.parent)
        return self._workspace.open_line(run, task.parent)

    def verify(self, run: Run, task: Task, hold: Hold) -> Report:
        if task.spec.kind is TaskKind.PLAN:
            return self._planning.verify(run, task, self._attending.folder(task, task.attempt))
        own = self._readying.own(task)
        if isinstance(own, Declined):
            return own
        hold = replace(hold, environment=own)
        # Of a branch that somebody else moved: what is proven on it is not what was landed.
        self._workspace.refuse_strayed(run)
        if self._workspace.rebuild(task):
            fault = self._readying.set_up(run, task, task.attempt, Path(task.work.worktree), hold)
            if fault is not None:
                return fault
        candidate = self._workspace.candidate(run, task, hold.riders)
        if candidate.conflicts:
            conflicted = Conflicted(candidate.conflicts, candidate.onto, task.work.tree)
            return self._riding.void(run, task, candidate.onto, hold) or conflicted
        home = self._attending.folder(task, task.attempt) / "checks"
        findings = self._proving.findings(run, task, candidate, home, hold)
        if hold.why() == "lost":
            raise Superseded
        verdict = Verdict(findings)
        if not verdict.passed and (void := self._riding.void(run, task, candidate.onto, hold)):
            return void
        blame = self._blame(run, task, verdict, hold)
        already = not candidate.changed and (bool(task.work.changed) or self._landed(run, task))
        elsewhere = () if candidate.changed or already else self._workspace.elsewhere(task)
        return Verified(
            verdict, candidate.commit, candidate.onto, candidate.changed, already, blame, elsewhere
        )

    def _landed(self, run: Run, task: Task) -> bool:
        """Does the branch hold this very task's work, though the store lost its landing?"""
        steps = self._workspace.landings(run)
        undone = {step.undoes for step in steps}
        return any(step.task_id == task.id and step.commit not in undone for step in steps)

    def prove(self, run: Run, spec: Spec, commit: str, onto: str) -> Verdict:
        """Prove a commit that no task made, a merge or an undo, with the checks of `spec`."""
        task = Task(TaskId(f"{run.id}-proof"), run.id, 0, spec, work=Work(base=onto))
        home = self._attending.folder(task, 0) / f"{spec.name}-{commit[:12]}"
        hold = Hold(why=lambda: "")
        candidate = Candidate(commit, onto, "")
        return Verdict(self._proving.findings(run, task, candidate, home, hold))

    def _blame(self, run: Run, task: Task, verdict: Verdict, hold: Hold) -> Blame | None:
        """Only where several landings are proven together; else the work itself is to blame."""
        proof = task.spec.kind is TaskKind.CHECK and task.spec.name.startswith(DONE_WHEN)
        group = task.spec.kind is TaskKind.GROUP
        if verdict.passed or hold.why() or not (proof or group):
            return None
        line = self._workspace.open_line(run, task.id) if group else run
        home = self._attending.folder(task, task.attempt) / "blame"
        return self._blaming.find(line, task, verdict, home, hold)

    # -------------------------------------------------------------- land

    def land(self, run: Run, task: Task, hold: Hold) -> Report:
        commit, onto = task.work.proven, task.work.onto
        if task.spec.kind is TaskKind.PLAN:
            return self._planning.land(run, task, self._attending.folder(task, task.attempt))
        if (commit != onto or self._passed_by(task)) and self._workspace.holds(run, commit):
            return LandedOn(commit, already=True)
        if task.cancel_wanted:
            return Interrupted("cancelled by a person before it landed", ref=task.work.head)
        if hold.yields():
            return Moved(onto, "others that were refused before land first")
        if early := self._riding.early(run, task, onto, hold):
            return early
        if hold.why() == "lost":
            raise Superseded
        # Whoever was cut off does not know that somebody else has the task by now.
        hold.confirm()
        head = self._workspace.land(run, commit, onto)
        stands = commit != onto or self._passed_by(task)
        if head == commit or (stands and self._workspace.holds(run, commit)):
            return LandedOn(commit, already=commit == onto)
        return Moved(head)

    @staticmethod
    def _passed_by(task: Task) -> bool:
        """Work that moves nothing stands where it was proven, though others landed right behind.

        Refused once, it would be too late again and again where many land.  What proves the whole
        run is held against the branch as it is.
        """
        whole = task.spec.kind is TaskKind.CHECK and task.spec.name.startswith(DONE_WHEN)
        return task.work.refused > 0 and not whole

    def release(self, run: Run, task: Task) -> str:
        """Remove the worktree of finished work; a failure only warns."""
        try:
            # In this order: a worktree that is still there tells a sweep to close the line, too.
            if task.spec.kind is TaskKind.GROUP:
                self._workspace.close_line(run, task.id)
            self._workspace.release(task)
        except WorkspaceError as error:
            left = task.id in self._workspace.worktrees()
            return f"the worktree stays: {error.sentence}" if left else ""
        if self._resources is not None:
            self._resources.free(task)
        return ""
