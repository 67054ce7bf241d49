"""The merge queue of a branch: candidates built on each other, from the branch's head on.

Its ref names the last candidate.  A task adds its candidate by compare-and-swap, so no two build on
the same predecessor.  A candidate whose task is no longer being verified has left the queue, and so
have all candidates behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import takewhile

from yaoki.adapters.git.joint_commits import JointCommits
from yaoki.adapters.git.ref_names import merge_queue_ref, target_branch_ref
from yaoki.adapters.git.refs import BranchRefs, GitCommit, RefMove
from yaoki.adapters.workspace.branches.run_branch import RACES_MAX, RunBranch
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Run, TaskId
from yaoki.errors import GitFailed, RemoteUnreachable
from yaoki.ports import QueueMembers

QUEUE_MAX = 100


@dataclass(frozen=True, slots=True)
class QueueState:
    """The branch's head, the candidates that may still land on it, oldest first, and the ref."""

    head: GitCommit
    candidates: tuple[GitCommit, ...]
    tip: str

    def predecessor_of(self, task_id: TaskId) -> GitCommit:
        """The commit that this task builds on; a task that is queued already keeps its place."""
        ahead = tuple(takewhile(lambda each: each.task != task_id, self.candidates))
        return ahead[-1] if ahead else self.head


class MergeQueue:
    """Reads the queue and adds candidates to it."""

    def __init__(
        self,
        refs: BranchRefs,
        branch: RunBranch,
        joint: JointCommits,
        warn: Callable[[str], None],
    ) -> None:
        self._refs, self._branch, self._joint, self._warn = refs, branch, joint, warn

    def read(self, run: Run, queue_members: QueueMembers) -> QueueState:
        """The queue at nearly one instant.

        A task that lands meanwhile is no member any more and must not look as if it had left, so
        the queue is read again when the head moved.
        """
        head, tip = self._read_ends(run)
        for _ in range(RACES_MAX):
            candidates = self._list_candidates(head, tip)
            # Members are read last: a task that added a candidate was a member at that time.
            members = _leading_members(candidates, queue_members() if candidates else ())
            before = head
            if len(members) == len(candidates) or before == (head := self._read_ends(run)[0]):
                break
        return QueueState(before, members, tip.sha if tip else "")

    def contains(self, run: Run, commit: str, queue_members: QueueMembers) -> bool:
        """Is the commit a candidate, or joined in one?"""
        for candidate in self.read(run, queue_members).candidates:
            join = self._joint.read_join(candidate)
            if candidate.sha == commit or (join and commit in {part.sha for part in join.parts}):
                return True
        return False

    def _read_ends(self, run: Run) -> tuple[GitCommit, GitCommit | None]:
        head, tip = self._refs.read_commits(target_branch_ref(run), merge_queue_ref(run))
        return head or self._branch.head(run), tip

    def _list_candidates(self, head: GitCommit, tip: GitCommit | None) -> list[GitCommit]:
        """List the candidates from the head on; none when the queue does not start at the head any
        more.
        """
        candidates: list[GitCommit] = []
        commit = tip
        while commit and commit.sha != head.sha and len(candidates) < QUEUE_MAX:
            candidates.insert(0, commit)
            commit = self._refs.read_commits(commit.parents[0])[0] if commit.parents else None
        return candidates if commit and commit.sha == head.sha else []

    def add(self, run: Run, state: QueueState, commit: str) -> bool:
        """False when another task was faster; a commit that is queued already stays."""
        if any(each.sha == commit for each in state.candidates):
            return True
        move = RefMove(merge_queue_ref(run), commit, state.tip)
        return self._try(lambda: self._refs.move(move))

    def restart(self, run: Run, commit: str) -> None:
        """Set the queue's ref whatever it is now: its commit may be gone, and then no task could
        move it by compare-and-swap.
        """
        self._try(lambda: self._refs.overwrite(RefMove(merge_queue_ref(run), commit)))

    def _try(self, act: Callable[[], bool]) -> bool:
        """A task that cannot be queued is verified alone, and lands if no other task does first."""
        try:
            return act()
        except RemoteUnreachable:
            raise
        except GitFailed as error:
            self._warn(f"the merge queue is unavailable, tasks land one by one: {error.sentence}")
            return True


def _leading_members(
    candidates: Iterable[GitCommit], members: Collection[TaskId]
) -> tuple[GitCommit, ...]:
    """The candidates up to the first whose task has left the queue."""
    return tuple(takewhile(lambda each: each.task in members, candidates))
