"""The lines of groups: branches of their own, on which subtasks land before the group does.

A line begins at the run branch's head, may be taken back to where that is now, and goes once the
group has landed.  What it held stays reachable.
"""

from __future__ import annotations

from yaoki.adapters.git.commits import Commits, compose_message
from yaoki.adapters.git.refs import (
    RefMove,
    Refs,
    group_base_ref,
    merge_queue_ref,
    recorded_head_ref,
    target_branch_ref,
    work_ref,
)
from yaoki.adapters.workspace.branches.run_branch import RACES_MAX, RunBranch
from yaoki.core.model import Run
from yaoki.errors import GitFailed

ROLLBACKS_MAX = 100


class GroupBranches:
    """Opens, rolls back and closes the branch of a group."""

    def __init__(self, refs: Refs, branch: RunBranch, commits: Commits) -> None:
        self._refs, self._branch, self._commits = refs, branch, commits

    def open(self, run: Run, group: str) -> Run:
        """The line, made at the run branch's head unless it is there; its base is what it was."""
        line = run.on_group_branch(group)
        for _ in range(RACES_MAX):
            base, head, mark = self._refs.read_commits(
                group_base_ref(line), target_branch_ref(line), recorded_head_ref(line)
            )
            if base and head:
                return run.on_group_branch(group, base.sha)
            if base and mark:
                self._branch.refuse_drift(line)
            at = (base or self._branch.head(run)).sha
            moves = [
                RefMove(ref, at, "")
                for ref in (group_base_ref(line), target_branch_ref(line), recorded_head_ref(line))
            ]
            self._refs.move(*moves[1 if base else 0 :], why="yaoki: open group")
        raise GitFailed(f"{line.branch} moved {RACES_MAX} times meanwhile", transient=True)

    def refresh(self, run: Run, group: str) -> Run:
        """Merge what has landed on the run branch since into the line, unless they conflict: a
        subtask may need a task outside its group.
        """
        line = self.open(run, group)
        head, run_head = self._branch.head(line), self._branch.head(run)
        if self._refs.is_ancestor(run_head.sha, head.sha):
            return line
        merged = self._commits.merge(head.sha, run_head.sha)
        if merged.conflicts:
            return line
        words = compose_message(f"{run.branch} merged into its group", Run=run.id)
        made = self._commits.make(merged.tree, [head.sha, run_head.sha], words)
        # Moved meanwhile, the next one to prepare does it.
        self._branch.move(line, made, head.sha, "yaoki: refresh group")
        return line

    def roll_back(self, run: Run, group: str, head: str) -> tuple[str, str]:
        """Take the line from `head` to the run branch's; returns what it held and where it is now.

        Done before, it is not done again: a line at its base holds nothing to take back.  What
        landed since `head` was seen is not taken back by somebody who does not know of it.
        """
        line = self.open(run, group)
        held, base = self._branch.head(line).sha, line.base
        to = self._branch.head(run).sha
        if held == to == base:
            return held, to
        if held != head:
            raise GitFailed(f"{line.branch} moved before it was rolled back", transient=True)
        ref = self._free(group, held)
        moves = (
            RefMove(ref, held),
            RefMove(group_base_ref(line), to, base),
            RefMove(recorded_head_ref(line), to),
            RefMove(target_branch_ref(line), to, held),
        )
        if not self._refs.move(*moves, why="yaoki: roll back"):
            raise GitFailed(f"{line.branch} moved while it was rolled back", transient=True)
        return held, to

    def _free(self, group: str, commit: str) -> str:
        """A ref for what is taken off the line: none is overwritten."""
        for n in range(1, ROLLBACKS_MAX):
            ref = work_ref(group, f"0-rollback-{n}")
            found = self._refs.read_commits(ref)[0]
            if found is None or found.sha == commit:
                return ref
        raise GitFailed(f"{group} was rolled back {ROLLBACKS_MAX} times")

    def close(self, run: Run, group: str) -> None:
        """Delete the line's refs once the run branch holds what it held; else they stay."""
        line = run.on_group_branch(group)
        names = (target_branch_ref(line), recorded_head_ref(line), group_base_ref(line))
        found = [
            (name, commit.sha)
            for name, commit in zip(names, self._refs.read_commits(*names), strict=True)
            if commit
        ]
        head = self._branch.head(run).sha
        if found and all(self._refs.is_ancestor(sha, head) for _, sha in found):
            # What is left of its train did not land, and no longer can.
            train = self._refs.read_commits(merge_queue_ref(line))[0]
            found += [(merge_queue_ref(line), train.sha)] if train else []
            self._refs.move(
                *(RefMove(name, "", sha) for name, sha in found), why="yaoki: close group"
            )
