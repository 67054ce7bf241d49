"""From kept work to the run branch: the commit to prove, the landing, and the way back."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from yaoki.adapters.git.commits import Commits, first_line, message
from yaoki.adapters.git.conflict_tree import is_side
from yaoki.adapters.git.refs import Commit, Move, Refs, branch_of, candidate_ref, task_ref
from yaoki.adapters.git.trees import LINK, Change, Content, readable
from yaoki.adapters.workspace.branches.merge_queue import Train
from yaoki.adapters.workspace.branches.run_branch import RACES_MAX, RunBranch
from yaoki.adapters.workspace.worktrees.allocation import Worktrees
from yaoki.adapters.workspace.worktrees.saved_work import Keeping
from yaoki.adapters.workspace.worktrees.worktree import Worktree
from yaoki.core.model import Run, Task
from yaoki.errors import BranchStrayed, GitFailed, NotNow
from yaoki.ports import Candidate, Riders

# Others who ride at the same time, each of whom is quicker once.
RIDES_MAX = 20


class Landing:
    """Merges without a checkout, and moves the run branch only by compare-and-swap."""

    def __init__(
        self,
        refs: Refs,
        commits: Commits,
        content: Content,
        worktrees: Worktrees,
        keeping: Keeping,
        branch: RunBranch,
        train: Train,
    ) -> None:
        self._refs, self._commits, self._content = refs, commits, content
        self._worktrees, self._keeping, self._branch = worktrees, keeping, branch
        self._train = train

    def candidate(self, run: Run, task: Task, riders: Riders) -> Candidate:
        """The task's work merged onto the run branch, or the train, and the worktree put there."""
        found = self._worktrees.need(task.id)
        if task.work.refused:
            made = self._riding(run, task, riders)
        else:
            made = self._merged(task, self._branch.head(run))
        if made.conflicts:
            return made
        self._put(task, found, made.commit, made.tree)
        return self._described(made)

    def _riding(self, run: Run, task: Task, riders: Riders) -> Candidate:
        """Built on the last of the riders, and again as long as another is quicker."""
        for _ in range(RIDES_MAX):
            seen = self._train.seen(run, riders)
            made = self._merged(task, seen.before(task.id))
            adds = not made.conflicts and made.commit != made.onto
            if not adds or self._train.add(run, seen, made.commit):
                return made
        self._train.begin(run, made.commit)
        return made

    def _merged(self, task: Task, onto: Commit) -> Candidate:
        """Where it conflicts the tree is the task's own."""
        work, before = self._refs.commits(task.work.head or onto.sha, candidate_ref(task.id))
        if work is None:
            raise GitFailed(f"the work of {task.id} is gone")
        merged = self._commits.onto(onto, work)
        if merged.conflicts:
            return Candidate("", onto.sha, work.tree, conflicts=merged.conflicts)
        commit = self._proposed(task, merged.tree, onto, work, before)
        return Candidate(commit, onto.sha, merged.tree)

    def _proposed(
        self, task: Task, tree: str, onto: Commit, work: Commit, before: Commit | None
    ) -> str:
        """The merge as a commit, the same one however often it is asked for."""
        if tree == onto.tree:
            return onto.sha
        if before and (before.tree, before.parents) == (tree, (onto.sha, work.sha)):
            return before.sha
        subject = f"{task.spec.name}: {first_line(task.spec.goal)}"
        commit = self._commits.make(
            tree, [onto.sha, work.sha], self._commits.message(subject, task)
        )
        self._refs.set(Move(candidate_ref(task.id), commit))
        return commit

    def _put(self, task: Task, found: Worktree, commit: str, tree: str) -> None:
        """Checks and late processes may have left files: those are kept before they go.

        A worktree that holds these very files already only has its branch moved.
        """
        if not self._worktrees.clean(found):
            self._keeping.secure(task, "late")
        elif (head := self._refs.commits(found.head)[0]) and head.tree == tree and found.on_branch:
            self._refs.set(Move(task_ref(task.id), commit, head.sha))
            self._worktrees.sweep(found)
            return
        self._worktrees.put(found, commit)

    def _described(self, made: Candidate) -> Candidate:
        onto, commit = self._refs.commit(made.onto, "what it is merged onto"), made.commit
        changes = self._content.between(onto.sha, commit)
        deleted = sum(change.status == "D" for change in changes)
        return replace(
            made,
            changed=tuple(readable(change.path) for change in changes),
            deleted=deleted,
            tracked=self._content.count(onto.tree) if deleted else 0,
            markers=self._unresolved(onto.sha, commit, changes) if changes else (),
            links_out=tuple(self._links_out(changes)),
        )

    def _unresolved(self, onto: str, commit: str, changes: Sequence[Change]) -> tuple[str, ...]:
        sides = (change.path for change in changes if change.status == "A")
        left = tuple(readable(path) for path in sides if is_side(path))
        return (*self._commits.marked(onto, commit, changes), *left)

    def _links_out(self, changes: Sequence[Change]) -> Iterator[str]:
        """Links that this work made or changed and whose target no clone would have."""
        for change in changes:
            if change.now == LINK:
                target = self._commits.text_of(change.object)
                place = posixpath.normpath(posixpath.join(posixpath.dirname(change.path), target))
                if target.startswith("/") or place.split("/")[0] == "..":
                    yield f"{readable(change.path)} -> {target}"

    def land(self, run: Run, commit: str, onto: str) -> str:
        """Move the run branch from `onto` to `commit`, or not at all; say where it is then."""
        if commit != onto:
            if not self._refs.contains(onto, commit):
                raise GitFailed(
                    f"{commit[:12]} does not build on {onto[:12]}: landing it loses work"
                )
            self.refuse_held(run)
            if self._branch.move(run, commit, onto, "yaoki: land"):
                return commit
        return self._branch.head(run).sha

    def refuse_held(self, run: Run) -> None:
        """A person may look at the run branch, but nothing lands on it meanwhile."""
        self._refs.refuse_checked_out(branch_of(run), as_=BranchStrayed)

    def undo(self, run: Run, landed: str, task_id: str, approve: Callable[[str, str], None]) -> str:
        """Take a landed task back by a new commit on the run branch; once is enough."""
        commit = self._refs.commit(landed, f"the landed commit {landed[:12]}")
        self.refuse_held(run)
        for _ in range(RACES_MAX):
            head = self._branch.head(run)
            if self._commits.undone(landed, head.sha):
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

    def _refuse_undo(self, run: Run, landed: Commit, head: Commit, task_id: str) -> None:
        if not landed.parents or not self._refs.contains(landed.sha, head.sha):
            raise NotNow(f"{run.branch} does not hold {task_id}", hint=f"git log {run.branch}")

    def _reversal(self, run: Run, landed: Commit, head: Commit, task_id: str) -> str:
        """Merge "the state before, built on the landing": git's base is then the landing itself."""
        before = self._refs.commit(landed.parents[0], "the commit before the landing")
        reverse = self._commits.make(before.tree, [landed.sha], message(f"before {task_id}"))
        merged = self._commits.merge(head.sha, reverse)
        if merged.conflicts:
            raise NotNow(
                f"later work builds on {task_id}: {', '.join(merged.conflicts[:10])}",
                hint=f"undo the later tasks first, or by hand: git revert -m1 {landed.sha[:12]}",
            )
        if merged.tree == head.tree:
            return head.sha
        words = message(f"Undo {task_id}", Run=run.id, Task=task_id, Undo=landed.sha)
        return self._commits.make(merged.tree, [head.sha], words)
