"""The page beside a background worker: it costs a socket until somebody looks.

Then a process of its own serves it, so that nothing that goes wrong there, and nobody who uses up
its descriptors or its memory, stops the worker: without a page the work goes on.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from yaoki.errors import YaokiError
from yaoki.system import write_atomically
from yaoki.web.passes import key_file, passes_of
from yaoki.web.place import Bound, bind

if TYPE_CHECKING:
    from yaoki.app import App

FACTS = "page.json"
LOOK_S = 1.0
STOP_S = 10.0
STARTS_MAX = 100


class PageBeside:
    """Listens at once, and starts the server when the first browser comes."""

    def __init__(self, app: App, warn: Callable[[str], None], *, store: str = "") -> None:
        self._app, self._warn, self._store = app, warn, store
        self._stopping = False
        self._server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        try:
            bound = bind(any_port=True)
            passes_of(self._app)  # its key, made before anybody else may need it
            facts = {"pid": os.getpid(), "address": bound.address}
            write_atomically(self._app.daemon.folder / FACTS, json.dumps(facts).encode())
        except YaokiError as error:
            self._warn(f"the page is not served: {error.sentence}")
            return
        thread = threading.Thread(target=self._serve, args=(bound,), name="page", daemon=True)
        thread.start()

    def _serve(self, bound: Bound) -> None:
        try:
            for _ in range(STARTS_MAX):
                while not self._stopping and not select.select([bound.socket], [], [], LOOK_S)[0]:
                    pass
                if self._stopping:
                    return
                self._server = self._started(bound)
                code = self._server.wait()
                if not self._stopping:
                    self._warn(f"the page's server ended with code {code}; it starts again")
            self._warn(f"the page is no longer served: it ended {STARTS_MAX} times")
        except Exception as error:  # noqa: BLE001 - the worker goes on whatever happens here
            self._warn(f"the page is no longer served: {error!r}")
        finally:
            bound.socket.close()

    def _started(self, bound: Bound) -> subprocess.Popen[bytes]:
        number = bound.socket.fileno()
        server = subprocess.Popen(
            (sys.executable, "-P", "-m", "yaoki.web.process"),
            stdin=subprocess.PIPE,
            pass_fds=(number,),
            start_new_session=True,
        )
        told = {
            "socket": number,
            "host": bound.host,
            "port": bound.place.port,
            "key": str(key_file(self._app)),
            "where": str(self._app.repository.top),
            # By this way alone: an address may hold a password.
            "store": self._store,
        }
        assert server.stdin is not None
        server.stdin.write(json.dumps(told).encode() + b"\n")
        server.stdin.flush()
        return server

    def stop(self) -> None:
        """Its standard input closes, which ends it; whatever hangs there is killed."""
        self._stopping = True
        server = self._server
        if server is None or server.stdin is None:
            return
        with suppress(OSError):
            server.stdin.close()
        try:
            server.wait(STOP_S)
        except subprocess.TimeoutExpired:
            server.kill()


def served_beside(app: App) -> str:
    """The address of the page that the background worker serves; empty when it does not."""
    running = app.daemon.running()
    if running is None or not running.pid:
        return ""
    with suppress(OSError, ValueError, TypeError, KeyError):
        facts = json.loads((app.daemon.folder / FACTS).read_bytes())
        return str(facts["address"]) if facts["pid"] == running.pid else ""
    return ""
