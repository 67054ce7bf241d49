"""From kept work to the run branch: the commit to prove, the landing, and the way back."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from yaoki.adapters.git.commits import Commits, compose_message, first_line
from yaoki.adapters.git.conflict_tree import is_conflict_side
from yaoki.adapters.git.refs import (
    GitCommit,
    RefMove,
    Refs,
    candidate_ref,
    target_branch_ref,
    task_branch_ref,
)
from yaoki.adapters.git.trees import LINK, TreeBuilder, TreeChange, printable_path
from yaoki.adapters.workspace.branches.merge_queue import MergeQueue
from yaoki.adapters.workspace.branches.run_branch import RACES_MAX, RunBranch
from yaoki.adapters.workspace.worktrees.allocation import Worktrees
from yaoki.adapters.workspace.worktrees.saved_work import WorkSaver
from yaoki.adapters.workspace.worktrees.worktree import Worktree
from yaoki.core.model import Run, Task
from yaoki.errors import BranchMovedExternally, GitFailed, NotNow
from yaoki.ports import Candidate, QueueMembers

# Others who ride at the same time, each of whom is quicker once.
QUEUE_RACES_MAX = 20


class BranchLanding:
    """Merges without a checkout, and moves the run branch only by compare-and-swap."""

    def __init__(
        self,
        refs: Refs,
        commits: Commits,
        content: TreeBuilder,
        worktrees: Worktrees,
        keeping: WorkSaver,
        branch: RunBranch,
        train: MergeQueue,
    ) -> None:
        self._refs, self._commits, self._content = refs, commits, content
        self._worktrees, self._keeping, self._branch = worktrees, keeping, branch
        self._train = train

    def build_candidate(self, run: Run, task: Task, queue_members: QueueMembers) -> Candidate:
        """The task's work merged onto the run branch, or the train, and the worktree put there."""
        found = self._worktrees.require(task.id)
        if task.work.landing_refusals:
            made = self._riding(run, task, queue_members)
        else:
            made = self._merged(task, self._branch.head(run))
        if made.conflicts:
            return made
        self._put(task, found, made.commit, made.tree)
        return self._described(made)

    def _riding(self, run: Run, task: Task, riders: QueueMembers) -> Candidate:
        """Built on the last of the riders, and again as long as another is quicker."""
        for _ in range(QUEUE_RACES_MAX):
            seen = self._train.read(run, riders)
            made = self._merged(task, seen.predecessor_of(task.id))
            adds = not made.conflicts and made.commit != made.onto
            if not adds or self._train.add(run, seen, made.commit):
                return made
        self._train.restart(run, made.commit)
        return made

    def _merged(self, task: Task, onto: GitCommit) -> Candidate:
        """Where it conflicts the tree is the task's own."""
        work, before = self._refs.read_commits(task.work.head or onto.sha, candidate_ref(task.id))
        if work is None:
            raise GitFailed(f"the work of {task.id} is gone")
        merged = self._commits.merge_onto(onto, work)
        if merged.conflicts:
            return Candidate("", onto.sha, work.tree, conflicts=merged.conflicts)
        commit = self._proposed(task, merged.tree, onto, work, before)
        return Candidate(commit, onto.sha, merged.tree)

    def _proposed(
        self, task: Task, tree: str, onto: GitCommit, work: GitCommit, before: GitCommit | None
    ) -> str:
        """The merge as a commit, the same one however often it is asked for."""
        if tree == onto.tree:
            return onto.sha
        if before and (before.tree, before.parents) == (tree, (onto.sha, work.sha)):
            return before.sha
        subject = f"{task.spec.name}: {first_line(task.spec.goal)}"
        commit = self._commits.make(
            tree, [onto.sha, work.sha], self._commits.compose_task_message(subject, task)
        )
        self._refs.move_or_fail(RefMove(candidate_ref(task.id), commit))
        return commit

    def _put(self, task: Task, found: Worktree, commit: str, tree: str) -> None:
        """Checks and late processes may have left files: those are kept before they go.

        A worktree that holds these very files already only has its branch moved.
        """
        if not self._worktrees.is_clean(found):
            self._keeping.save_everything(task, "late")
        elif (
            (head := self._refs.read_commits(found.head)[0])
            and head.tree == tree
            and found.is_on_branch
        ):
            self._refs.move_or_fail(RefMove(task_branch_ref(task.id), commit, head.sha))
            self._worktrees.remove_untracked(found)
            return
        self._worktrees.check_out(found, commit)

    def _described(self, made: Candidate) -> Candidate:
        onto, commit = self._refs.require_commit(made.onto, "what it is merged onto"), made.commit
        changes = self._content.diff_trees(onto.sha, commit)
        deleted = sum(change.status == "D" for change in changes)
        return replace(
            made,
            changed=tuple(printable_path(change.path) for change in changes),
            deleted_count=deleted,
            tracked_count=self._content.count_files(onto.tree) if deleted else 0,
            conflict_markers=self._unresolved(onto.sha, commit, changes) if changes else (),
            outside_links=tuple(self._links_out(changes)),
        )

    def _unresolved(self, onto: str, commit: str, changes: Sequence[TreeChange]) -> tuple[str, ...]:
        sides = (change.path for change in changes if change.status == "A")
        left = tuple(printable_path(path) for path in sides if is_conflict_side(path))
        return (*self._commits.find_conflict_markers(onto, commit, changes), *left)

    def _links_out(self, changes: Sequence[TreeChange]) -> Iterator[str]:
        """Links that this work made or changed and whose target no clone would have."""
        for change in changes:
            if change.new_mode == LINK:
                target = self._commits.read_blob_text(change.object_id)
                place = posixpath.normpath(posixpath.join(posixpath.dirname(change.path), target))
                if target.startswith("/") or place.split("/")[0] == "..":
                    yield f"{printable_path(change.path)} -> {target}"

    def land(self, run: Run, commit: str, onto: str) -> str:
        """Move the run branch from `onto` to `commit`, or not at all; say where it is then."""
        if commit != onto:
            if not self._refs.is_ancestor(onto, commit):
                raise GitFailed(
                    f"{commit[:12]} does not build on {onto[:12]}: landing it loses work"
                )
            self.refuse_checked_out(run)
            if self._branch.move(run, commit, onto, "yaoki: land"):
                return commit
        return self._branch.head(run).sha

    def refuse_checked_out(self, run: Run) -> None:
        """A person may look at the run branch, but nothing lands on it meanwhile."""
        self._refs.refuse_checked_out(target_branch_ref(run), error_type=BranchMovedExternally)

    def undo(self, run: Run, landed: str, task_id: str, approve: Callable[[str, str], None]) -> str:
        """Take a landed task back by a new commit on the run branch; once is enough."""
        commit = self._refs.require_commit(landed, f"the landed commit {landed[:12]}")
        self.refuse_checked_out(run)
        for _ in range(RACES_MAX):
            head = self._branch.head(run)
            if self._commits.is_undone(landed, head.sha):
                # Reverting it once more would take away what landed in its place.
                return head.sha
            self._refuse_undo(run, commit, head, task_id)
            made = self._reversal(run, commit, head, task_id)
            if made == head.sha:
                return made
            approve(made, head.sha)
            if self._branch.move(run, made, head.sha, f"yaoki: undo {task_id}"):
                return made
        raise GitFailed(f"{run.branch} moved {RACES_MAX} times meanwhile", transient=True)

    def _refuse_undo(self, run: Run, landed: GitCommit, head: GitCommit, task_id: str) -> None:
        if not landed.parents or not self._refs.is_ancestor(landed.sha, head.sha):
            raise NotNow(f"{run.branch} does not hold {task_id}", hint=f"git log {run.branch}")

    def _reversal(self, run: Run, landed: GitCommit, head: GitCommit, task_id: str) -> str:
        """Merge "the state before, built on the landing": git's base is then the landing itself."""
        before = self._refs.require_commit(landed.parents[0], "the commit before the landing")
        reverse = self._commits.make(
            before.tree, [landed.sha], compose_message(f"before {task_id}")
        )
        merged = self._commits.merge(head.sha, reverse)
        if merged.conflicts:
            raise NotNow(
                f"later work builds on {task_id}: {', '.join(merged.conflicts[:10])}",
                hint=f"undo the later tasks first, or by hand: git revert -m1 {landed.sha[:12]}",
            )
        if merged.tree == head.tree:
            return head.sha
        words = compose_message(f"Undo {task_id}", Run=run.id, Task=task_id, Undo=landed.sha)
        return self._commits.make(merged.tree, [head.sha], words)
