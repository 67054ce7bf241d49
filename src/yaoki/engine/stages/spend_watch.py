"""Compares the usage that running agents report with the budgets of task, run and day."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from yaoki.core.decide.spending_cap import (
    add_usage,
    find_reached_cap,
    limits_agents,
    task_spend_left,
)
from yaoki.core.model import EndCause, RunId, Task, Usage
from yaoki.engine.claim_context import ClaimContext
from yaoki.ports import AgentDriver, Clock

# The whole output of the agent is read each time.
READ_INTERVAL = timedelta(milliseconds=500)


class SpendWatch:
    """The agents of one worker: what several of them use counts together against their run."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._usages: dict[Path, tuple[RunId, Usage]] = {}

    @contextmanager
    def watch(
        self, task: Task, agent: AgentDriver, folder: Path, claim: ClaimContext
    ) -> Iterator[Callable[[], EndCause]]:
        """Yields a function that returns the reason to end the agent; `NONE` while it may work."""
        if not limits_agents((*task_spend_left(task), *claim.spend_left())):
            yield lambda: EndCause.NONE
            return
        next_read = self._clock.now()

        def find_cause() -> EndCause:
            nonlocal next_read
            now: datetime = self._clock.now()
            if now < next_read:
                return EndCause.NONE
            next_read = now + READ_INTERVAL
            own = agent.usage_so_far(folder)
            left = (*task_spend_left(task), *claim.spend_left())
            return find_reached_cap(left, own, self._together(task.run_id, folder, own))

        try:
            yield find_cause
        finally:
            with self._lock:
                self._usages.pop(folder, None)

    def _together(self, run_id: RunId, folder: Path, own: Usage) -> Usage:
        with self._lock:
            self._usages[folder] = (run_id, own)
            return add_usage(usage for run, usage in self._usages.values() if run == run_id)
