"""Merges a run: checks every reason against it, then moves the base branch to the run branch."""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import BUILT_IN_CHECKS, Finding, Outcome, Run, TaskId, Verdict
from yaoki.core.run_status import RunStatus, awaits_revised_checks
from yaoki.core.text import list_some
from yaoki.engine.branch_guard import BranchGuard
from yaoki.engine.commands.merge_refusals import (
    choose_failing,
    name_remedy,
    proves_nothing,
    refuse_merge,
    refuse_unchecked,
    refuse_unfinished_check,
    refuse_without_branch,
)
from yaoki.engine.landed_rows import rows_on_run_branch
from yaoki.engine.required_checks import (
    CheckSet,
    CommitToVerify,
    FinalWaivers,
    RequiredChecks,
    VerifyCommit,
    describe_failure,
    is_final_check,
    waiver_notes,
)
from yaoki.engine.run_status import load_run_status
from yaoki.engine.undone_work import UndoneWork
from yaoki.errors import BranchMovedExternally, CheckoutObstructed, GitFailed, NotNow
from yaoki.ports import CompletionStore, MergeResult, Workspace

CHECKS_SHOWN = 5
WAIVED_SHOWN = 10


class MergeCommand:
    """Used by `Control`."""

    def __init__(
        self, store: CompletionStore, workspace: Workspace, guard: BranchGuard, verify: VerifyCommit
    ) -> None:
        self._store, self._workspace, self._guard = store, workspace, guard
        self._verify, self._required_checks = verify, RequiredChecks(store)
        self._undone = UndoneWork(store, workspace, verify)

    def merge(
        self,
        run: Run,
        *,
        into: str = "",
        force_ref: bool = False,
        partial: bool = False,
        unproven: bool = False,
    ) -> MergeResult:
        """Merge a run that is DONE; with `partial` also one that is not.

        What landed must be on the run branch in either case.  `unproven` moves the base to a
        commit on which no check ran, and that is recorded.
        """
        refuse_without_branch(run, into)
        status = load_run_status(self._store, run)
        if status is not RunStatus.DONE and not partial:
            raise NotNow(
                f"run {run.id} is {status.value}, so not all of it is proven",
                hint=f"yaoki status {run.id}, or merge what has landed: "
                f"yaoki merge {run.id} --partial",
            )
        self._refuse_deleted_branch(run)
        self._refuse_incomplete_branch(run, into)
        verdict, skipped = Verdict(()), CheckSet()

        def approve(merge: MergeResult) -> None:
            nonlocal verdict, skipped
            required = self._checks_of_merge(run, merge, is_done=status is RunStatus.DONE)
            if unproven:
                skipped = required
            else:
                required = self._choose_telling(run, merge, required)
                verdict = self._verify_merge(run, merge, required, status)

        try:
            result = self._workspace.landings.merge(
                run, into=into, force_ref=force_ref, approve=approve
            )
        except CheckoutObstructed as obstructed:
            options = {"--partial": partial, "--unproven": unproven}
            again = " ".join(("yaoki merge", run.id, *(key for key, on in options.items() if on)))
            again += f" --into {into}" if into else ""
            proven = status is RunStatus.DONE and not awaits_revised_checks(run)
            raise name_remedy(obstructed, again, is_proven=proven) from obstructed
        notes = waiver_notes(verdict, f"the merge into {result.branch}")
        for words in notes:
            self._store.note(run.id, "WARNING", {"message": words})
        passed = [one.check for one in verdict.findings if _is_proof_of_plan(one)]
        is_unproven = unproven and result.how != "already"
        self._record(run, result, status, passed, unproven=is_unproven)
        if is_unproven:
            notes.append(self._warn_unproven(run, result, skipped))
        if passed:
            known = self._known_checks(run, verdict) if result.how != "merge" else []
            notes.insert(0, _describe_proof(passed, known))
        if waived := self._waived_tasks(run):
            names = list_some(waived, WAIVED_SHOWN)
            notes.append(f"landed with checks that a person waived: {names}")
        return replace(result, notes=tuple(notes))

    def _known_checks(self, run: Run, verdict: Verdict) -> list[str]:
        """The required checks that did not run again: they have passed on this very commit."""
        ran = {finding.check for finding in verdict.findings}
        required = (check.name for check in self._required_checks.of_landed(run).checks)
        return [name for name in dict.fromkeys((*required, *run.done_when)) if name not in ran]

    def _waived_tasks(self, run: Run) -> list[str]:
        """The landed tasks for which a person waived checks, each with these."""
        rows = rows_on_run_branch(self._store.rows(run.id))
        return [f"{row.name} ({', '.join(row.waivers)})" for row in rows if row.waivers]

    def _refuse_incomplete_branch(self, run: Run, into: str) -> None:
        """Refuse while the run branch has drifted, lacks landed work, or is half undone."""
        rows = self._store.rows(run.id)
        missing = self._workspace.branches.missing_commits(
            run, [row.landed_commit for row in rows_on_run_branch(rows)]
        )
        if missing or not self._merged_by_hand(run, into):
            by_hand = f"git switch {into or run.base_branch} && git merge {run.branch}"
            self._guard.refuse_drift(run, "" if missing else f"or merge it unverified: {by_hand}")
        unfinished = [row.id for row in rows if row.undo_requested]
        if unfinished and not missing:
            if self._store.is_idle(run.id):
                words, way = "was interrupted", f"finish it: yaoki undo {unfinished[0]}"
            else:
                words, way = "waits for the tasks that can still run", f"yaoki resume {run.id}"
            raise NotNow(f"the undo of {unfinished[0]} {words}", hint=way)
        lost = self._reverted_tasks(run).items() if not missing else ()
        reverted = {row.id for row in rows if (row.id, row.landed_commit) in lost}
        names = ", ".join(r.name for r in rows if r.landed_commit in missing or r.id in reverted)
        if names:
            raise NotNow(
                f"{run.branch} no longer contains what landed: {names}",
                hint=f"git log --oneline {run.branch}; the work itself: yaoki recover",
            )

    def _reverted_tasks(self, run: Run) -> dict[TaskId, str]:
        """The tasks whose landings were undone on the branch, with these commits.  No row has one
        any more, unless a worker was killed before it could record the undo.
        """
        steps = self._workspace.branches.list_landings(run)
        undone = {step.undoes for step in steps}
        return {step.task_id: step.commit for step in steps if step.commit in undone}

    def _record(
        self, run: Run, result: MergeResult, status: RunStatus, passed: list[str], *, unproven: bool
    ) -> None:
        data: dict[str, object] = {
            "branch": result.branch,
            "commit": result.commit,
            "how": result.how,
            "proven_by": passed,
            "unproven": unproven,
        }
        # A run that continues will land more, so its branch does not yet belong to the user.
        ended = status in {RunStatus.DONE, RunStatus.CANCELLED}
        # The revert of merged work is merged while its task still asks.
        columns = {"merged": result.commit} if ended or run.merged_commit else {}
        self._store.update_run(run.id, "RUN_MERGED", data, **columns)

    def _warn_unproven(self, run: Run, result: MergeResult, skipped: CheckSet) -> str:
        """Record and return what was overridden: a check that failed in a merge that was refused,
        or the checks that did not run.
        """
        where = f"merged unproven into {result.branch} at {result.commit[:10]}"
        names = list_some([check.name for check in skipped.checks], CHECKS_SHOWN)
        message = f"{where}: no check ran on that commit"
        if failure := self._refused_failure(run, result):
            message = f"{where}, which overrides {failure}"
        elif names:
            message = f"{message}; not verified: {names}"
        self._store.note(run.id, "WARNING", {"message": message})
        return message

    def _refused_failure(self, run: Run, result: MergeResult) -> str:
        """The failure of the same merge when it was refused last; empty if it was not, or if the
        checks were revised since.

        A merge commit is made anew, so the two commits that it joins are compared.
        """
        head, failure, seq = self._workspace.branches.head(run), "", 0
        while page := self._store.journal(run_id=run.id, after=seq):
            seq = page[-1].seq
            for entry in page:
                if entry.event == "MERGE_REFUSED":
                    same = (entry.data["head"], entry.data["onto"]) == (head, result.onto)
                    failure = str(entry.data["failure"]) if same else ""
                elif entry.event == "PLAN_RECHECKED":
                    failure = ""
        return failure

    def _checks_of_merge(self, run: Run, merge: MergeResult, *, is_done: bool) -> CheckSet:
        """The checks that must pass on the commit of the merge.

        The head of a DONE run is verified already, unless its checks were revised afterwards; a
        merge commit made from it is not.
        """
        if merge.how != "merge" and is_done:
            return self._required_checks.unproven_since_revision(run, merge.commit)
        if merge.how != "merge":
            # The final check of a run that is not done never ran.
            unknown = self._required_checks.not_known_to_pass(run, merge.commit, run.done_when)
            return self._undone.add_setup(run, unknown)
        landed = self._undone.add_setup(run, self._required_checks.of_landed(run))
        required = landed if landed.checks else self._undone.checks(run)
        if not run.done_when:
            return required
        final = tuple(run.checks[name] for name in run.done_when)
        # No final check has shown that the tasks of an unfinished run hold together.
        others = () if is_done else landed.checks
        checks = {check.name: check for check in (*others, *final)}
        return replace(required, checks=tuple(checks.values()))

    def _choose_telling(self, run: Run, merge: MergeResult, required: CheckSet) -> CheckSet:
        """The checks whose failure on the commit of the merge says something; refuses if none does.

        Nothing else has ever looked at a merge commit.
        """
        if merge.how != "merge":
            return required
        if not run.done_when and not self._required_checks.of_landed(run).checks:
            required = self._undone.keep_telling(run, required)
        if not required.checks:
            raise refuse_unchecked(run, merge)
        return required

    def _verify_merge(
        self, run: Run, merge: MergeResult, required: CheckSet, status: RunStatus
    ) -> Verdict:
        """Run the checks on the commit of the merge; returns the verdict, or refuses."""
        if not required.checks:
            return Verdict(())
        spec = required.as_task_spec(run, "merge", f"Verify the merge into {merge.branch}.")
        base = merge.onto if merge.how == "merge" else run.base
        waivers = self._required_checks.final_waivers(run)
        if waivers.commit != self._workspace.branches.head(run):
            waivers = FinalWaivers()
        reverted = self._undone.landings_taken_back(run, base) if merge.how == "merge" else ()
        commit = CommitToVerify(
            merge.commit, merge.onto, base, final_waivers=waivers, reverted=reverted
        )
        verdict = self._verify(
            run, spec, commit, lambda name, data: self._store.note(run.id, name, data)
        )
        if not verdict.passed:
            first = choose_failing(verdict)
            failure = describe_failure(first)
            ends = {"head": self._workspace.branches.head(run), "onto": merge.onto}
            refusal = {"branch": merge.branch, **ends, "failure": failure}
            self._store.note(run.id, "MERGE_REFUSED", refusal)
            again = f"yaoki merge {run.id}{'' if status is RunStatus.DONE else ' --partial'}"
            landed = rows_on_run_branch(self._store.rows(run.id))
            is_empty = all(is_final_check(row) for row in landed)
            if first is not None and proves_nothing(first):
                raise refuse_unfinished_check(run, merge, first, again, is_empty=is_empty)
            of_plan = first is not None and first.check not in BUILT_IN_CHECKS
            raise refuse_merge(run, merge, failure, again, check_of_plan=of_plan, is_empty=is_empty)
        return verdict

    def _refuse_deleted_branch(self, run: Run) -> None:
        """A merged run whose branch was deleted since: there is nothing left to do."""
        if not run.merged_commit:
            return
        try:
            self._workspace.branches.head(run)
        except BranchMovedExternally as missing:
            raise NotNow(
                f"run {run.id} is already merged, and its branch is deleted",
                hint=f"git log {run.base[:10]}..{run.merged_commit[:10]}",
            ) from missing

    def _merged_by_hand(self, run: Run, into: str) -> bool:
        """Did a person merge all of it already?  Then they know what the branch contains."""
        try:
            unmerged = replace(run, base=f"refs/heads/{into or run.base_branch}")
            return not self._workspace.branches.list_landings(unmerged)
        except GitFailed:
            return False


def _describe_proof(passed: Sequence[str], known: Sequence[str]) -> str:
    """A check that passed on the same commit for a task is not repeated."""
    names = list_some(known, CHECKS_SHOWN)
    earlier = f"; had passed on it before, and did not run again: {names}" if known else ""
    return f"passed on this commit: {list_some(passed, CHECKS_SHOWN)}{earlier}"


def _is_proof_of_plan(finding: Finding) -> bool:
    """Did a check of the plan pass?  A waived one proves nothing."""
    passed = finding.outcome in {Outcome.PASSED, Outcome.FLAKY}
    return passed and finding.check not in BUILT_IN_CHECKS
