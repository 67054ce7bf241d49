"""The way of saved work to the run branch: the candidate to verify, the landing, and
its reversal.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence

from yaoki.adapters.git.commits import (
    MERGED_IN,
    SUBJECT_MAX,
    Commits,
    compose_message,
    first_line,
)
from yaoki.adapters.git.conflict_tree import is_conflict_side
from yaoki.adapters.git.joint_commits import Join, JointCommits, own_base, revert_command
from yaoki.adapters.git.ref_names import candidate_ref, target_branch_ref, task_branch_ref
from yaoki.adapters.git.refs import (
    LAND_REASON,
    GitCommit,
    RefMove,
    move_or_fail,
    refuse_checked_out,
    require_commit,
)
from yaoki.adapters.git.tree_diff import LINK, ChangeStatus, TreeChange, printable_path
from yaoki.adapters.git.trees import TreeBuilder
from yaoki.adapters.system.bytecode import find_source, is_unchecked
from yaoki.adapters.workspace.branches.base_merge import BaseMerge
from yaoki.adapters.workspace.branches.merge_queue import MergeQueue
from yaoki.adapters.workspace.branches.run_branch import RACES_MAX, RunBranch
from yaoki.adapters.workspace.os_errors import translates_os_errors
from yaoki.adapters.workspace.remote.mode import RemoteMode
from yaoki.adapters.workspace.worktrees.allocation import Worktrees
from yaoki.adapters.workspace.worktrees.saved_work import WorkSaver
from yaoki.adapters.workspace.worktrees.worktree import Worktree
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import Run, Task, TaskId
from yaoki.core.text import list_some, one_line
from yaoki.errors import BranchMovedExternally, GitFailed, NotNow
from yaoki.ports import Candidate, Companions, JointCommit, MergeResult, QueueMembers

# Other tasks that join the queue at the same time may each be faster once.
QUEUE_RACES_MAX = 20
# The names of dependents in the subject of an undo.
NAMES_CHARS_MAX = 50
LATER_SHOWN_MAX = 3


class GitLandings:
    """`ports.Landings`: merges without a checkout, moves branches only by compare-and-swap."""

    def __init__(
        self,
        *,
        mode: RemoteMode,
        commits: Commits,
        trees: TreeBuilder,
        worktrees: Worktrees,
        saver: WorkSaver,
        branch: RunBranch,
        queue: MergeQueue,
    ) -> None:
        self._mode, self._refs = mode, mode.run_refs
        self._commits, self._trees, self._worktrees = commits, trees, worktrees
        self._saver, self._branch, self._queue = saver, branch, queue
        self._joint = JointCommits(mode.run_refs, commits)
        self._base_merge = BaseMerge(mode.branch_refs, commits, branch, mode.checkout_update)

    # -------------------------------------------------------------- the candidate

    @translates_os_errors
    def build_candidate(
        self,
        run: Run,
        task: Task,
        queue_members: QueueMembers = frozenset,
        companions: Companions = tuple,
    ) -> Candidate:
        """Merge the task's work onto the run branch or the merge queue, and check it out."""
        self._mode.push_pending()
        self._mode.require_work(task)
        worktree = self._worktrees.require(task.id)
        if task.work.is_queued:
            candidate = self._build_queued(run, task, queue_members, companions)
        else:
            candidate = self._build(task, self._branch.head(run))
        if candidate.conflicts:
            return candidate
        self._check_out(task, worktree, candidate)
        return self._describe(candidate)

    @translates_os_errors
    def withdraw_candidate(self, run: Run, task: Task) -> None:
        """Move the worktree's branch from the candidate to a commit with the same files.

        That is the attempt's own commit, or a merge whose subject does not look like a landing.
        The next verification accepts both, so a kill in between does no harm.  A candidate that
        has work of other tasks that did not land is left for the attempt's own commit.
        """
        worktree = self._worktrees.find(task.id)
        names = (worktree.head, candidate_ref(task.id), task.work.head)
        head, candidate, work = self._refs.read_commits(*names)
        if not (head and candidate and work and worktree.is_on_branch):
            return
        if head.sha != candidate.sha or work.sha not in candidate.parents:
            return
        commit, onto = work.sha, candidate.parents[-2]
        has_landed = self._refs.is_ancestor(onto, self._branch.head(run).sha)
        if not has_landed or self._joint.read_join(candidate):
            # It contains the work of other tasks, which is not this one's to keep.
            self._worktrees.check_out(worktree, commit)
            move_or_fail(self._refs, RefMove(candidate_ref(task.id), commit, candidate.sha))
            return
        if candidate.tree != work.tree or onto not in work.parents[:1]:
            subject = f"{task.spec.name}: {MERGED_IN}"
            message = self._commits.compose_task_message(subject, task)
            commit = self._commits.make(candidate.tree, (work.sha, onto), message)
        move_or_fail(
            self._refs,
            RefMove(task_branch_ref(task.id), commit, head.sha),
            RefMove(candidate_ref(task.id), commit, candidate.sha),
        )

    @translates_os_errors
    def read_joint(self, commit: str) -> JointCommit | None:
        found = self._refs.read_commits(commit)[0]
        return self._joint.read(found) if found else None

    @translates_os_errors
    def is_in_merge_queue(self, run: Run, commit: str, queue_members: QueueMembers) -> bool:
        return self._queue.contains(run, commit, queue_members)

    def _build_queued(
        self, run: Run, task: Task, queue_members: QueueMembers, companions: Companions
    ) -> Candidate:
        """Build on the last candidate of the queue, again as long as another task is faster."""
        for _ in range(QUEUE_RACES_MAX):
            state = self._queue.read(run, queue_members)
            predecessor = state.predecessor_of(task.id)
            candidate = self._build_joint(task, predecessor, companions()) or self._build(
                task, predecessor
            )
            has_changes = not candidate.conflicts and candidate.commit != candidate.onto
            if not has_changes or self._queue.add(run, state, candidate.commit):
                return candidate
        self._queue.restart(run, candidate.commit)
        return candidate

    def _build(self, task: Task, onto: GitCommit) -> Candidate:
        """Build the candidate; on a conflict it has the tree of the task's own work and
        no commit.
        """
        work = self._read_work(task, onto)
        merged = self._commits.merge_onto(onto, work)
        if merged.conflicts:
            return Candidate(
                "",
                onto.sha,
                work.tree,
                conflicts=merged.conflicts,
                conflict_markers=self._left_in_work(onto, work),
                predecessor=onto.sha,
            )
        commit = onto.sha
        if merged.tree != onto.tree:
            commit = self._commit(task, merged.tree, (onto.sha, work.sha))
        return Candidate(commit, onto.sha, merged.tree, predecessor=onto.sha)

    def _build_joint(
        self, task: Task, predecessor: GitCommit, others: Sequence[Task]
    ) -> Candidate | None:
        """Build on the joined work of other tasks; None when nothing of it can be joined."""
        work = self._read_work(task, predecessor)
        join = self._previous_join(task, predecessor, work, others) or self._joint.join(
            predecessor, others, task.run_id
        )
        if join is None:
            return None
        merged = self._commits.merge(join.commit.sha, work.sha)
        if merged.conflicts or merged.tree == join.commit.tree:
            return None
        names = tuple(TaskId(part.task) for part in join.parts)
        parents = (predecessor.sha, join.commit.sha, work.sha)
        commit = self._commit(task, merged.tree, parents, names)
        return Candidate(
            commit,
            join.commit.sha,
            merged.tree,
            predecessor=predecessor.sha,
            companions=names,
        )

    def _previous_join(
        self, task: Task, predecessor: GitCommit, work: GitCommit, others: Sequence[Task]
    ) -> Join | None:
        """The join of the candidate that an interrupted call built, if it still fits."""
        previous = self._refs.read_commits(candidate_ref(task.id))[0]
        if previous is None or (join := self._joint.read_join(previous)) is None:
            return None
        fits = (previous.parents[0], previous.parents[-1]) == (predecessor.sha, work.sha)
        verified = {other.work.verified_commit for other in others}
        return join if fits and verified.issuperset(part.sha for part in join.parts) else None

    def _read_work(self, task: Task, onto: GitCommit) -> GitCommit:
        work = self._refs.read_commits(task.work.head or onto.sha)[0]
        if work is None:
            raise GitFailed(f"the work of {task.id} is gone")
        return work

    def _commit(
        self,
        task: Task,
        tree: str,
        parents: tuple[str, ...],
        companions: Sequence[TaskId] = (),
    ) -> str:
        """The merge commit; a repeated call returns the same one."""
        previous = self._refs.read_commits(candidate_ref(task.id))[0]
        if previous and (previous.tree, previous.parents) == (tree, parents):
            return previous.sha
        subject = f"{task.spec.name}: {first_line(task.spec.goal)}"
        message = self._commits.compose_task_message(subject, task, companions)
        commit = self._commits.make(tree, parents, message)
        move_or_fail(self._refs, RefMove(candidate_ref(task.id), commit))
        return commit

    def _check_out(self, task: Task, worktree: Worktree, candidate: Candidate) -> None:
        """Put the worktree at the candidate.

        Files that checks or late processes left are saved first.  A worktree that has the same
        files already only has its branch moved.
        """
        if not self._worktrees.is_clean(worktree):
            self._saver.save_everything(task, "late")
            self._worktrees.check_out(worktree, candidate.commit)
            return
        head = self._refs.read_commits(worktree.head)[0]
        if head and head.tree == candidate.tree and worktree.is_on_branch:
            move = RefMove(task_branch_ref(task.id), candidate.commit, head.sha)
            move_or_fail(self._refs, move)
        else:
            self._worktrees.move_to(worktree, candidate.commit)

    def _describe(self, candidate: Candidate) -> Candidate:
        onto = require_commit(self._refs, candidate.onto, "the commit that it is merged onto")
        commit = candidate.commit
        changes = self._trees.diff_trees(onto.sha, commit)
        deleted = sum(change.status is ChangeStatus.DELETED for change in changes)
        return replace(
            candidate,
            changed=tuple(printable_path(change.path) for change in changes),
            deleted_count=deleted,
            tracked_count=self._trees.count_files(onto.tree) if deleted else 0,
            conflict_markers=self._unresolved(onto.sha, commit, changes) if changes else (),
            outside_links=tuple(self._outside_links(changes)),
            unchecked_bytecode=tuple(self._unchecked_bytecode(changes)),
        )

    def _unresolved(self, onto: str, commit: str, changes: Sequence[TreeChange]) -> tuple[str, ...]:
        added = (change.path for change in changes if change.status is ChangeStatus.ADDED)
        sides = tuple(printable_path(path) for path in added if is_conflict_side(path))
        return (*self._commits.find_conflict_markers(onto, commit, changes), *sides)

    def _left_in_work(self, onto: GitCommit, work: GitCommit) -> tuple[str, ...]:
        """The files with conflict markers in work that conflicts once more."""
        base = self._commits.merge_base(onto.sha, work.sha)
        changes = self._trees.diff_trees(base, work.sha) if base else ()
        return self._unresolved(base, work.sha, changes) if changes else ()

    def _outside_links(self, changes: Sequence[TreeChange]) -> Iterator[str]:
        """New or changed symbolic links whose target no clone would have."""
        for change in changes:
            if change.new_mode == LINK:
                target = self._commits.read_blob_text(change.object_id)
                path = posixpath.normpath(posixpath.join(posixpath.dirname(change.path), target))
                if target.startswith("/") or path.split("/")[0] == "..":
                    yield f"{printable_path(change.path)} -> {target}"

    def _unchecked_bytecode(self, changes: Sequence[TreeChange]) -> Iterator[str]:
        """New or changed compiled files that Python runs in place of a source."""
        for change in changes:
            if change.status is ChangeStatus.DELETED or not find_source(change.path):
                continue
            content = self._commits.read_blob_bytes(change.object_id)
            if not content or is_unchecked(content):
                yield printable_path(change.path)

    # -------------------------------------------------------------- the landing

    @translates_os_errors
    def land(self, run: Run, commit: str, onto: str) -> str:
        """Move the run branch to `commit`, or not at all; returns its head."""
        if not self._mode.has_commit(commit):
            # Verified on a machine that is gone: only a machine that has the commit can land it,
            # so the task is verified again.
            return self._branch.head(run).sha
        if commit != onto:
            if not self._refs.is_ancestor(onto, commit):
                raise GitFailed(
                    f"{commit[:12]} does not build on {onto[:12]}: landing it would lose work"
                )
            self._refuse_checked_out(run)
            joint = self.read_joint(commit)
            below = joint.predecessor if joint else onto
            if self._branch.move(run, commit, below, LAND_REASON):
                return commit
        return self._branch.head(run).sha

    def _refuse_checked_out(self, run: Run) -> None:
        refuse_checked_out(self._refs, target_branch_ref(run), error_type=BranchMovedExternally)

    @translates_os_errors
    def undo(
        self, run: Run, landings: Mapping[TaskId, str], approve: Callable[[str, str], None]
    ) -> str:
        """Revert landed tasks by one new commit on the run branch; twice changes nothing."""
        if not landings:
            return self._branch.head(run).sha
        commits = self._read_landings(landings)
        *_, asked = commits
        self._refuse_checked_out(run)
        for _ in range(RACES_MAX):
            head = self._branch.head(run)
            left = self._not_undone(commits, head)
            if asked not in left:
                return head.sha
            reversal = self._make_reversal(run, left, head)
            approve(reversal, head.sha)
            if self._branch.move(run, reversal, head.sha, f"yaoki: undo {asked}"):
                return reversal
        raise GitFailed(f"{run.branch} moved {RACES_MAX} times meanwhile", transient=True)

    @translates_os_errors
    def refuse_undo(self, run: Run, landings: Mapping[TaskId, str]) -> None:
        """Make the reversal without using it: only git knows whether later work builds on these."""
        head = self._branch.head(run)
        if left := self._not_undone(self._read_landings(landings), head):
            self._make_reversal(run, left, head)

    def _read_landings(self, landings: Mapping[TaskId, str]) -> dict[TaskId, GitCommit]:
        self._mode.fetch_commits(*landings.values())
        return {
            task_id: require_commit(self._refs, landed, f"the landed commit {landed[:12]}")
            for task_id, landed in landings.items()
        }

    def _not_undone(
        self, commits: Mapping[TaskId, GitCommit], head: GitCommit
    ) -> dict[TaskId, GitCommit]:
        """A second revert of the same landing would remove what landed in its place."""
        return {
            task_id: landed
            for task_id, landed in commits.items()
            if not self._commits.is_undone(landed.sha, head.sha)
        }

    def _make_reversal(
        self, run: Run, landings: Mapping[TaskId, GitCommit], head: GitCommit
    ) -> str:
        """One commit on the head: the reverts in between are not on the branch, since nobody
        verifies them.
        """
        tree, below = head.tree, head.sha
        for task_id, landed in landings.items():
            if not landed.parents or not self._refs.is_ancestor(landed.sha, head.sha):
                hint = f"git log {run.branch}"
                raise NotNow(f"{run.branch} does not contain {task_id}", hint=hint)
            tree, conflicts = self._revert_onto(below, landed, task_id)
            if conflicts:
                tasks = self._later_tasks(landed, conflicts, head)
                later = {one: name for one, name in tasks.items() if one not in landings}
                raise _refuse_built_upon(landed, task_id, conflicts, later)
            below = self._commits.make(tree, [below], compose_message(f"without {task_id}"))
        message = compose_message(self._undo_subject(landings), Run=run.id) + "".join(
            f"Yaoki-Task: {task_id}\nYaoki-Undo: {landed.sha}\n"
            for task_id, landed in landings.items()
        )
        return self._commits.make(tree, [head.sha], message)

    def _undo_subject(self, landings: Mapping[TaskId, GitCommit]) -> str:
        """`Undo login: Add a login.`, then the names of the dependents."""
        *dependents, asked = landings
        subject = f"Undo {self._commits.read_subject(landings[asked].sha) or asked}"
        if not dependents:
            return subject
        names = ", ".join(self._commits.read_task_name(landings[one]) for one in dependents)
        with_them = f" (with {one_line(names, NAMES_CHARS_MAX)})"
        return one_line(subject, SUBJECT_MAX - len(with_them)) + with_them

    def _revert_onto(
        self, below: str, landed: GitCommit, task_id: TaskId
    ) -> tuple[str, Sequence[str]]:
        """The tree of `below` without the landing, and the files in conflict.

        A child of the landing that has the tree before it is merged: the merge base is then the
        landing itself, so git removes exactly its changes.
        """
        before = require_commit(self._refs, own_base(landed), "the commit before the landing")
        child = self._commits.make(before.tree, [landed.sha], compose_message(f"before {task_id}"))
        merged = self._commits.merge(below, child)
        return merged.tree, merged.conflicts

    def _later_tasks(
        self, landed: GitCommit, files: Sequence[str], head: GitCommit
    ) -> Mapping[str, str]:
        """The names, by id, of the tasks that changed the files after the landing, newest first."""
        changes = self._commits.list_later_changes(landed.sha, head.sha, files)
        return {
            later.task: self._commits.read_task_name(later)
            for later in (self._refs.read_commits(*changes) if changes else ())
            if later and later.task and not self._commits.is_undone(later.sha, head.sha)
        }

    # -------------------------------------------------------------- the end of a run

    @translates_os_errors
    def merge(
        self,
        run: Run,
        *,
        message: str = "",
        into: str = "",
        force_ref: bool = False,
        approve: Callable[[MergeResult], None],
    ) -> MergeResult:
        """Merge the run into the base branch or `into`; a checked out branch needs `force_ref`."""
        return self._base_merge.merge(run, message, into, force_ref, approve)


def _refuse_built_upon(
    landed: GitCommit, task_id: TaskId, files: Sequence[str], later: Mapping[str, str]
) -> NotNow:
    """Name the tasks that changed the same files, newest first: they can be undone first."""
    sentence = f"later work builds on {task_id}: {', '.join(files[:10])}"
    if not later:
        by_hand = f"undo the later tasks first, or by hand: {revert_command(landed)}"
        return NotNow(sentence, hint=by_hand)
    names = list_some(tuple(later.values()), LATER_SHOWN_MAX)
    order = "which can be undone first"
    if len(later) > 1:
        order = "which can be undone first, in this order"
    commands = list_some([f"yaoki undo {one}" for one in later], LATER_SHOWN_MAX)
    hint = f"{commands}; with --cascade also the tasks that depend on {_them(later)}"
    return NotNow(f"{sentence} (changed by {names}, {order})", hint=hint)


def _them(tasks: Mapping[str, str]) -> str:
    return "it" if len(tasks) == 1 else "them"
