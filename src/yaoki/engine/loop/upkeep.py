"""Upkeep alongside the tasks: one call at a time, at most once per interval."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import RunId

BACKGROUND_INTERVAL = timedelta(seconds=5)
# A stopping worker does not wait longer: the next worker finds what is left.
JOIN_S_MAX = 2.0


def _do_nothing(*_: object) -> None:
    """Upkeep that this pool does not need."""


@dataclass(frozen=True, slots=True)
class PoolUpkeep:
    """The work alongside the tasks.

    `scan` runs at each heartbeat.  `when_idle` runs when a slot is free and nothing can be claimed.
    `prepare_ahead` runs while tasks are active, to prepare worktrees for as many others of these
    runs.
    """

    scan: Callable[[], None] = _do_nothing
    when_idle: Callable[[], None] = _do_nothing
    prepare_ahead: Callable[[Sequence[RunId], int], None] = _do_nothing


class BackgroundTask:
    """Runs in a thread, because it may take long and the pool must react to signals."""

    def __init__(self, act: Callable[[], None], interval: timedelta = BACKGROUND_INTERVAL) -> None:
        self._act, self._interval = act, interval
        self._thread: threading.Thread | None = None
        self._next: datetime | None = None

    def start_if_due(self, now: datetime) -> None:
        early = self._next is not None and now < self._next
        if early or (self._thread is not None and self._thread.is_alive()):
            return
        self._next = now + self._interval
        thread = threading.Thread(target=self._act, name="background", daemon=True)
        thread.start()
        self._thread = thread

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join(JOIN_S_MAX)
