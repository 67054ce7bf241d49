"""A proxy to the server that can drop the connection at the instant of a commit."""

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
    """Forwards between a store and its server.  `cut` is set for one commit, or empty.

    "before": the server never gets the COMMIT; "after": it commits, but the answer is dropped.
    """

    def __init__(self, url: str) -> None:
        folder = parse_qs(urlsplit(url).query)["host"][0]
        self._server = f"{folder}/.s.PGSQL.5432"
        self._folder = tempfile.TemporaryDirectory(prefix="yaoki-wire-", dir="/tmp")
        self.url = url.replace(folder, self._folder.name)
        self.cut = ""
        self.cuts = 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(Path(self._folder.name) / ".s.PGSQL.5432"))
        self._listener.listen(50)
        self._ends: list[socket.socket] = [self._listener]
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
        with suppress(OSError):  # the listener was closed
            while True:
                near, _ = self._listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._server)
                self._ends += [near, far]
                for source, target, is_request in ((near, far, True), (far, near, False)):
                    thread = threading.Thread(
                        target=self._forward, args=(source, target, is_request)
                    )
                    thread.daemon = True
                    self._threads.append(thread)
                    thread.start()

    def _forward(self, source: socket.socket, target: socket.socket, is_request: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if is_request and self.cut and COMMIT in data:
                    self._cut(source, target, data)
                    return
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _cut(self, client: socket.socket, server: socket.socket, data: bytes) -> None:
        when, self.cut = self.cut, ""
        self.cuts += 1
        # Before the server gets the COMMIT, so that no answer gets through.
        client.shutdown(socket.SHUT_RDWR)
        if when == "after":
            with suppress(OSError):
                server.sendall(data)
            return  # the other thread reads the answer and cannot forward it
        server.shutdown(socket.SHUT_RDWR)
