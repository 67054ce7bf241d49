"""Hears at once that somebody committed, and tells others of us.  A hint: who polls misses nothing.

Telling takes a lock of the whole server, so it is done after the commit and not with it, and not
more often than once a tick.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import psycopg

from yaoki.adapters.store.postgres.transaction import Connection

TICK_S = 0.1
AGAIN_S = 1.0


class CommitListener:
    """A thread with a connection of its own, begun when somebody first asks what is new."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._told = self._untold = False
        self.listening = False
        self.heard_count = 0

    def start(self) -> None:
        if self._thread is None and not self._closing.is_set():
            self._thread = threading.Thread(target=self._live, name="courier", daemon=True)
            self._thread.start()

    def notify(self, connection: Connection) -> None:
        """After a commit, on the connection that made it."""
        if self._told:
            self._untold = True
            return
        self._told = self.listening
        with suppress(psycopg.Error):  # others find out by themselves
            connection.execute("NOTIFY yaoki", prepare=False)

    def _live(self) -> None:
        while not self._closing.is_set():
            try:
                with self._connect() as connection:
                    self._listen(connection)
            except psycopg.Error:
                self._closing.wait(AGAIN_S)
            finally:
                self.listening = self._told = False

    def _listen(self, connection: Connection) -> None:
        connection.execute("LISTEN yaoki", prepare=False)
        self.listening = True
        while not self._closing.is_set():
            for _ in connection.notifies(timeout=TICK_S, stop_after=1):
                self.heard_count += 1
            self._told = False
            if self._untold:
                self._untold = False
                connection.execute("NOTIFY yaoki", prepare=False)

    def close(self) -> None:
        self._closing.set()
        if self._thread is not None:
            self._thread.join(5)
