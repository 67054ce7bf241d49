"""What is proven on work that has not landed yet waits for it; nothing is judged by it before."""

from __future__ import annotations

from datetime import timedelta

from yaoki.core.model import Run, Task
from yaoki.core.reports import Declined
from yaoki.engine.hold import Hold
from yaoki.ports import Clock, Workspace

PAUSE = timedelta(milliseconds=50)
LOOKS_MAX = 60
LATER = timedelta(seconds=10)


class Riding:
    """Asked by the stages that prove and land."""

    def __init__(self, workspace: Workspace, clock: Clock) -> None:
        self._workspace, self._clock = workspace, clock

    def early(self, run: Run, task: Task, onto: str, hold: Hold) -> Declined | None:
        """Wait until the branch stands at `onto`, or never will; meanwhile others use the slot."""
        if not task.work.refused:
            return None
        with hold.lent():
            while self._workspace.coming(run, onto, hold.riders):
                self._until_other(hold)
                if hold.why():
                    return Declined("was stopped before those it lands after", LATER)
        return None

    def _until_other(self, hold: Hold) -> None:
        """Somebody landed or fell out.  The store says so at once; git may be far away."""
        riders = hold.riders()
        for _ in range(LOOKS_MAX):
            self._clock.sleep(PAUSE)
            if hold.why() or hold.riders() != riders:
                return

    def void(self, run: Run, task: Task, onto: str, hold: Hold) -> Declined | None:
        """What failed on top of work that never landed says nothing, and is looked at again."""
        if early := self.early(run, task, onto, hold):
            return early
        if not task.work.refused or self._workspace.holds(run, onto):
            return None
        return Declined("proven on work that did not land: it is proven again", timedelta(0))
