"""The first stage: room on the machine, a worktree that is set up, a snapshot to go back to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from yaoki.core.model import GIT_CONFIG_CHECK, Run, Task, TaskKind
from yaoki.core.model.stage_report import StageDeferred, StageFaulted, StageReport, WorktreePrepared
from yaoki.engine.claim_context import ClaimContext
from yaoki.engine.stage_settings import FreeCapacity, StageSettings
from yaoki.engine.stages.processes import AttemptProcesses
from yaoki.engine.stages.resources import PORTS_WAIT, TaskResources
from yaoki.engine.stages.secrets import passed_variables
from yaoki.errors import WorkspaceError
from yaoki.ports import AgentDriver, Workspace

# When to ask again for what this machine lacks just now.
SHORTAGE_WAIT = timedelta(seconds=15)


class PrepareStage:
    """Makes what an agent needs."""

    def __init__(
        self,
        workspace: Workspace,
        attending: AttemptProcesses,
        find_agent: Callable[[str], AgentDriver],
        settings: StageSettings,
        room: Callable[[], FreeCapacity],
        resources: TaskResources | None,
    ) -> None:
        self._workspace, self._attending, self._find_agent = workspace, attending, find_agent
        self._settings, self._room, self._resources = settings, room, resources

    def prepare(self, run: Run, task: Task, hold: ClaimContext) -> StageReport:
        own = self._preflight(task)
        if isinstance(own, StageDeferred):
            return own
        hold = replace(hold, environment=own)
        self._workspace.branches.open_run_branch(run)
        self._workspace.branches.refuse_drift(run)
        attempt = task.attempt + 1
        place = self._workspace.worktrees.prepare(run, task, attempt)
        if task.is_rerun and not (
            place.base and self._workspace.branches.branch_contains(run, place.base)
        ):
            words = f"the re-run was to start on {run.branch}, not at {place.base[:12]}"
            return StageFaulted(words, transient=True)
        if place.fresh or not self._is_set_up(task, place.worktree):
            fault = self.set_up(run, task, attempt, place.worktree, hold)
            if fault is not None:
                return fault
        untouched = place.fresh and not task.spec.setup
        snapshot, warning = self._snapshot(task, attempt, untouched=untouched)
        return WorktreePrepared(
            base=place.base,
            worktree=str(place.worktree),
            host=self._settings.host,
            fresh=place.fresh,
            tree=place.tree,
            snapshot=snapshot,
            warning=warning,
            protected_hashes=self._guards(task),
            head=self._gathered(run, task),
        )

    def _guards(self, task: Task) -> Mapping[str, str]:
        """The state of git's own configuration that the end of the attempt is compared with.

        A retry does not accept what the last attempt changed there: only a waiver does.
        """
        asked = task.failure is not None and task.failure.check == GIT_CONFIG_CHECK
        if asked and GIT_CONFIG_CHECK not in task.waivers and task.work.protected_hashes:
            return task.work.protected_hashes
        return hash_protected(self._workspace, task.id)

    def _gathered(self, run: Run, task: Task) -> str:
        """Of a group: what its subtasks landed on its branch; that is its work."""
        if task.spec.kind is not TaskKind.GROUP:
            return ""
        return self._workspace.branches.head(self._workspace.groups.open_group_branch(run, task.id))

    def _preflight(self, task: Task) -> Mapping[str, str] | StageDeferred:
        """Before any agent call, and at no cost in attempts: the task's variables, or a wait."""
        room, wanted = self._room(), self._settings
        if words := room.disk_shortage(wanted.disk_free_min):
            return StageDeferred(words, SHORTAGE_WAIT)
        if room.memory < wanted.memory_free_min:
            words = f"{room.memory} bytes of memory are free, {wanted.memory_free_min} are needed"
            return StageDeferred(words, SHORTAGE_WAIT)
        if task.agent is not None and not task.taken_over:
            self._find_agent(task.agent.preset).preflight(task.agent)
        return self.task_environment(task)

    def task_environment(self, task: Task) -> Mapping[str, str] | StageDeferred:
        """What this worktree has for itself; leased once, so whoever goes on finds the same."""
        if self._resources is None:
            return {}
        taken = self._resources.lease(task)
        return (
            StageDeferred(self._resources.exhausted_message, PORTS_WAIT) if taken is None else taken
        )

    def _ready_mark(self, task: Task) -> Path:
        return self._settings.folder / task.run_id / task.id / "ready"

    def _write_ready_mark(self, task: Task, worktree: Path) -> None:
        """A mark cut off by a kill names no folder, so the set-up is repeated."""
        mark = self._ready_mark(task)
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.write_text(_identity(worktree))

    def _is_set_up(self, task: Task, worktree: Path) -> bool:
        """Was the set-up of this very folder finished?  A kill in the middle leaves no mark."""
        if not task.spec.setup:
            return True
        mark = self._ready_mark(task)
        return mark.is_file() and mark.read_text() == _identity(worktree)

    def set_up(
        self, run: Run, task: Task, attempt: int, worktree: Path, hold: ClaimContext
    ) -> StageFaulted | None:
        given = passed_variables(run, task)
        for n, argv in enumerate(task.spec.setup, start=1):
            folder = self._attending.folder(task, attempt) / f"setup-{n}"
            folder, look = self._attending.run_to_end(folder, argv, worktree, hold, given)
            if look.start_error or look.code in {126, 127}:
                words = f"set-up command {argv[0]!r} cannot run: {look.start_error or look.code}"
                return StageFaulted(words, transient=False, code="RESOURCE_NOT_FOUND")
            if look.code != 0:
                said = self._attending.last_output_line(folder, given)
                words = f"set-up command {' '.join(argv)!r} ended with {look.code}; log: {folder}"
                return StageFaulted(f"{words}: {said}" if said else words, transient=True)
        if task.spec.setup:
            self._workspace.worktrees.record_setup_files(task)
            self._write_ready_mark(task, worktree)
        return None

    def _snapshot(self, task: Task, attempt: int, *, untouched: bool) -> tuple[str, str]:
        """A snapshot that fails warns and disables rollback; the work goes on."""
        if not self._settings.snapshots:
            return "", ""
        try:
            return self._workspace.worktrees.take_snapshot(task, attempt, untouched=untouched), ""
        except WorkspaceError as error:
            return "", f"no snapshot, so no rollback for this attempt: {error.sentence}"


def hash_protected(workspace: Workspace, task_id: str) -> Mapping[str, str]:
    """What an attempt must leave as it is, by name with a hash."""
    return {
        **workspace.protection.hash_protected_files(task_id),
        **workspace.protection.hash_checkout(),
    }


def _identity(folder: Path) -> str:
    facts = folder.stat()
    return f"{facts.st_dev}:{facts.st_ino}"
