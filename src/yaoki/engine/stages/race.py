"""The part of a racing task that touches the world: its start, and the worktrees at its end."""

from __future__ import annotations

from yaoki.core.model import Run, State, Task
from yaoki.core.model.stage_report import RacePrepared
from yaoki.engine.stages.prepare import PrepareStage
from yaoki.errors import WorkspaceError
from yaoki.ports import Workspace


class RaceStage:
    """Starts and ends races.  `host` names this machine and its clone, as in the work of a task."""

    def __init__(self, workspace: Workspace, prepare: PrepareStage, host: str) -> None:
        self._workspace, self._prepare, self._host = workspace, prepare, host

    def prepare(self, run: Run, task: Task) -> RacePrepared:
        """Open the run branch, which is all a racing task needs; candidates have worktrees.

        The worktree of the round before is removed first: later its work would be saved as that
        of the new round.
        """
        worktrees = self._workspace.worktrees
        if task.id in worktrees.tasks_with_worktree():
            worktrees.remove_worktree(task, continued_elsewhere=True)
        self._workspace.branches.open_run_branch(run)
        self._workspace.branches.refuse_drift(run)
        return RacePrepared(self._workspace.branches.head(run), self._host)

    def clean_up(self, run: Run, task: Task) -> str:
        """Settle the worktree of a task after a step of its race; returns a warning or nothing.

        The worktree of an ended candidate is removed.  The worktree of a racing task that asks a
        person gets the best candidate's work, or is as the race began if none is left.  After a
        kill in between, a sweep removes the former, and the latter is made for the next attempt.
        """
        if task.work.host != self._host:
            return ""
        if task.race_task and task.state.is_final:
            return self._prepare.remove_worktree(run, task)
        if not task.race_task and task.state is State.ESCALATED and task.work.worktree:
            return self._offer_work(task)
        return ""

    def _offer_work(self, task: Task) -> str:
        worktrees = self._workspace.worktrees
        try:
            if task.id in worktrees.tasks_with_worktree():
                worktrees.remove_worktree(task, continued_elsewhere=True)
            worktrees.rebuild_worktree(task)
        except WorkspaceError as error:
            return f"the best candidate's work is not in {task.work.worktree}: {error.sentence}"
        return ""
