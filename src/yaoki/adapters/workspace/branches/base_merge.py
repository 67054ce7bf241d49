"""The end of a run: its branch goes into the base branch, never into anybody's checkout."""

from __future__ import annotations

from collections.abc import Callable

from yaoki.adapters.git.commits import Commits, add_trailers, compose_message
from yaoki.adapters.git.refs import GitCommit, RefMove, Refs
from yaoki.adapters.workspace.branches.run_branch import RACES_MAX, RunBranch
from yaoki.core.model import Run
from yaoki.errors import NotNow
from yaoki.ports import MergeResult


class BaseMerge:
    """Merges by moving a ref; the files of a checkout are never ours to change."""

    def __init__(self, refs: Refs, commits: Commits, branch: RunBranch) -> None:
        self._refs, self._commits, self._branch = refs, commits, branch

    def merge(
        self,
        run: Run,
        words: str,
        into: str,
        force_ref: bool,
        approve: Callable[[MergeResult], None],
    ) -> MergeResult:
        """Move the branch by compare-and-swap, as often as somebody else moves it first."""
        branch = into or run.base_branch
        ref = self._commits.branch_ref(branch)
        for _ in range(RACES_MAX):
            head, mark = self._branch.head_and_recorded_head(run)
            target = self._refs.read_commits(ref)[0]
            result = self._result(run, words, branch, head, target)
            self._refuse_strayed(run, head, mark, result)
            if result.how == "already":
                return result
            self._refuse_checked_out(run, ref, result, force_ref)
            approve(result)
            old = target.sha if target else ""
            if self._refs.move(RefMove(ref, result.commit, old), why=f"yaoki: merge {run.branch}"):
                return result
        words = f"{branch} moved {RACES_MAX} times while the merge was made"
        raise NotNow(words, hint="wait until nobody commits there, then once more: yaoki merge")

    def _result(
        self, run: Run, words: str, branch: str, head: GitCommit, target: GitCommit | None
    ) -> MergeResult:
        """What the merge would be; nothing is moved yet."""
        if target is None:
            return MergeResult(branch, head.sha, "created")
        if self._refs.is_ancestor(head.sha, target.sha):
            return MergeResult(branch, target.sha, "already")
        if self._refs.is_ancestor(target.sha, head.sha):
            return MergeResult(branch, head.sha, "fast-forward", target.sha)
        merged = self._commits.merge(target.sha, head.sha)
        if merged.conflicts:
            raise NotNow(
                f"{run.branch} and {branch} do not merge: {', '.join(merged.conflicts[:10])}",
                hint=f"merge it by hand: git switch {branch} && git merge {run.branch}",
            )
        own = compose_message(f"Merge {run.branch}: {run.goal}", Run=run.id)
        text = add_trailers(words, Run=run.id) if words.strip() else own
        commit = self._commits.make(merged.tree, [target.sha, head.sha], text)
        return MergeResult(branch, commit, "merge", target.sha)

    def _refuse_strayed(
        self, run: Run, head: GitCommit, mark: GitCommit | None, result: MergeResult
    ) -> None:
        """What yaoki did not land is not proven; who merged it by hand knows that already."""
        strayed = self._branch.find_drift(run, head, mark)
        if strayed and (strayed.only_lacks_commits or result.how != "already"):
            by_hand = f"git switch {run.base_branch} && git merge {run.branch}"
            way = (
                f"put it back: {strayed.restore_command}"
                if strayed.only_lacks_commits
                else f"merge by hand: {by_hand}"
            )
            raise NotNow(strayed.sentence, hint=f"look: {strayed.inspect_command}; {way}")

    def _refuse_checked_out(self, run: Run, ref: str, result: MergeResult, force_ref: bool) -> None:
        """A branch moved under a checkout makes every file look changed back."""
        places = [] if force_ref else self._refs.checkouts_of(ref)
        if not places:
            return
        how = "--ff-only " if result.how == "fast-forward" else ""
        raise NotNow(
            f"{result.branch} is checked out at {places[0]}, and yaoki never touches a checkout",
            hint=f"run there: git merge {how}{run.branch}",
        )
