"""A wire to the server that can be cut at the very instant of a commit."""

from __future__ import annotations

import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs, urlsplit

COMMIT = b"COMMIT"


class Wire:
    """Stands between a store and its server.  `cut` is armed for one commit, or empty.

    "before": the server never hears of it; "after": it has committed, and nobody hears of that.
    """

    def __init__(self, url: str) -> None:
        there = parse_qs(urlsplit(url).query)["host"][0]
        self._server = f"{there}/.s.PGSQL.5432"
        self._folder = tempfile.TemporaryDirectory(prefix="yaoki-wire-", dir="/tmp")
        self.url = url.replace(there, self._folder.name)
        self.cut = ""
        self.cuts = 0
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(Path(self._folder.name) / ".s.PGSQL.5432"))
        self._door.listen(50)
        self._ends: list[socket.socket] = [self._door]
        self._threads = [threading.Thread(target=self._serve, daemon=True)]
        self._threads[0].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for end in list(self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        for thread in self._threads:
            thread.join(10)
        self._folder.cleanup()

    def _serve(self) -> None:
        with suppress(OSError):  # the door was closed
            while True:
                near, _ = self._door.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._server)
                self._ends += [near, far]
                for one, other, asks in ((near, far, True), (far, near, False)):
                    carry = threading.Thread(target=self._carry, args=(one, other, asks))
                    carry.daemon = True
                    self._threads.append(carry)
                    carry.start()

    def _carry(self, one: socket.socket, other: socket.socket, asks: bool) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                if asks and self.cut and COMMIT in data:
                    self._cut(one, other, data)
                    return
                other.sendall(data)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _cut(self, client: socket.socket, server: socket.socket, data: bytes) -> None:
        how, self.cut = self.cut, ""
        self.cuts += 1
        # First, so that no answer gets through.
        client.shutdown(socket.SHUT_RDWR)
        if how == "after":
            with suppress(OSError):
                server.sendall(data)
            return  # the other thread reads the answer, and has nobody to give it to
        server.shutdown(socket.SHUT_RDWR)
