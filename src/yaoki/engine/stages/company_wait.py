"""A verified task whose branch has moved waits until a task in the merge queue takes it along."""

from __future__ import annotations

from datetime import datetime

from yaoki.core.model import Run, Task
from yaoki.engine.claim_context import ClaimContext, StopReason
from yaoki.engine.stages.predecessor_wait import POLL, POLLS_MAX
from yaoki.ports import Clock, Workspace


class CompanyWait:
    """Used by the land stage."""

    def __init__(self, workspace: Workspace, clock: Clock) -> None:
        self._workspace, self._clock = workspace, clock

    def wait(self, run: Run, task: Task, claim: ClaimContext) -> StopReason | None:
        """Return when the task has landed, can land, or must enter the queue; else why to stop.

        A task that is taken along cannot be cancelled any more: it may be landing right now.
        """
        started = self._clock.now()
        with claim.release_slot():
            while not self._has_landed(run, task):
                stop = claim.stop_reason()
                if stop is StopReason.LOST or (stop and stop.ends_worker):
                    return stop
                if not self.is_taken_along(run, task, claim):
                    if stop:
                        return stop
                    if claim.queue.must_lead(self._clock.now() - started):
                        return None
                    if self._can_land(run, task, claim):
                        return None
                self._wait_for_change(claim, started)
        return None

    def is_taken_along(self, run: Run, task: Task, claim: ClaimContext) -> bool:
        """Is its verified commit joined in a candidate of the queue?"""
        commit, members = task.work.verified_commit, claim.queue.members
        return not task.work.is_queued and self._workspace.landings.is_in_merge_queue(
            run, commit, members
        )

    def _can_land(self, run: Run, task: Task, claim: ClaimContext) -> bool:
        """Have all tasks ahead of it left the queue, and is the branch as it was verified?"""
        at_head = self._workspace.branches.head(run) == task.work.onto
        return at_head and not claim.queue.must_yield()

    def _has_landed(self, run: Run, task: Task) -> bool:
        return self._workspace.branches.branch_contains(run, task.work.verified_commit)

    def _wait_for_change(self, claim: ClaimContext, started: datetime) -> None:
        """Wait until a task enters or leaves the queue, or no task is left that takes others along.

        This polls the store and not git, which may be on a remote machine.
        """
        members = claim.queue.members()
        for _ in range(POLLS_MAX):
            self._clock.sleep(POLL)
            if claim.stop_reason() or claim.queue.members() != members:
                return
            if len(members) == 1 and claim.queue.must_lead(self._clock.now() - started):
                return
