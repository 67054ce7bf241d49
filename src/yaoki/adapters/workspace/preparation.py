"""The worktree an attempt gets: its own as it stands, a fresh one, or one at its kept work."""

from __future__ import annotations

import shlex

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.commits import Commits
from yaoki.adapters.git.conflict_tree import ConflictTrees
from yaoki.adapters.git.refs import GitCommit, Refs, task_branch_ref
from yaoki.adapters.git.repository import GitRepository
from yaoki.adapters.git.trees import TreeBuilder
from yaoki.adapters.workspace.branches.run_branch import RunBranch
from yaoki.adapters.workspace.remote.mode import LocalOnly, SharedRemote
from yaoki.adapters.workspace.worktrees.allocation import Worktrees
from yaoki.adapters.workspace.worktrees.ignored_files import IgnoredFileStore
from yaoki.adapters.workspace.worktrees.included_files import copy_included
from yaoki.adapters.workspace.worktrees.prepared_worktrees import PreparedWorktreePool
from yaoki.adapters.workspace.worktrees.saved_work import WorkSaver
from yaoki.adapters.workspace.worktrees.worktree import Worktree
from yaoki.core.model import FailureKind, Run, Task
from yaoki.errors import GitFailed
from yaoki.ports import PreparedWorktree


class WorktreePreparation:
    """Makes worktrees and clears them; whatever one holds is secured before it goes."""

    def __init__(
        self,
        git: Git,
        repository: GitRepository,
        refs: Refs,
        commits: Commits,
        content: TreeBuilder,
        worktrees: Worktrees,
        spares: PreparedWorktreePool,
        keeping: WorkSaver,
        branch: RunBranch,
        sharing: LocalOnly | SharedRemote,
        ignored: IgnoredFileStore,
        *,
        include: bool,
    ) -> None:
        self._git, self._repository, self._include = git, repository, include
        self._refs, self._commits, self._content = refs, commits, content
        self._worktrees, self._spares, self._keeping = worktrees, spares, keeping
        self._branch, self._sharing, self._ignored = branch, sharing, ignored
        self._conflicts = ConflictTrees(git, content)

    def prepare(self, run: Run, task: Task) -> PreparedWorktree:
        found, head = self._found(task)
        if task.taken_over and found.is_usable:
            head = head or self._refs.require_commit(
                task_branch_ref(task.id), f"the branch of {task.id}"
            )
            return self._again(run, task, found, head)
        if head is None or task.needs_fresh_worktree or task.attempt == 0:
            return self._fresh(run, task)
        return self._again(run, task, found, head)

    def _found(self, task: Task) -> tuple[Worktree, GitCommit | None]:
        """The task's worktree; one that lacks what another machine kept is made again at that."""
        found = self._worktrees.find(task.id)
        head = self._standing(found)
        again = task.attempt > 0 and not task.needs_fresh_worktree
        if not (again or task.taken_over) or not self._sharing.lacks_saved_work(
            task, head, found.is_usable
        ):
            return found, head
        made = self._make(task, task.work.head)
        return made, self._standing(made)

    def _standing(self, found: Worktree) -> GitCommit | None:
        """The HEAD of a worktree that can be used as it is."""
        return self._refs.read_commits(found.head)[0] if found.is_usable else None

    def _fresh(self, run: Run, task: Task) -> PreparedWorktree:
        head = self._branch.head(run)
        made = self._make(task, head.sha)
        return PreparedWorktree(made.path, head.sha, head.tree, fresh=True)

    def _make(self, task: Task, commit: str) -> Worktree:
        """A new worktree; what the old one held is secured before it goes."""
        self.remove_worktree(task)
        try:
            made = self._spares.obtain(task.id, commit)
        except GitFailed as failed:
            raise self._in_another_folder(task) or failed from None
        if made.admin:
            self._content.cache_index(task.id, made.admin / "index", commit)
        if self._include and copy_included(self._git, self._repository, made.path):
            self._ignored.record_setup_files(made)
        return made

    def _in_another_folder(self, task: Task) -> GitFailed | None:
        """One clone, two state folders: who goes on with a task needs the one it began in."""
        here = self._worktrees.find(task.id).path
        for place in self._refs.checkouts_of(task_branch_ref(task.id)):
            if place == here or (place.name, place.parent.name) != (here.name, here.parent.name):
                continue
            root = place.parent.parent
            usual = root.name == "worktrees"
            sets = f"export YAOKI_HOME={shlex.quote(str(root.parent))}"
            first = sets if usual else f"set [workspace] root to {root} in yaoki.toml"
            return GitFailed(
                f"the worktree of {task.id} is in another state folder, "
                f"{root.parent if usual else root}",
                hint=f"{first}; yaoki retry {task.id} && yaoki resume {task.run_id}",
            )
        return None

    def _again(self, run: Run, task: Task, found: Worktree, head: GitCommit) -> PreparedWorktree:
        """The worktree as it stands; a conflict is put into it for the agent to resolve.

        Never over what a person did there: their files, and a merge they began, are the work.
        """
        self._worktrees.repair(found)
        run_head = self._branch.head(run).sha
        if not task.taken_over:
            self._worktrees.forget_merge(found)
            if task.feedback and task.feedback.kind is FailureKind.CONFLICT:
                head = self._with_markers(task, found, head, run_head)
        base = self._commits.merge_base(head.sha, run_head) or task.work.base or run.base
        return PreparedWorktree(found.path, base, head.tree, fresh=False)

    def _with_markers(
        self, task: Task, found: Worktree, head: GitCommit, run_head: str
    ) -> GitCommit:
        """Merge the run branch in, markers and all, unless it is in there already."""
        if self._refs.is_ancestor(run_head, head.sha):
            return head
        work = task.work.head or head.sha
        tree = self._conflicts.merge(work, run_head)
        words = self._commits.compose_task_message(
            f"{task.spec.name}: the run branch merged in", task
        )
        commit = self._commits.make(tree, [work, run_head], words)
        self._keeping.save_everything(task)
        self._worktrees.check_out(found, commit)
        return GitCommit(commit, tree, (work, run_head))

    def rebuild_worktree(self, task: Task) -> bool:
        """Make a worktree that is gone, or of no use, again at its work; true when it was made."""
        found = self._worktrees.find(task.id)
        if self._standing(found):
            self._worktrees.repair(found)
            return False
        self._sharing.require_work(task)
        self._make(task, self._keeping.last_known_commit(task))
        return True

    def remove_worktree(self, task: Task, why: str = "") -> None:
        """Remove the worktree after all it holds was secured."""
        self._keeping.save_everything(task, why)
        self._worktrees.remove(task.id)
        self._content.drop_cached_index(task.id)
        self._ignored.forget_setup_files(task.id)
