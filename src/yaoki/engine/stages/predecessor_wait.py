"""What is proven on work that has not landed yet waits for it; nothing is judged by it before."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import timedelta

from yaoki.core.model import Run, Task
from yaoki.core.model.stage_report import StageDeferred
from yaoki.engine.claim_context import ClaimContext
from yaoki.ports import Clock, Workspace

PAUSE = timedelta(milliseconds=50)
LOOKS_MAX = 60
DEFERRED_WAIT = timedelta(seconds=10)
# A queue that does not move for so long is looked at by a new claim.
PREDECESSOR_WAIT_MAX = timedelta(hours=1)


class PredecessorWait:
    """Asked by the stages that prove and land."""

    def __init__(self, workspace: Workspace, clock: Clock) -> None:
        self._workspace, self._clock = workspace, clock

    def wait_for_predecessor(
        self, run: Run, task: Task, onto: str, hold: ClaimContext
    ) -> StageDeferred | None:
        """Wait until the branch stands at `onto`, or never will; meanwhile others use the slot."""
        with hold.release_slot() if task.work.landing_refusals else nullcontext():
            return self._wait(run, task, onto, hold)

    def _wait(self, run: Run, task: Task, onto: str, hold: ClaimContext) -> StageDeferred | None:
        until = self._clock.now() + PREDECESSOR_WAIT_MAX
        while task.work.landing_refusals and self._workspace.landings.is_in_merge_queue(
            run, onto, hold.queue_members
        ):
            self._until_other(hold)
            if hold.stop_reason():
                return StageDeferred("was stopped before those it lands after", DEFERRED_WAIT)
            if self._clock.now() > until:
                words = (
                    f"waited {PREDECESSOR_WAIT_MAX.total_seconds():.0f} s for those it lands after"
                )
                return StageDeferred(words, DEFERRED_WAIT)
        return None

    def _until_other(self, hold: ClaimContext) -> None:
        """Somebody landed or fell out.  The store says so at once; git may be far away."""
        riders = hold.queue_members()
        for _ in range(LOOKS_MAX):
            self._clock.sleep(PAUSE)
            if hold.stop_reason() or hold.queue_members() != riders:
                return

    def discard_if_predecessor_failed(
        self, run: Run, task: Task, onto: str, hold: ClaimContext
    ) -> StageDeferred | None:
        """What failed on top of work that never landed says nothing, and is looked at again.

        The slot is not lent meanwhile: the store counts a task in verify, and one that lands not.
        """
        if stopped := self._wait(run, task, onto, hold):
            return stopped
        if not task.work.landing_refusals or self._workspace.branches.branch_contains(run, onto):
            return None
        return StageDeferred("proven on work that did not land: it is proven again", timedelta(0))
