"""Joint commits: a commit of a branch that lands the verified work of several tasks.

Its parents are the commit below it on the branch, a join of the other tasks' verified commits on
that commit, and the work of the task that was verified together with them.  The join is not on the
branch itself, so nobody checks it out: what was verified is the joint commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from yaoki.adapters.git.commits import Commits, compose_message
from yaoki.adapters.git.refs import BranchRefs, GitCommit, require_commit
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import TaskId
from yaoki.ports import JointCommit

if TYPE_CHECKING:
    from yaoki.core.model import Task

JOINT_PARENTS = 3


@dataclass(frozen=True, slots=True)
class Join:
    """A commit with the work of several tasks on a common predecessor."""

    commit: GitCommit
    parts: tuple[GitCommit, ...]


def is_joint(commit: GitCommit) -> bool:
    """A candidate of one task has two parents, and any other commit of ours one."""
    return bool(commit.run) and len(commit.parents) == JOINT_PARENTS


def own_base(commit: GitCommit) -> str:
    """The commit without the changes of this commit's own task."""
    return commit.parents[1] if is_joint(commit) else commit.parents[0]


def revert_command(commit: GitCommit) -> str:
    """The command by which a person reverts the changes of this commit's own task."""
    return f"git revert -m{2 if is_joint(commit) else 1} {commit.sha[:12]}"


class JointCommits:
    """Joins verified commits, and reads which tasks a joint commit lands."""

    def __init__(self, refs: BranchRefs, commits: Commits) -> None:
        self._refs, self._commits = refs, commits

    def join(self, predecessor: GitCommit, tasks: Sequence[Task], run_id: str) -> Join | None:
        """Join what merges cleanly; None when nothing does."""
        joined: Join | None = None
        for task in tasks:
            part = self._refs.read_commits(task.work.verified_commit)[0]
            if part is not None and self._is_new(part, predecessor):
                joined = self._add(predecessor, joined, part, run_id) or joined
        return joined

    def _is_new(self, part: GitCommit, predecessor: GitCommit) -> bool:
        """Was the work verified on a commit that the predecessor contains, and is not in it?"""
        return (
            not is_joint(part)
            and self._refs.is_ancestor(part.parents[0], predecessor.sha)
            and not self._refs.is_ancestor(part.sha, predecessor.sha)
        )

    def _add(
        self, predecessor: GitCommit, joined: Join | None, part: GitCommit, run_id: str
    ) -> Join | None:
        below = joined.commit if joined else predecessor
        merged = self._commits.merge(below.sha, part.sha)
        if merged.conflicts or merged.tree == below.tree:
            return None
        parts = (*(joined.parts if joined else ()), part)
        parents = [predecessor.sha, *(each.sha for each in parts)]
        names = ", ".join(self._commits.read_task_name(each) for each in parts)
        message = compose_message(f"Join the verified work of {names}", Run=run_id)
        sha = self._commits.make(merged.tree, parents, message)
        return Join(require_commit(self._refs, sha, "the join"), parts)

    def read_join(self, commit: GitCommit) -> Join | None:
        """The join in a joint commit; None for any other commit."""
        if not is_joint(commit):
            return None
        join = require_commit(self._refs, commit.parents[1], "the join of a joint commit")
        parts = (require_commit(self._refs, sha, "a joined commit") for sha in join.parents[1:])
        return Join(join, tuple(parts))

    def read(self, commit: GitCommit) -> JointCommit | None:
        join = self.read_join(commit)
        if join is None:
            return None
        return JointCommit(commit.parents[0], {TaskId(part.task): part.sha for part in join.parts})
