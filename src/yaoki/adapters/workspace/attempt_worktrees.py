"""`ports.AttemptWorktrees`: the worktree of a task from its preparation to its removal."""

from __future__ import annotations

from pathlib import Path

from yaoki.adapters.git.ref_names import candidate_ref
from yaoki.adapters.workspace.os_errors import translates_os_errors
from yaoki.adapters.workspace.parts import WorkspaceParts
from yaoki.adapters.workspace.preparation import WorktreePreparation
from yaoki.adapters.workspace.worktrees.prepared_worktrees import PreparedWorktreePool
from yaoki.core.model import Run, Task
from yaoki.ports import CommittedAttempt, PreparedWorktree, SandboxFolders, SetupChanges

PACK_EVERY = 100


class GitAttemptWorktrees:
    def __init__(
        self, parts: WorkspaceParts, pool: PreparedWorktreePool, preparation: WorktreePreparation
    ) -> None:
        self._git, self._mode, self._trees = parts.git, parts.mode, parts.trees
        self._branch, self._worktrees = parts.branch, parts.worktrees
        self._pool, self._preparation = pool, preparation
        self._saver, self._saved_refs = parts.saver, parts.saved_refs
        self._snapshots, self._ignored = parts.snapshots, parts.ignored
        self._agent_repositories = parts.agent_repositories
        self._removal_count = 0

    @translates_os_errors
    def prepare(self, run: Run, task: Task, attempt: int) -> PreparedWorktree:
        """The worktree for this attempt: the task's own, or a fresh one if the task asks."""
        return self._preparation.prepare(run, task)

    @translates_os_errors
    def begin_setup(self, task: Task) -> None:
        """Record the changes in a used worktree that set-up will not have made."""
        self._worktrees.setup_files.begin(self._worktrees.require(task.id))

    @translates_os_errors
    def record_setup_files(self, task: Task) -> SetupChanges:
        """Record what set-up made and changed."""
        return self._ignored.record_setup_files(self._worktrees.require(task.id))

    @translates_os_errors
    def create_agent_repository(self, task_id: str, worktree: Path) -> SandboxFolders | None:
        """A repository that the task's agent can commit to inside the sandbox.

        None for an agent that works in another folder, such as a judge.
        """
        own = self._worktrees.find(task_id)
        is_own = own.is_usable and own.path == worktree
        return self._agent_repositories.create(own) if is_own else None

    @translates_os_errors
    def take_snapshot(self, task: Task, attempt: int, *, untouched: bool = False) -> str:
        """Save the worktree's content under refs/yaoki/snapshots; returns the snapshot's id."""
        with self._mode.push_afterwards(task.id):
            return self._snapshots.take(task, attempt, untouched=untouched)

    @translates_os_errors
    def commit_attempt(self, run: Run, task: Task) -> CommittedAttempt:
        """Commit everything the agent left on the task's branch and under a private ref."""
        with self._mode.push_afterwards(task.id):
            return self._saver.commit_attempt(run, task)

    @translates_os_errors
    def rebuild_worktree(self, task: Task) -> bool:
        """Make a missing or unusable worktree again at its work; true when it was made."""
        return self._preparation.rebuild_worktree(task)

    @translates_os_errors
    def remove_worktree(self, task: Task, *, continued_elsewhere: bool = False) -> None:
        """Remove the worktree and the branch of a task once all content is saved.

        `continued_elsewhere`: another machine works on the task and owns its branch at the remote.
        """
        with self._mode.push_afterwards(task.id, finished=not continued_elsewhere):
            self._preparation.remove_worktree(task, "late")
            self._saved_refs.delete_task_refs(task, candidate_ref(task.id))
        self._agent_repositories.delete_folder(task.id)
        self._removal_count += 1
        if self._removal_count % PACK_EVERY == 0:
            # A file for each ref of saved work slows down every listing of refs.
            self._git.run("pack-refs", "--all")

    @translates_os_errors
    def save_worktree(self, task: Task) -> None:
        """Save all content of the worktree, which stays as it is; repeating adds nothing."""
        with self._mode.push_afterwards(task.id):
            self._saver.save_everything(task, "late")

    @translates_os_errors
    def tasks_with_worktree(self) -> frozenset[str]:
        """The ids of the tasks that have a worktree on this machine."""
        return self._worktrees.list_ids()

    @translates_os_errors
    def ignored_files_too_large(self, task: Task) -> tuple[str, ...]:
        """Ignored files of the task's worktree that are not saved when it goes."""
        return self._saver.ignored_files_too_large(task)

    # -------------------------------------------------------------- worktrees made ahead

    @property
    def prepares_ahead(self) -> bool:
        """True when making a worktree takes so long that some should be ready."""
        return self._pool.is_worthwhile

    @translates_os_errors
    def prepare_ahead(self, run: Run, size: int) -> None:
        """Make worktrees until `size` are ready, if that is worthwhile."""
        self._pool.fill(self._branch.head(run).sha, size)

    @translates_os_errors
    def drop_prepared_worktrees(self) -> None:
        """Remove worktrees that only this process could have used."""
        self._pool.remove_own()

    @translates_os_errors
    def remove_orphans(self) -> None:
        """Remove what killed processes left: prepared worktrees, caches, agent repositories."""
        self._pool.remove_orphans()
        tasks = self._worktrees.list_ids()
        self._trees.drop_cached_indexes_except(tasks)
        self._agent_repositories.delete_orphans(tasks)
