"""The worktree of an attempt: the task's own, a fresh one, or one rebuilt at its saved work."""

from __future__ import annotations

import shlex
from dataclasses import replace

from yaoki.adapters.git.commits import MERGED_IN
from yaoki.adapters.git.conflict_tree import ConflictTrees
from yaoki.adapters.git.filters import Filters
from yaoki.adapters.git.ref_names import candidate_ref, task_branch_ref
from yaoki.adapters.git.refs import GitCommit, require_commit
from yaoki.adapters.workspace.parts import WorkspaceParts
from yaoki.adapters.workspace.proof_rooms.submodules import check_out_submodules
from yaoki.adapters.workspace.worktrees.included_files import copy_included
from yaoki.adapters.workspace.worktrees.prepared_worktrees import PreparedWorktreePool
from yaoki.adapters.workspace.worktrees.worktree import Worktree
from yaoki.core.model import FailureKind, Run, Task
from yaoki.errors import GitFailed
from yaoki.ports import PreparedWorktree


class WorktreePreparation:
    """Makes and removes worktrees; their content is saved before it goes."""

    def __init__(
        self, parts: WorkspaceParts, pool: PreparedWorktreePool, filters: Filters, *, include: bool
    ) -> None:
        self._filters = filters
        self._git, self._repository, self._include = parts.git, parts.repository, include
        self._refs, self._commits, self._trees = parts.refs, parts.commits, parts.trees
        self._worktrees, self._pool, self._saver = parts.worktrees, pool, parts.saver
        self._saved_refs, self._branch, self._mode = parts.saved_refs, parts.branch, parts.mode
        self._ignored, self._conflicts = parts.ignored, ConflictTrees(parts.git, parts.trees)

    def prepare(self, run: Run, task: Task) -> PreparedWorktree:
        worktree, head = self._find(task)
        if task.taken_over and head is None and task.work.head:
            # A person wants what they saw to be verified; only what was saved is left of it.
            worktree = self._make(task, task.work.head)
            saved = require_commit(self._refs, task.work.head, f"the work of {task.id}")
            return replace(self._reuse(run, task, worktree, saved), rebuilt=True)
        if task.taken_over and worktree.is_usable:
            head = head or require_commit(
                self._refs, task_branch_ref(task.id), f"the branch of {task.id}"
            )
            return self._reuse(run, task, worktree, head)
        if head is None or task.needs_fresh_worktree or task.attempt == 0:
            return self._prepare_fresh(run, task)
        return self._reuse(run, task, worktree, head)

    def _find(self, task: Task) -> tuple[Worktree, GitCommit | None]:
        """The task's worktree and its HEAD.

        A worktree that lacks work saved by another machine is rebuilt at that work.
        """
        worktree = self._worktrees.find(task.id)
        head = self._read_head(worktree)
        is_retry = task.attempt > 0 and not task.needs_fresh_worktree
        if not (is_retry or task.taken_over) or not self._mode.lacks_saved_work(
            task, head, worktree.is_usable
        ):
            return worktree, head
        worktree = self._make(task, task.work.head)
        return worktree, self._read_head(worktree)

    def _read_head(self, worktree: Worktree) -> GitCommit | None:
        """The HEAD of a worktree that can be used as it is."""
        return self._refs.read_commits(worktree.head)[0] if worktree.is_usable else None

    def _prepare_fresh(self, run: Run, task: Task) -> PreparedWorktree:
        head = self._branch.head(run)
        worktree = self._make(task, head.sha)
        return PreparedWorktree(worktree.path, head.sha, head.tree, fresh=True)

    def _make(self, task: Task, commit: str) -> Worktree:
        """A new worktree; the content of the old one is saved first."""
        self.remove_worktree(task)
        try:
            worktree = self._pool.obtain(task.id, commit)
        except GitFailed as error:
            raise self._in_another_state_folder(task) or error from None
        if worktree.admin:
            self._trees.cache_index(task.id, worktree.admin / "index", commit)
        check_out_submodules(self._git, self._repository, commit, worktree.path, self._filters)
        if self._include and copy_included(self._git, self._repository, worktree.path):
            self._ignored.record_setup_files(worktree)
        return worktree

    def _in_another_state_folder(self, task: Task) -> GitFailed | None:
        """The error of a clone with two state folders: a task continues in the one where it
        started.
        """
        own = self._worktrees.find(task.id).path
        for path in self._refs.checkouts_of(task_branch_ref(task.id)):
            if path == own or (path.name, path.parent.name) != (own.name, own.parent.name):
                continue
            root = path.parent.parent
            is_default = root.name == "worktrees"
            export = f"export YAOKI_HOME={shlex.quote(str(root.parent))}"
            first = export if is_default else f"set [workspace] root to {root} in yaoki.toml"
            return GitFailed(
                f"the worktree of {task.id} is in another state folder, "
                f"{root.parent if is_default else root}",
                hint=f"{first}; yaoki retry {task.id} && yaoki resume {task.run_id}",
            )
        return None

    def _reuse(self, run: Run, task: Task, worktree: Worktree, head: GitCommit) -> PreparedWorktree:
        """The worktree as it is; after a conflict, with the conflict in it to be resolved.

        A person's files, and a merge that a person started, are the work and stay untouched.
        """
        self._worktrees.repair(worktree)
        run_head = self._branch.head(run).sha
        if not task.taken_over:
            self._worktrees.forget_merge(worktree)
            if task.feedback and task.feedback.kind is FailureKind.CONFLICT:
                head = self._check_out_conflict(task, worktree, head, run_head)
        base = self._commits.merge_base(head.sha, run_head) or task.work.base or run.base
        left = self._left_for_person(task, head, run_head) if task.taken_over else head
        return PreparedWorktree(worktree.path, base, left.tree, fresh=False)

    def _left_for_person(self, task: Task, head: GitCommit, run_head: str) -> GitCommit:
        """The commit at which yaoki left the worktree: a person's own commits come after it."""
        if not task.work.head or self._refs.is_ancestor(head.sha, run_head):
            return head
        candidate, work = self._refs.read_commits(candidate_ref(task.id), task.work.head)
        # After an attempt that changed nothing, the candidate is that of an earlier one.
        has_changes = not self._refs.is_ancestor(task.work.head, run_head)
        is_of_work = has_changes and candidate is not None and task.work.head in candidate.parents
        for left in (candidate if is_of_work else None, work):
            if left and self._refs.is_ancestor(left.sha, head.sha):
                return left
        return head

    def _check_out_conflict(
        self, task: Task, worktree: Worktree, head: GitCommit, run_head: str
    ) -> GitCommit:
        """Merge the run branch with conflict markers, unless it is merged already."""
        if self._refs.is_ancestor(run_head, head.sha):
            return head
        work = task.work.head or head.sha
        tree = self._conflicts.merge(work, run_head)
        message = self._commits.compose_task_message(f"{task.spec.name}: {MERGED_IN}", task)
        commit = self._commits.make(tree, [work, run_head], message)
        self._saver.save_everything(task)
        self._worktrees.check_out(worktree, commit)
        return GitCommit(commit, tree, (work, run_head))

    def rebuild_worktree(self, task: Task) -> bool:
        """Make a missing or unusable worktree again at its work; true when it was made."""
        worktree = self._worktrees.find(task.id)
        if self._read_head(worktree):
            self._worktrees.repair(worktree)
            return False
        self._mode.require_work(task)
        self._make(task, self._saved_refs.last_known_commit(task))
        return True

    def remove_worktree(self, task: Task, label: str = "") -> None:
        """Save all content of the worktree, then remove it; `label` marks the saved refs."""
        try:
            self._saver.save_everything(task, label)
        except (GitFailed, FileNotFoundError):
            if self._worktrees.find(task.id).exists:
                raise
            # Another process saved the files and removed the folder meanwhile: what git records of
            # the task is left.
            self._saver.save_everything(task, label)
        self._worktrees.remove(task.id)
        self._trees.drop_cached_index(task.id)
        self._worktrees.setup_files.forget(task.id)
