"""The end of a run: the run branch is merged into the base branch.

A clean checkout of the base branch is fast-forwarded with it; any other is never changed.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

from yaoki.adapters.git.checkout_update import CheckoutObstacle, CheckoutUpdate
from yaoki.adapters.git.commits import Commits, add_trailers, compose_message
from yaoki.adapters.git.refs import BranchRefs, GitCommit, RefMove
from yaoki.adapters.workspace.branches.run_branch import RACES_MAX, RunBranch
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import Run
from yaoki.errors import CheckoutObstructed, NotNow
from yaoki.ports import MergeKind, MergeResult


class BaseMerge:
    """Merges by moving a ref; only the files of a clean checkout move with it."""

    def __init__(
        self,
        refs: BranchRefs,
        commits: Commits,
        branch: RunBranch,
        checkouts: CheckoutUpdate | None,
    ) -> None:
        """`checkouts` is None where branches are moved on a remote first."""
        self._refs, self._commits, self._branch = refs, commits, branch
        self._checkouts = checkouts

    def merge(
        self,
        run: Run,
        message: str,
        into: str,
        force_ref: bool,
        approve: Callable[[MergeResult], None],
    ) -> MergeResult:
        """Move the branch by compare-and-swap; retried when somebody else moves it first."""
        branch = into or run.base_branch
        ref = self._commits.branch_ref(branch)
        for _ in range(RACES_MAX):
            head, recorded = self._branch.head_and_recorded_head(run)
            target = self._refs.read_commits(ref)[0]
            result = self._compute(run, message, branch, head, target)
            self._refuse_drift(run, head, recorded, result)
            if result.how is MergeKind.ALREADY:
                return result
            place = None if force_ref else self._find_clean_checkout(run, ref, result)
            approve(result)
            if place is not None:
                return self._fast_forward(run, ref, place, result)
            move = RefMove(ref, result.commit, target.sha if target else "")
            if self._refs.move(move, reason=f"yaoki: merge {run.branch}"):
                return result
        sentence = f"{branch} moved {RACES_MAX} times during the merge"
        raise NotNow(sentence, hint="wait until no one commits there, then run again: yaoki merge")

    def _compute(
        self, run: Run, message: str, branch: str, head: GitCommit, target: GitCommit | None
    ) -> MergeResult:
        """Compute the merge without moving anything."""
        if target is None:
            return MergeResult(branch, head.sha, MergeKind.CREATED)
        if self._refs.is_ancestor(head.sha, target.sha):
            return MergeResult(branch, target.sha, MergeKind.ALREADY)
        if self._refs.is_ancestor(target.sha, head.sha):
            return MergeResult(branch, head.sha, MergeKind.FAST_FORWARD, target.sha)
        merged = self._commits.merge(target.sha, head.sha)
        if merged.conflicts:
            raise NotNow(
                f"{run.branch} and {branch} conflict: {', '.join(merged.conflicts[:10])}",
                hint=f"merge by hand and check it: git switch {branch} && git merge {run.branch}",
            )
        default = compose_message(f"Merge {run.branch}: {run.goal}", Run=run.id)
        text = add_trailers(message, Run=run.id) if message.strip() else default
        commit = self._commits.make(merged.tree, [target.sha, head.sha], text)
        return MergeResult(branch, commit, MergeKind.MERGE, target.sha)

    def _refuse_drift(
        self, run: Run, head: GitCommit, recorded: GitCommit | None, result: MergeResult
    ) -> None:
        """Commits that yaoki did not land are not verified.

        If the base branch contains them already, a person has merged them knowingly.
        """
        drift = self._branch.find_drift(run, head, recorded)
        if drift and (drift.only_lacks_commits or result.how is not MergeKind.ALREADY):
            by_hand = f"git switch {run.base_branch} && git merge {run.branch}"
            remedy = (
                f"put it back: {drift.restore_command}"
                if drift.only_lacks_commits
                else f"merge it unverified: {by_hand}"
            )
            raise NotNow(drift.sentence, hint=f"look: {drift.inspect_command}; {remedy}")

    def _find_clean_checkout(self, run: Run, ref: str, result: MergeResult) -> Path | None:
        """The checkout of the branch, which moves with it; None if it is not checked out.

        Moving a branch under a checkout makes every file there look reverted.
        """
        folders = self._refs.checkouts_of(ref)
        if not folders:
            return None
        elsewhere = CheckoutObstacle("also elsewhere", "switch one of them to another branch")
        if self._checkouts is None:
            shared = "branches are shared through a remote"
            obstacle = CheckoutObstacle(shared, "switch it to another branch")
            raise self._refuse_checkout(run, result, folders[0], obstacle)
        found = self._checkouts.find_obstacle(folders[0], ref)
        if found or len(folders) > 1:
            raise self._refuse_checkout(run, result, folders[0], found or elsewhere)
        return folders[0]

    def _fast_forward(self, run: Run, ref: str, folder: Path, result: MergeResult) -> MergeResult:
        """Repeat the look at the checkout: a person may have worked there during the checks."""
        assert self._checkouts is not None, "no checkout was found"
        obstacle = self._checkouts.find_obstacle(folder, ref)
        obstacle = obstacle or self._checkouts.fast_forward(folder, result.commit)
        if obstacle:
            raise self._refuse_checkout(run, result, folder, obstacle)
        return replace(result, checkout=str(folder))

    def _refuse_checkout(
        self, run: Run, result: MergeResult, folder: Path, obstacle: CheckoutObstacle
    ) -> CheckoutObstructed:
        """git's own merge with other work would be a commit on which no check ran, and with a
        remote the branch here may lack landings.
        """
        where = "" if folder == Path(run.repo) else f"-C {shlex.quote(str(folder))} "
        moves = result.how is MergeKind.FAST_FORWARD and self._checkouts is not None
        return CheckoutObstructed(
            f"{result.branch} is checked out at {folder}, and {obstacle.words}; "
            "nothing was changed",
            remedy=obstacle.remedy,
            by_hand=f"git {where}merge --ff-only {run.branch}" if moves else "",
        )
