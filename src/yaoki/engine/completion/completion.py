"""When nothing of a run can be claimed: every way it may still go on, in order, then its end.

Each step changes the store in one transaction and says whether something was changed; a kill in
between finds the same step again.
"""

from __future__ import annotations

from datetime import timedelta

from yaoki.core.model import Run, RunId, State
from yaoki.core.run_status import Status, Tally, status
from yaoki.engine.branch_guard import Guard
from yaoki.engine.completion.final_check import Proofs
from yaoki.engine.completion.iterate import Iterating
from yaoki.engine.completion.recover import Recovering
from yaoki.engine.completion.replan import Replanning
from yaoki.engine.completion.revert import Undoing
from yaoki.engine.row_check import DoneCheck, RowGuard
from yaoki.engine.stages.required_checks import Prove
from yaoki.errors import BranchStrayed
from yaoki.ports import Clock, Store, Workspace


class Closing:
    """Asked whenever nothing of a run can be claimed."""

    def __init__(
        self,
        store: Store,
        workspace: Workspace,
        clock: Clock,
        prove: Prove,
        *,
        timeout: timedelta = timedelta(hours=1),
        hang: timedelta = timedelta(minutes=10),
    ) -> None:
        self._store, self._clock = store, clock
        self._guard = Guard(store, workspace)
        self._rows = RowGuard(store, clock)
        self._done_check = DoneCheck(store, workspace, self._rows)
        self._undoing = Undoing(store, workspace, clock, prove)
        self._recovering = Recovering(store, workspace, clock)
        self._replanning = Replanning(store, clock, timeout=timeout, hang=hang)
        self._proofs = Proofs(store, workspace)
        self._iterating = Iterating(store, workspace, self._replanning)

    def rests(self, run_id: RunId) -> bool:
        """True when the run has come to its end, or waits for a person."""
        return self._rows.guarded(lambda: self._rests(run_id))

    def _rests(self, run_id: RunId) -> bool:
        if not self._store.resting(run_id):
            return False
        run = self._store.run(run_id)
        if run.paused and not run.cancel_wanted:
            return True
        self._refuse_illegal(run)
        if not run.cancel_wanted and (self._goes_on(run) or self._unfit(run)):
            return False
        self._sum_up(self._store.run(run_id))
        return self._store.resting(run_id)

    def _refuse_illegal(self, run: Run) -> None:
        for illegal in self._store.illegal_rows(run.id) if run.summed_at is None else ():
            raise illegal

    def _unfit(self, run: Run) -> bool:
        """Nothing is called done, or shipped of a run that was cut short, that its branch does not
        hold or should not, or that the journal file does not prove; looked at once, at the end.
        """
        ends = status(self._store.tally(run.id), resting=True)
        if run.summed_at is not None or ends is Status.ESCALATED:
            return False
        self._guard.look(run)
        return bool(self._store.run(run.id).paused) or self._done_check.refuse_unproven(run)

    def _refuse_unproven(self, run: Run) -> bool:
        """Before the whole is proven: is there a row that claims more than the journal file?"""
        ends = status(self._store.tally(run.id), resting=True)
        if run.summed_at is not None or ends is not Status.DONE:
            return False
        return self._done_check.refuse_unproven(run)

    def expire(self, run_id: RunId) -> None:
        """Phases that ran out of time, also while somebody plans them."""
        run = self._store.run(run_id)
        if not run.cancel_wanted:
            self._rows.guarded(lambda: self._replanning.expire(run))

    def _goes_on(self, run: Run) -> bool:
        steps = (
            self._undoing.settle,
            self._recovering.settle,
            self._replanning.expire,
            self._refuse_unproven,
            self._proofs.settle,
            self._replanning.settle,
            self._iterating.settle,
            self._recovering.ask,
        )
        try:
            # Another worker may have gone on meanwhile, which leaves a step nothing to do.
            return any(settle(run) or not self._store.resting(run.id) for settle in steps)
        except BranchStrayed as strayed:
            self._guard.ask(run, strayed)
            # Of a run that has come to its end nobody asks: its branch is the user's.
            return bool(self._store.run(run.id).paused)

    def _sum_up(self, run: Run) -> None:
        """Once per end; a run that goes on later is summed up again."""

        def tell(tally: Tally) -> dict[str, object] | None:
            ended = status(tally, resting=True)
            if ended is Status.ESCALATED:
                return None
            counts = {state.value: 0 for state in State}
            for (state, _), n in tally.items():
                counts[state.value] += n
            return {"status": ended.value, "tasks": counts, "run_branch": run.branch}

        self._store.sum_up(run.id, tell)
