"""A task verified on top of an unlanded candidate waits for that candidate to land before its
verdict counts.
"""

from __future__ import annotations

from contextlib import nullcontext
from datetime import timedelta

from yaoki.core.model import Run, Task
from yaoki.core.model.stage_report import StageDeferred
from yaoki.core.text import format_duration
from yaoki.engine.claim_context import ClaimContext
from yaoki.ports import Clock, Workspace

POLL = timedelta(milliseconds=50)
POLLS_MAX = 60
DEFERRED_WAIT = timedelta(seconds=10)
# After this the task is claimed again, in case the merge queue is stuck.
PREDECESSOR_WAIT_MAX = timedelta(hours=1)


class PredecessorWait:
    """Used by the verify and land stages."""

    def __init__(self, workspace: Workspace, clock: Clock) -> None:
        self._workspace, self._clock = workspace, clock

    def wait_for_predecessor(
        self, run: Run, task: Task, onto: str, claim: ClaimContext
    ) -> StageDeferred | None:
        """Wait until the branch is at `onto`, or never will be; meanwhile the slot is released."""
        with claim.release_slot() if task.work.is_queued else nullcontext():
            return self._wait(run, task, onto, claim)

    def _wait(self, run: Run, task: Task, onto: str, claim: ClaimContext) -> StageDeferred | None:
        until = self._clock.now() + PREDECESSOR_WAIT_MAX
        while task.work.is_queued and self._workspace.landings.is_in_merge_queue(
            run, onto, claim.queue.members
        ):
            self._wait_for_change(claim)
            if claim.stop_reason():
                return StageDeferred("stopped before its predecessors landed", DEFERRED_WAIT)
            if self._clock.now() > until:
                waited = format_duration(PREDECESSOR_WAIT_MAX.total_seconds())
                return StageDeferred(f"waited {waited} for its predecessors", DEFERRED_WAIT)
        return None

    def _wait_for_change(self, claim: ClaimContext) -> None:
        """Wait until a task lands or leaves the queue.  Poll the store: git may be far away."""
        members = claim.queue.members()
        for _ in range(POLLS_MAX):
            self._clock.sleep(POLL)
            if claim.stop_reason() or claim.queue.members() != members:
                return

    def discard_if_predecessor_failed(
        self, run: Run, task: Task, onto: str, claim: ClaimContext
    ) -> StageDeferred | None:
        """A failure on top of a candidate that never landed proves nothing: verify again.

        The slot is not released meanwhile: the store counts a task in VERIFY, but not in LAND.
        """
        if deferred := self._wait(run, task, onto, claim):
            return deferred
        if not task.work.is_queued or self._workspace.branches.branch_contains(run, onto):
            return None
        words = "its predecessor did not land, so it is verified again"
        return StageDeferred(words, timedelta(0), proof_discarded=True)
