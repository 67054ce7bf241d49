"""Commit notifications between processes: only a hint, because pollers miss nothing without it.

NOTIFY takes a lock of the whole server, so it is sent after the commit and not in it, and at most
once a tick.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import psycopg

from yaoki.adapters.store.postgres.transaction import Connection

TICK_S = 0.1
RECONNECT_S = 1.0


class CommitListener:
    """A thread with its own connection, started by the first call of `version`."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        # Notified in this tick already, and whether another commit followed.
        self._notified = self._pending = False
        self.listening = False
        self.heard_count = 0
        self.on_heard: Callable[[], None] = lambda: None

    def start(self) -> None:
        if self._thread is None and not self._closing.is_set():
            self._thread = threading.Thread(target=self._run, name="commit-listener", daemon=True)
            self._thread.start()

    def notify(self, connection: Connection) -> None:
        """Called after a commit, with the connection of the commit."""
        if self._notified:
            self._pending = True
            return
        self._notified = self.listening
        with suppress(psycopg.Error):  # other processes poll as well
            connection.execute("NOTIFY yaoki", prepare=False)

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                with self._connect() as connection:
                    self._listen(connection)
            except psycopg.Error:
                self._closing.wait(RECONNECT_S)
            finally:
                self.listening = self._notified = False

    def _listen(self, connection: Connection) -> None:
        connection.execute("LISTEN yaoki", prepare=False)
        self.listening = True
        while not self._closing.is_set():
            for _ in connection.notifies(timeout=TICK_S, stop_after=1):
                self.heard_count += 1
                self.on_heard()
            self._notified = False
            if self._pending:
                self._pending = False
                connection.execute("NOTIFY yaoki", prepare=False)

    def close(self) -> None:
        self._closing.set()
        if self._thread is not None:
            self._thread.join(5)
