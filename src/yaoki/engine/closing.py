"""When nothing of a run can be claimed: every way it may still go on, in order, then its end.

Each step changes the store in one transaction and says whether something was changed; a kill in
between finds the same step again.
"""

from __future__ import annotations

from datetime import timedelta

from yaoki.core.model import Run, RunId, State
from yaoki.core.status import Status, status
from yaoki.engine.iterating import Iterating
from yaoki.engine.proofs import Proofs
from yaoki.engine.recovering import Recovering
from yaoki.engine.replanning import Replanning
from yaoki.engine.undoing import Undoing
from yaoki.ports import Clock, Store, Workspace


class Closing:
    """Asked whenever nothing of a run can be claimed."""

    def __init__(
        self,
        store: Store,
        workspace: Workspace,
        clock: Clock,
        *,
        timeout: timedelta = timedelta(hours=1),
        hang: timedelta = timedelta(minutes=10),
    ) -> None:
        self._store, self._clock = store, clock
        self._undoing = Undoing(store, workspace, clock)
        self._recovering = Recovering(store, workspace, clock)
        self._replanning = Replanning(store, clock, timeout=timeout, hang=hang)
        self._proofs = Proofs(store, workspace)
        self._iterating = Iterating(store, workspace, self._replanning)

    def rests(self, run_id: RunId) -> bool:
        """True when the run has come to its end, or waits for a person."""
        if not self._store.resting(run_id):
            return False
        run = self._store.run(run_id)
        if run.paused and not run.cancel_wanted:
            return True
        if not run.cancel_wanted and self._goes_on(run):
            return False
        self._sum_up(self._store.run(run_id))
        return True

    def _goes_on(self, run: Run) -> bool:
        steps = (
            self._undoing.settle,
            self._recovering.settle,
            self._replanning.expire,
            self._proofs.settle,
            self._replanning.settle,
            self._iterating.settle,
        )
        return any(settle(run) for settle in steps)

    def _sum_up(self, run: Run) -> None:
        """Once per end; a run that goes on later is summed up again."""
        tally = self._store.tally(run.id)
        ended = status(tally, resting=True)
        if run.summed_at is not None or ended is Status.ESCALATED:
            return
        counts = {state.value: 0 for state in State}
        for (state, _), n in tally.items():
            counts[state.value] += n
        now_ms = round(self._clock.now().timestamp() * 1000)
        data = {"status": ended.value, "tasks": counts, "run_branch": run.branch}
        self._store.update_run(run.id, "FINAL_SUMMARY", data, summed_ms=now_ms)
