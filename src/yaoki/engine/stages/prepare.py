"""The first stage: check the machine's capacity, create and set up a worktree, take a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import GIT_CONFIG_CHECK, FaultSource, Run, Task, TaskId, TaskKind
from yaoki.core.model.stage_report import StageDeferred, StageFaulted, StageReport, WorktreePrepared
from yaoki.core.text import list_some
from yaoki.engine.claim_context import ClaimContext
from yaoki.engine.stage_settings import FreeCapacity, StageSettings
from yaoki.engine.stages.dependency_copy import DependencyCopy
from yaoki.engine.stages.processes import AttemptProcesses
from yaoki.engine.stages.resources import PORTS_WAIT, TaskResources
from yaoki.engine.stages.secrets import passed_variables
from yaoki.errors import FatalCode, Fault, WorkspaceError
from yaoki.ports import AgentDriver, Workspace

# The wait when this machine lacks disk or memory.
REBUILT = "its worktree was missing, so it was made again with the saved work of the last attempt"
SHORTAGE_WAIT = timedelta(seconds=15)
NAMES_SHOWN_MAX = 5
# Protected names of the user's checkout, and those that git keeps about one worktree.
CHECKOUT, WORKTREES = "checkout/", "worktrees/"
MOVED_SUBMODULES = (
    "set-up checked out other commits in submodules, which do not land and which checks do not see"
)


class PrepareStage:
    """Creates the worktree of an attempt, and removes it when the task is finished."""

    def __init__(
        self,
        workspace: Workspace,
        processes: AttemptProcesses,
        find_agent: Callable[[str], AgentDriver],
        settings: StageSettings,
        free_capacity: Callable[[], FreeCapacity],
        resources: TaskResources | None,
        dependencies: DependencyCopy,
        find_task: Callable[[TaskId], Task],
    ) -> None:
        self._workspace, self._processes, self._find_agent = workspace, processes, find_agent
        self._settings, self._free_capacity = settings, free_capacity
        self._resources, self._dependencies = resources, dependencies
        self._find_task = find_task

    def prepare(self, run: Run, task: Task, claim: ClaimContext) -> StageReport:
        environment = self._preflight(task)
        if isinstance(environment, StageDeferred | StageFaulted):
            return environment
        claim = replace(claim, environment=environment)
        self._workspace.branches.open_run_branch(run)
        self._workspace.branches.refuse_drift(run)
        attempt = task.attempt + 1
        prepared = self._workspace.worktrees.prepare(run, task, attempt)
        if task.is_rerun and not (
            prepared.base and self._workspace.branches.branch_contains(run, prepared.base)
        ):
            message = f"the re-run must start on {run.branch}, not at {prepared.base[:12]}"
            return StageFaulted(message, transient=True)
        if prepared.fresh or not self._is_set_up(task, prepared.worktree):
            landed_commit = prepared.base if prepared.fresh else ""
            fault = self.set_up(run, task, attempt, prepared.worktree, claim, landed_commit)
            if fault is not None:
                return fault
        untouched = prepared.fresh and not task.spec.setup
        snapshot, warning = self._snapshot(task, attempt, untouched=untouched)
        warnings = [REBUILT] if prepared.rebuilt else []
        warnings += [warning] if warning else []
        return WorktreePrepared(
            base=prepared.base,
            worktree=str(prepared.worktree),
            host=self._settings.host,
            fresh=prepared.fresh,
            tree=prepared.tree,
            snapshot=snapshot,
            warning="; ".join(warnings),
            protected_hashes=self._protected_hashes(task, fresh=prepared.fresh),
            head=self._group_head(run, task),
        )

    def _protected_hashes(self, task: Task, *, fresh: bool) -> Mapping[str, str]:
        """Hashes of git's configuration, to be compared at the end of the attempt.

        A retry does not accept what the last attempt changed there; only a waiver does.
        """
        now = hash_protected(self._workspace, task.id)
        before = self.unaccepted_hashes(task) or self._hashes_of_race(task)
        if not before:
            return now
        # Recorded anew: the names of a fresh worktree, which no agent has changed, and those of the
        # checkout, where a person may work meanwhile.
        anew = (CHECKOUT, WORKTREES) if fresh or task.race_task else (CHECKOUT,)
        kept = {name: value for name, value in before.items() if not name.startswith(anew)}
        return {**kept, **{name: value for name, value in now.items() if name.startswith(anew)}}

    def unaccepted_hashes(self, task: Task) -> Mapping[str, str]:
        """The hashes from before the last attempt if it changed them, or if its agent was lost
        before they were compared; empty if they may be recorded anew.
        """
        if GIT_CONFIG_CHECK in task.waivers:
            return {}
        was_lost = task.work.exit is None and not task.taken_over
        never_compared = was_lost and task.work.host == self._settings.host
        is_kept = never_compared or _changed_git_config(task)
        return task.work.protected_hashes if is_kept else {}

    def _hashes_of_race(self, task: Task) -> Mapping[str, str]:
        """Those that the racing task kept when this round began."""
        if not task.race_task:
            return {}
        racing = self._find_task(task.race_task)
        is_here = racing.work.host == self._settings.host
        return racing.work.protected_hashes if is_here or _changed_git_config(racing) else {}

    def _group_head(self, run: Run, task: Task) -> str:
        """The head of a group's branch, with the work of its subtasks; empty for other tasks."""
        if task.spec.kind is not TaskKind.GROUP:
            return ""
        return self._workspace.branches.head(self._workspace.groups.open_group_branch(run, task.id))

    def _preflight(self, task: Task) -> Mapping[str, str] | StageDeferred | StageFaulted:
        """The task's variables, or a wait that costs no attempt; runs before any agent call."""
        free, settings = self._free_capacity(), self._settings
        if shortage := free.disk_shortage(settings.disk_free_min):
            return StageDeferred(shortage, SHORTAGE_WAIT)
        if free.memory < settings.memory_free_min:
            return StageDeferred(free.memory_shortage(settings.memory_free_min), SHORTAGE_WAIT)
        return self._find_agent_fault(task) or self.task_environment(task)

    def _find_agent_fault(self, task: Task) -> StageFaulted | None:
        if task.agent is None or task.taken_over:
            return None
        try:
            self._find_agent(task.agent.preset).preflight(task.agent)
        except Fault as fault:
            source = FaultSource.AGENT
            return StageFaulted(fault.with_remedy, fault.transient, fault.code, source)
        return None

    def task_environment(self, task: Task) -> Mapping[str, str] | StageDeferred:
        """The variables of this worktree, leased once: a later worker finds the same ones."""
        if self._resources is None:
            return {}
        leased = self._resources.lease(task)
        if leased is None:
            return StageDeferred(self._resources.exhausted_message, PORTS_WAIT)
        return leased

    def _ready_file(self, task: Task) -> Path:
        return self._settings.folder / task.run_id / task.id / "ready"

    def _write_ready_file(self, task: Task, worktree: Path) -> None:
        """A file truncated by a kill names no folder, so the set-up is repeated."""
        ready = self._ready_file(task)
        ready.parent.mkdir(parents=True, exist_ok=True)
        ready.write_text(_identity(worktree))

    def _is_set_up(self, task: Task, worktree: Path) -> bool:
        """Was the set-up of this folder finished?  A kill in the middle leaves no ready file."""
        if not task.spec.setup:
            return True
        ready = self._ready_file(task)
        return ready.is_file() and ready.read_text() == _identity(worktree)

    def set_up(
        self,
        run: Run,
        task: Task,
        attempt: int,
        worktree: Path,
        claim: ClaimContext,
        landed_commit: str = "",
    ) -> StageFaulted | None:
        """`landed_commit`: what a worktree that no agent has used contains."""
        if not task.spec.setup:
            return None
        home = self._processes.folder(task, attempt)
        copied: bool | StageFaulted = False
        if landed_commit:
            copied = self._dependencies.install(task, landed_commit, worktree, home, claim)
        else:
            self._workspace.worktrees.begin_setup(task)
        fault = copied if isinstance(copied, StageFaulted) else None
        if not copied:
            fault = self._run_commands(run, task, home, worktree, claim)
        if fault is not None:
            self._disown_setup_files(task)
            return fault
        changes = self._workspace.worktrees.record_setup_files(task)
        if changes.restored:
            names = list_some(changes.restored, NAMES_SHOWN_MAX)
            claim.warn(f"set-up changed tracked files, which were restored: {names}")
        if changes.moved_submodules:
            names = list_some(changes.moved_submodules, NAMES_SHOWN_MAX)
            claim.warn(f"{MOVED_SUBMODULES}: {names}")
        self._write_ready_file(task, worktree)
        return None

    def _disown_setup_files(self, task: Task) -> None:
        """What a failed set-up left is no work, and may be gigabytes.

        Recorded at once: what a person adds to this worktree later is work.  Without the record
        more is saved than necessary, so the failure of set-up remains the news.
        """
        with suppress(WorkspaceError):
            self._workspace.worktrees.record_setup_files(task)

    def _run_commands(
        self, run: Run, task: Task, home: Path, worktree: Path, claim: ClaimContext
    ) -> StageFaulted | None:
        variables = passed_variables(run, task)
        for n, argv in enumerate(task.spec.setup, start=1):
            folder, state = self._processes.run_to_end(
                home / f"setup-{n}", argv, worktree, claim, variables
            )
            if state.start_error or state.code in {126, 127}:
                output = self._processes.last_output_line(folder, variables)
                reason = state.start_error or output or f"exit code {state.code}"
                message = f"set-up command {' '.join(argv)!r} cannot run: {reason}"
                return StageFaulted(message, transient=False, code=FatalCode.RESOURCE_NOT_FOUND)
            if state.code != 0:
                output = self._processes.last_output_line(folder, variables)
                command = " ".join(argv)
                message = f"set-up command {command!r} ended with {state.code}; log: {folder}"
                return StageFaulted(f"{message}: {output}" if output else message, transient=True)
        return None

    def remove_worktree(self, run: Run, task: Task) -> str:
        """Remove the worktree of a finished task; a failure is only a warning."""
        try:
            # In this order: while the worktree exists, a sweep closes the group branch as well.
            if task.spec.kind is TaskKind.GROUP:
                self._workspace.groups.close_group_branch(run, task.id)
            self._workspace.worktrees.remove_worktree(task)
        except WorkspaceError as error:
            is_left = task.id in self._workspace.worktrees.tasks_with_worktree()
            return f"the worktree was not removed: {error.sentence}" if is_left else ""
        if self._resources is not None:
            self._resources.release(task)
        return ""

    def _snapshot(self, task: Task, attempt: int, *, untouched: bool) -> tuple[str, str]:
        """A failed snapshot warns and disables rollback; the attempt continues."""
        if not self._settings.snapshots:
            return "", ""
        try:
            return self._workspace.worktrees.take_snapshot(task, attempt, untouched=untouched), ""
        except WorkspaceError as error:
            return "", f"no snapshot, so no rollback for this attempt: {error.sentence}"


def _changed_git_config(task: Task) -> bool:
    return task.failure is not None and task.failure.check == GIT_CONFIG_CHECK


def hash_protected(workspace: Workspace, task_id: str) -> Mapping[str, str]:
    """Hashes, by name, of everything that an attempt must not change."""
    return {
        **workspace.protection.hash_protected_files(task_id),
        **workspace.protection.hash_checkout(),
    }


def _identity(folder: Path) -> str:
    facts = folder.stat()
    return f"{facts.st_dev}:{facts.st_ino}"
