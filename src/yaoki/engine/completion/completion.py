"""When nothing of a run can be claimed: every way it may still go on, in order, then its end.

Each step changes the store in one transaction and says whether something was changed; a kill in
between finds the same step again.
"""

from __future__ import annotations

from datetime import timedelta

from yaoki.core.model import Run, RunId, State
from yaoki.core.run_status import RunStatus, StateCounts, derive_run_status
from yaoki.engine.branch_guard import BranchGuard
from yaoki.engine.completion.final_check import FinalCheckStep
from yaoki.engine.completion.iterate import IterateStep
from yaoki.engine.completion.recover import RecoverStep
from yaoki.engine.completion.replan import ReplanStep
from yaoki.engine.completion.revert import RevertStep
from yaoki.engine.required_checks import VerifyCommit
from yaoki.engine.row_check import DoneCheck, RowGuard
from yaoki.errors import BranchMovedExternally
from yaoki.ports import Clock, CompletionStore, Workspace


class RunCompletion:
    """Asked whenever nothing of a run can be claimed."""

    def __init__(
        self,
        store: CompletionStore,
        workspace: Workspace,
        clock: Clock,
        prove: VerifyCommit,
        *,
        timeout: timedelta = timedelta(hours=1),
        hang: timedelta = timedelta(minutes=10),
    ) -> None:
        self._store, self._clock = store, clock
        self._guard = BranchGuard(store, workspace)
        self._rows = RowGuard(store, clock)
        self._done_check = DoneCheck(store, workspace, self._rows)
        self._undoing = RevertStep(store, workspace, clock, prove)
        self._recovering = RecoverStep(store, workspace, clock)
        self._replanning = ReplanStep(store, clock, timeout=timeout, hang=hang)
        self._proofs = FinalCheckStep(store, workspace)
        self._iterating = IterateStep(store, workspace, self._replanning)

    def complete(self, run_id: RunId) -> bool:
        """True when the run has come to its end, or waits for a person."""
        return self._rows.run_guarded(lambda: self._rests(run_id))

    def _rests(self, run_id: RunId) -> bool:
        if not self._store.is_idle(run_id):
            return False
        run = self._store.run(run_id)
        if run.pause_reason and not run.cancel_requested:
            return True
        self._refuse_illegal(run)
        if not run.cancel_requested and (self._goes_on(run) or self._unfit(run)):
            return False
        self._sum_up(self._store.run(run_id))
        return self._store.is_idle(run_id)

    def _refuse_illegal(self, run: Run) -> None:
        for illegal in self._store.illegal_rows(run.id) if run.finished_at is None else ():
            raise illegal

    def _unfit(self, run: Run) -> bool:
        """Nothing is called done, or shipped of a run that was cut short, that its branch does not
        hold or should not, or that the journal file does not prove; looked at once, at the end.
        """
        ends = derive_run_status(self._store.count_by_state(run.id), idle=True)
        if run.finished_at is not None or ends is RunStatus.ESCALATED:
            return False
        self._guard.pause_on_drift(run)
        return bool(self._store.run(run.id).pause_reason) or self._done_check.refuse_unproven(run)

    def _refuse_unproven(self, run: Run) -> bool:
        """Before the whole is proven: is there a row that claims more than the journal file?"""
        ends = derive_run_status(self._store.count_by_state(run.id), idle=True)
        if run.finished_at is not None or ends is not RunStatus.DONE:
            return False
        return self._done_check.refuse_unproven(run)

    def expire(self, run_id: RunId) -> None:
        """Phases that ran out of time, also while somebody plans them."""
        run = self._store.run(run_id)
        if not run.cancel_requested:
            self._rows.run_guarded(lambda: self._replanning.expire_phases(run))

    def _goes_on(self, run: Run) -> bool:
        steps = (
            self._undoing.advance,
            self._recovering.advance,
            self._replanning.expire_phases,
            self._refuse_unproven,
            self._proofs.advance,
            self._replanning.advance,
            self._iterating.advance,
            self._recovering.escalate_final_checks,
        )
        try:
            # Another worker may have gone on meanwhile, which leaves a step nothing to do.
            return any(settle(run) or not self._store.is_idle(run.id) for settle in steps)
        except BranchMovedExternally as strayed:
            self._guard.pause_for(run, strayed)
            # Of a run that has come to its end nobody asks: its branch is the user's.
            return bool(self._store.run(run.id).pause_reason)

    def _sum_up(self, run: Run) -> None:
        """Once per end; a run that goes on later is summed up again."""

        def tell(tally: StateCounts) -> dict[str, object] | None:
            ended = derive_run_status(tally, idle=True)
            if ended is RunStatus.ESCALATED:
                return None
            counts = {state.value: 0 for state in State}
            for (state, _), n in tally.items():
                counts[state.value] += n
            return {"status": ended.value, "tasks": counts, "run_branch": run.branch}

        self._store.summarize_run(run.id, tell)
