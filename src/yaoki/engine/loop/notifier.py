"""Sends notices from the outbox in its own thread, so that they never delay a task."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta

from yaoki.errors import NoticeFailed, StoreError
from yaoki.ports import Channel, Clock, Notice, Notices

INTERVAL_S = 1.0
# At the end of a run, due notices are sent at once; the process waits no longer than this.
FINAL_DELIVERY_TIMEOUT = timedelta(seconds=20)


class Notifier:
    """Delivers at least once: a notice counts as sent only after its channel accepted it."""

    def __init__(self, store: Notices, channels: Mapping[str, Channel], clock: Clock) -> None:
        self._store, self._channels, self._clock = store, channels, clock
        self._stopped = threading.Event()

    def deliver(self) -> int:
        """Send all due notices; returns how many were sent."""
        sent = 0
        for notice in self._store.take_notices():
            sent += self._send(notice)
        return sent

    def _send(self, notice: Notice) -> bool:
        channel = self._channels.get(notice.channel)
        if channel is None:
            reason = f"the settings have no channel {notice.channel!r} any more"
            self._store.mark_notice_failed(notice, reason, permanent=True)
            return False
        try:
            channel.send(notice)
        except NoticeFailed as failed:
            reason = f"{failed.sentence} ({failed.hint})" if failed.hint else failed.sentence
            self._store.mark_notice_failed(
                notice, reason, permanent=failed.permanent, retry_after=failed.retry_after
            )
            return False
        self._store.mark_notice_sent(notice)
        return True

    @contextmanager
    def in_background(self) -> Iterator[None]:
        """Send in a thread while the block runs; what is due at its end is sent before it exits."""
        if not self._channels:
            yield
            return
        thread = threading.Thread(target=self._loop, name="notices", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            thread.join(FINAL_DELIVERY_TIMEOUT.total_seconds())

    def _loop(self) -> None:
        """Deliver until stopped.  A failing store ends the loop silently: the worker meets the same
        failure and reports it.
        """
        try:
            while not self._stopped.wait(INTERVAL_S):
                self.deliver()
            until = self._clock.now() + FINAL_DELIVERY_TIMEOUT
            while self.deliver() and self._clock.now() < until:
                pass
        except StoreError:
            return
