"""What is proven on work that has not landed yet waits for it; nothing is judged by it before."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import timedelta

from yaoki.core.model import Run, Task
from yaoki.core.model.report import Declined
from yaoki.engine.claim_context import Hold
from yaoki.ports import Clock, Workspace

PAUSE = timedelta(milliseconds=50)
LOOKS_MAX = 60
LATER = timedelta(seconds=10)
# A queue that does not move for so long is looked at by a new claim.
WAIT_MAX = timedelta(hours=1)


class Riding:
    """Asked by the stages that prove and land."""

    def __init__(self, workspace: Workspace, clock: Clock) -> None:
        self._workspace, self._clock = workspace, clock

    def early(self, run: Run, task: Task, onto: str, hold: Hold) -> Declined | None:
        """Wait until the branch stands at `onto`, or never will; meanwhile others use the slot."""
        with hold.lent() if task.work.refused else nullcontext():
            return self._wait(run, task, onto, hold)

    def _wait(self, run: Run, task: Task, onto: str, hold: Hold) -> Declined | None:
        until = self._clock.now() + WAIT_MAX
        while task.work.refused and self._workspace.coming(run, onto, hold.riders):
            self._until_other(hold)
            if hold.why():
                return Declined("was stopped before those it lands after", LATER)
            if self._clock.now() > until:
                words = f"waited {WAIT_MAX.total_seconds():.0f} s for those it lands after"
                return Declined(words, LATER)
        return None

    def _until_other(self, hold: Hold) -> None:
        """Somebody landed or fell out.  The store says so at once; git may be far away."""
        riders = hold.riders()
        for _ in range(LOOKS_MAX):
            self._clock.sleep(PAUSE)
            if hold.why() or hold.riders() != riders:
                return

    def void(self, run: Run, task: Task, onto: str, hold: Hold) -> Declined | None:
        """What failed on top of work that never landed says nothing, and is looked at again.

        The slot is not lent meanwhile: the store counts a task in verify, and one that lands not.
        """
        if stopped := self._wait(run, task, onto, hold):
            return stopped
        if not task.work.refused or self._workspace.holds(run, onto):
            return None
        return Declined("proven on work that did not land: it is proven again", timedelta(0))
