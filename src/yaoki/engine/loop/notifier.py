"""Notices on their way: taken from the outbox, sent, marked; beside the work, never in its way."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta

from yaoki.errors import NoticeFailed, StoreError
from yaoki.ports import Channel, Clock, Notice, Notices

EVERY_S = 1.0
# At the end of a run what is due is sent at once, but nobody waits longer than this.
FINAL_DELIVERY_TIMEOUT = timedelta(seconds=20)


class Notifier:
    """At least once: a notice counts as sent only after its channel took it."""

    def __init__(self, store: Notices, channels: Mapping[str, Channel], clock: Clock) -> None:
        self._store, self._channels, self._clock = store, channels, clock
        self._over = threading.Event()

    def deliver(self) -> int:
        """Send all that is due; returns how many were sent."""
        sent = 0
        for notice in self._store.take_notices():
            sent += self._send(notice)
        return sent

    def _send(self, notice: Notice) -> bool:
        channel = self._channels.get(notice.channel)
        if channel is None:
            why = f"the settings no longer name the channel {notice.channel!r}"
            self._store.mark_notice_failed(notice, why, permanent=True)
            return False
        try:
            channel.send(notice)
        except NoticeFailed as failed:
            words = f"{failed.sentence} ({failed.hint})" if failed.hint else failed.sentence
            self._store.mark_notice_failed(
                notice, words, permanent=failed.permanent, retry_after=failed.retry_after
            )
            return False
        self._store.mark_notice_sent(notice)
        return True

    @contextmanager
    def in_background(self) -> Iterator[None]:
        """While something else is done; what is due at its end is sent before this returns."""
        if not self._channels:
            yield
            return
        thread = threading.Thread(target=self._loop, name="notices", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join(FINAL_DELIVERY_TIMEOUT.total_seconds())

    def _loop(self) -> None:
        """A store that fails is the worker's trouble, who says so; this only stops."""
        try:
            while not self._over.wait(EVERY_S):
                self.deliver()
            until = self._clock.now() + FINAL_DELIVERY_TIMEOUT
            while self.deliver() and self._clock.now() < until:
                pass
        except StoreError:
            return
