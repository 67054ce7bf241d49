"""What waits for a quiet moment: done beside the work, one at a time, and not too often."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

BACKGROUND_INTERVAL = timedelta(seconds=5)
# Who stops does not wait long: what is left is found again by the next one.
END_S_MAX = 2.0


class BackgroundTask:
    """In a thread, because nobody knows how long it takes: the pool must hear signals."""

    def __init__(self, act: Callable[[], None], every: timedelta = BACKGROUND_INTERVAL) -> None:
        self._act, self._every = act, every
        self._thread: threading.Thread | None = None
        self._next: datetime | None = None

    def start_if_due(self, now: datetime) -> None:
        early = self._next is not None and now < self._next
        if early or (self._thread is not None and self._thread.is_alive()):
            return
        self._next = now + self._every
        thread = threading.Thread(target=self._act, name="aside", daemon=True)
        thread.start()
        self._thread = thread

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join(END_S_MAX)
