"""Runs when no task of a run can be claimed: each way to continue it, in order, then its end.

Each step changes the store in one transaction and returns whether it changed anything; after a
kill in between, the same step is found again.
"""

from __future__ import annotations

from datetime import timedelta

from yaoki.core.decide.recovery import is_worth_waiting
from yaoki.core.model import Run, RunId, State
from yaoki.core.run_status import (
    RunStatus,
    StateCounts,
    derive_run_status,
    has_active_tasks,
)
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
    """Called whenever no task of a run can be claimed."""

    def __init__(
        self,
        store: CompletionStore,
        workspace: Workspace,
        clock: Clock,
        verify: VerifyCommit,
        *,
        timeout: timedelta = timedelta(hours=1),
        hang: timedelta = timedelta(minutes=10),
    ) -> None:
        self._store, self._clock = store, clock
        self._guard = BranchGuard(store, workspace)
        self._rows = RowGuard(store, clock)
        self._done_check = DoneCheck(store, workspace, self._rows)
        self._revert = RevertStep(store, workspace, clock, verify)
        self._recover = RecoverStep(store, workspace, clock)
        self._replan = ReplanStep(store, clock, timeout=timeout, hang=hang)
        self._final_check = FinalCheckStep(store, workspace)
        self._iterate = IterateStep(store, workspace, self._replan)

    def complete(self, run_id: RunId) -> bool:
        """True when the run is finished or waits for a person."""
        return self._rows.run_guarded(lambda: self._complete(run_id))

    def _complete(self, run_id: RunId) -> bool:
        if not self._store.is_idle(run_id):
            self._rerun_while_others_wait(run_id)
            return False
        run = self._store.run(run_id)
        if run.pause_reason and not run.cancel_requested:
            return True
        self._refuse_illegal(run)
        if not run.cancel_requested and (self._advance(run) or self._refuse_end(run)):
            return False
        self._summarize(self._store.run(run_id))
        return self._store.is_idle(run_id)

    def _rerun_while_others_wait(self, run_id: RunId) -> None:
        """Re-run failed tasks, or ask about them, while all others wait for a distant time."""
        # Most runs have none, and this is asked after every change of the store.
        failed = self._recover.failed_outside_groups(run_id)
        if not failed or has_active_tasks(self._store.count_by_state(run_id)):
            return
        run = self._store.run(run_id)
        if run.pause_reason or run.cancel_requested:
            return
        if not is_worth_waiting(self._store.next_due((run_id,)), self._clock.now()):
            self._recover.rerun_or_ask(run, failed)

    def _refuse_illegal(self, run: Run) -> None:
        for illegal in self._store.illegal_rows(run.id) if run.finished_at is None else ():
            raise illegal

    def _refuse_end(self, run: Run) -> bool:
        """Once, at the end: a run is not done while its branch has drifted, or while a task claims
        more than the journal file proves.
        """
        end = derive_run_status(self._store.count_by_state(run.id), idle=True)
        if run.finished_at is not None or end is RunStatus.ESCALATED:
            return False
        self._guard.pause_on_drift(run)
        return bool(self._store.run(run.id).pause_reason) or self._done_check.refuse_unproven(run)

    def _refuse_unproven(self, run: Run) -> bool:
        """Before the final check: refuse rows that claim more than the journal file proves."""
        end = derive_run_status(self._store.count_by_state(run.id), idle=True)
        if run.finished_at is not None or end is not RunStatus.DONE:
            return False
        return self._done_check.refuse_unproven(run)

    def expire(self, run_id: RunId) -> None:
        """Expire the deferred phases whose deadline has passed, even while an agent plans them."""
        run = self._store.run(run_id)
        if not run.cancel_requested:
            self._rows.run_guarded(lambda: self._replan.expire_phases(run))

    def _advance(self, run: Run) -> bool:
        steps = (
            self._revert.advance,
            self._recover.advance,
            self._replan.expire_phases,
            self._refuse_unproven,
            self._final_check.advance,
            self._replan.advance,
            self._iterate.advance,
            self._recover.escalate_final_checks,
        )
        try:
            # Another worker may have continued the run meanwhile; then no step is needed.
            return any(step(run) or not self._store.is_idle(run.id) for step in steps)
        except BranchMovedExternally as drift:
            self._guard.pause_for(run, drift)
            # A finished run does not pause: its branch belongs to the user.
            return bool(self._store.run(run.id).pause_reason)

    def _summarize(self, run: Run) -> None:
        """Once per end; a run that continues later is summarized again."""

        def summarize(tally: StateCounts) -> dict[str, object] | None:
            end = derive_run_status(tally, idle=True)
            if end is RunStatus.ESCALATED:
                return None
            counts = {state.value: 0 for state in State}
            for (state, _), n in tally.items():
                counts[state.value] += n
            return {"status": end.value, "tasks": counts, "run_branch": run.branch}

        self._store.summarize_run(run.id, summarize)
