"""Group branches: subtasks land on the branch of their group before the group itself lands.

A group branch starts at the run branch's head, may be rolled back to the current one, and is
deleted once the group has landed.  Its commits stay reachable.
"""

from __future__ import annotations

from yaoki.adapters.git.commits import Commits, compose_message
from yaoki.adapters.git.ref_names import (
    group_base_ref,
    merge_queue_ref,
    recorded_head_ref,
    target_branch_ref,
    work_ref,
)
from yaoki.adapters.git.refs import BranchRefs, RefMove
from yaoki.adapters.workspace.branches.run_branch import RACES_MAX, RunBranch
from yaoki.adapters.workspace.os_errors import translates_os_errors
from yaoki.core.model import Run
from yaoki.errors import GitFailed

ROLLBACKS_MAX = 100


class GitGroupBranches:
    """`ports.GroupBranches`: each method returns or takes the run as its group branch sees it."""

    def __init__(self, refs: BranchRefs, branch: RunBranch, commits: Commits) -> None:
        self._refs, self._branch, self._commits = refs, branch, commits

    @translates_os_errors
    def open_group_branch(self, run: Run, group: str) -> Run:
        """Create the branch at the run branch's head unless it exists; an old base is kept."""
        target = run.on_group_branch(group)
        for _ in range(RACES_MAX):
            base, head, recorded = self._refs.read_commits(
                group_base_ref(target), target_branch_ref(target), recorded_head_ref(target)
            )
            if base and head:
                return run.on_group_branch(group, base.sha)
            if base and recorded:
                self._branch.refuse_drift(target)
            start = (base or self._branch.head(run)).sha
            names = (group_base_ref(target), target_branch_ref(target), recorded_head_ref(target))
            moves = [RefMove(ref, start, "") for ref in names]
            self._refs.move(*moves[1 if base else 0 :], reason="yaoki: open group")
        raise GitFailed(f"{target.branch} moved {RACES_MAX} times meanwhile", transient=True)

    @translates_os_errors
    def refresh_group_branch(self, run: Run, group: str) -> Run:
        """Merge what has landed on the run branch since into the group branch, unless that
        conflicts: a subtask may need a task outside its group.
        """
        target = self.open_group_branch(run, group)
        head, run_head = self._branch.head(target), self._branch.head(run)
        if self._refs.is_ancestor(run_head.sha, head.sha):
            return target
        merged = self._commits.merge(head.sha, run_head.sha)
        if merged.conflicts:
            return target
        message = compose_message(f"{run.branch} merged into its group", Run=run.id)
        commit = self._commits.make(merged.tree, [head.sha, run_head.sha], message)
        # If the branch moved meanwhile, the next task to prepare merges again.
        self._branch.move(target, commit, head.sha, "yaoki: refresh group")
        return target

    @translates_os_errors
    def roll_back_group_branch(self, run: Run, group: str, head: str) -> tuple[str, str]:
        """Move the group branch from `head` to the run branch's head; returns old and new head.

        Repeating it changes nothing.  A branch that is no longer at `head` is refused: the caller
        does not know of the landings since then.
        """
        target = self.open_group_branch(run, group)
        old, base = self._branch.head(target).sha, target.base
        new = self._branch.head(run).sha
        if old == new == base:
            return old, new
        if old != head:
            raise GitFailed(f"{target.branch} moved before it was rolled back", transient=True)
        moves = (
            RefMove(self._free_ref(group, old), old),
            RefMove(group_base_ref(target), new, base),
            RefMove(recorded_head_ref(target), new),
            RefMove(target_branch_ref(target), new, old),
        )
        if not self._refs.move(*moves, reason="yaoki: roll back"):
            raise GitFailed(f"{target.branch} moved while it was rolled back", transient=True)
        return old, new

    def _free_ref(self, group: str, commit: str) -> str:
        """A ref for the commits that leave the branch; none is overwritten."""
        for n in range(1, ROLLBACKS_MAX):
            ref = work_ref(group, f"0-rollback-{n}")
            existing = self._refs.read_commits(ref)[0]
            if existing is None or existing.sha == commit:
                return ref
        raise GitFailed(f"{group} was rolled back {ROLLBACKS_MAX} times")

    @translates_os_errors
    def close_group_branch(self, run: Run, group: str) -> None:
        """Delete the refs of the group branch once the run branch contains it."""
        target = run.on_group_branch(group)
        names = (target_branch_ref(target), recorded_head_ref(target), group_base_ref(target))
        heads = [
            (name, commit.sha)
            for name, commit in zip(names, self._refs.read_commits(*names), strict=True)
            if commit
        ]
        run_head = self._branch.head(run).sha
        if heads and all(self._refs.is_ancestor(sha, run_head) for _, sha in heads):
            # Candidates left in its merge queue can no longer land.
            queue = self._refs.read_commits(merge_queue_ref(target))[0]
            heads += [(merge_queue_ref(target), queue.sha)] if queue else []
            deletions = (RefMove(name, "", sha) for name, sha in heads)
            self._refs.move(*deletions, reason="yaoki: close group")
