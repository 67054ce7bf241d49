"""The base branch moves to the run branch, once nothing speaks against it."""

from __future__ import annotations

from dataclasses import replace

from yaoki.core.model import Run
from yaoki.core.run_status import RunStatus
from yaoki.engine.branch_guard import BranchGuard, rows_on_run_branch
from yaoki.engine.required_checks import RequiredChecks, VerifyCommit, describe_first_failure
from yaoki.engine.run_status import load_run_status
from yaoki.errors import BranchMovedExternally, GitFailed, NotNow
from yaoki.ports import MergeResult, Store, Workspace


class MergeCommand:
    """Asked by `Control`."""

    def __init__(
        self, store: Store, workspace: Workspace, guard: BranchGuard, prove: VerifyCommit
    ) -> None:
        self._store, self._workspace, self._guard = store, workspace, guard
        self._prove, self._standing = prove, RequiredChecks(store)

    def merge(
        self,
        run: Run,
        *,
        into: str = "",
        force_ref: bool = False,
        partial: bool = False,
        unproven: bool = False,
    ) -> MergeResult:
        """Of a run that is not done only if `partial`; what landed must be there in any case.

        `unproven` moves the base to a commit on which no check was run, and is recorded.
        """
        stands = load_run_status(self._store, run)
        if stands is not RunStatus.DONE and not partial:
            raise NotNow(
                f"run {run.id} is {stands.value}, so not all of it is proven",
                hint=f"yaoki status {run.id}, or merge what has landed: "
                f"yaoki merge {run.id} --partial",
            )
        self._refuse_taken(run)
        rows = self._store.rows(run.id)
        lost = self._workspace.branches.missing_commits(
            run, [row.landed_commit for row in rows_on_run_branch(rows)]
        )
        if lost or not self._taken(run, into):
            by_hand = f"git switch {run.base_branch} && git merge {run.branch}"
            self._guard.refuse_drift(run, "" if lost else f"or take it as it is: {by_hand}")
        if lost:
            names = ", ".join(row.name for row in rows if row.landed_commit in lost)
            raise NotNow(
                f"{run.branch} no longer holds what landed: {names}",
                hint=f"git log --oneline {run.branch}; the work itself: yaoki recover",
            )
        cut_off = [row.id for row in rows if row.undo_requested]
        if cut_off:
            raise NotNow(
                f"the undo of {cut_off[0]} was cut off in the middle",
                hint=f"finish it: yaoki undo {cut_off[0]}",
            )
        proven: list[str] = []

        def approve(made: MergeResult) -> None:
            if not unproven:
                proven[:] = self._proven(run, made, whole=stands is RunStatus.DONE)

        result = self._workspace.landings.merge(
            run, into=into, force_ref=force_ref, approve=approve
        )
        data: dict[str, object] = {
            "branch": result.branch,
            "commit": result.commit,
            "how": result.how,
        }
        data |= {"proven_by": proven, "unproven": unproven and result.how != "already"}
        # Of a run that goes on more is to come: its branch is not yet the user's.
        over = {"merged": result.commit} if stands in {RunStatus.DONE, RunStatus.CANCELLED} else {}
        self._store.update_run(run.id, "RUN_MERGED", data, **over)
        if data["unproven"]:
            words = f"merged unproven into {result.branch} at {result.commit[:10]}: no check ran"
            self._store.note(run.id, "WARNING", {"message": f"{words} on that commit"})
        return result

    def _proven(self, run: Run, made: MergeResult, *, whole: bool) -> list[str]:
        """The names of the checks that passed on the very commit; refused when one does not.

        The head of a run that is done is proven already; what a merge makes of it is not.
        """
        if made.how != "merge" and whole:
            return []
        standing = self._standing.of_landed(run)
        if made.how != "merge":
            standing = self._standing.not_known_to_pass(run, made.commit)
        elif run.done_when:
            checks = tuple(run.catalogue.checks[name] for name in run.done_when)
            standing = replace(standing, checks=checks)
        if not standing.checks:
            return []
        spec = standing.as_task_spec(run, "merge", f"Prove the merge into {made.branch}.")
        verdict = self._prove(run, spec, made.commit, made.onto)
        if not verdict.passed:
            raise NotNow(
                f"{made.branch} has moved, and the merge does not hold: "
                f"{describe_first_failure(verdict)}"
                if made.how == "merge"
                else f"what has landed does not hold together: {describe_first_failure(verdict)}",
                hint=f"merge {made.branch} into the run's work by hand and check it, "
                f"or: yaoki merge {run.id} --unproven",
            )
        return [check.name for check in standing.checks]

    def _refuse_taken(self, run: Run) -> None:
        """Merged, and its branch deleted since: there is nothing left to do."""
        if not run.merged_commit:
            return
        try:
            self._workspace.branches.head(run)
        except BranchMovedExternally as gone:
            words = f"run {run.id} is merged already, and its branch is gone"
            raise NotNow(words, hint=f"git log {run.base[:10]}..{run.merged_commit[:10]}") from gone

    def _taken(self, run: Run, into: str) -> bool:
        """Did a person merge all of it by hand?  Who did knows what it holds."""
        try:
            rest = replace(run, base=f"refs/heads/{into or run.base_branch}")
            return not self._workspace.branches.list_landings(rest)
        except GitFailed:
            return False
