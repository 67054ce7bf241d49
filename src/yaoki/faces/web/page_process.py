"""The page alongside a background worker: only a listening socket until a browser connects.

Then a separate process serves it, so that no fault there, nor a client that exhausts its
descriptors or memory, can affect the worker.
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from yaoki.adapters.processes.child_processes import HelperProcess
from yaoki.adapters.system.files import write_atomically
from yaoki.errors import YaokiError
from yaoki.faces.web.access_tokens import access_tokens_of, signing_key_file
from yaoki.faces.web.listen_address import ListeningSocket, bind

if TYPE_CHECKING:
    from yaoki.app.build import App

FACTS_FILE = "page.json"
LOOK_S = 1.0
STARTS_MAX = 100


class PageProcess:
    """Listens at once, and starts the server process when the first browser connects."""

    def __init__(self, app: App, warn: Callable[[str], None], *, store: str = "") -> None:
        self._app, self._warn, self._store = app, warn, store
        self._stopping = False
        self._server: HelperProcess | None = None

    def start(self) -> None:
        try:
            bound = bind(any_port=True)
            access_tokens_of(self._app)  # create the key before another process needs it
            facts = {"pid": os.getpid(), "address": bound.page_address}
            write_atomically(
                self._app.services.daemon.folder / FACTS_FILE, json.dumps(facts).encode()
            )
        except YaokiError as error:
            self._warn(f"the page is not served: {error.sentence}")
            return
        thread = threading.Thread(target=self._serve, args=(bound,), name="page", daemon=True)
        thread.start()

    def _serve(self, bound: ListeningSocket) -> None:
        try:
            for _ in range(STARTS_MAX):
                while not self._stopping and not select.select([bound.socket], [], [], LOOK_S)[0]:
                    pass
                if self._stopping:
                    return
                self._server = self._start(bound)
                code = self._server.wait()
                if not self._stopping:
                    self._warn(f"the page's server ended with code {code}; it is started again")
            self._warn(f"the page is no longer served: it ended {STARTS_MAX} times")
        except Exception as error:  # noqa: BLE001 - an error of the page must not stop the worker
            self._warn(f"the page is no longer served: {error!r}")
        finally:
            bound.socket.close()

    def _start(self, bound: ListeningSocket) -> HelperProcess:
        number = bound.socket.fileno()
        request = {
            "socket": number,
            "host": bound.host,
            "port": bound.listen_address.port,
            "key": str(signing_key_file(self._app)),
            "where": str(self._app.repository.top),
            # Passed on standard input, because a store address may contain a password.
            "store": self._store,
        }
        argv = (sys.executable, "-P", "-m", "yaoki.faces.web.process")
        return HelperProcess(argv, json.dumps(request).encode(), (number,))

    def stop(self) -> None:
        self._stopping = True
        if self._server is not None:
            self._server.stop()


def served_page_address(app: App) -> str:
    """The address of the page that the background worker serves; empty when it does not."""
    running = app.services.daemon.find_running()
    if running is None or not running.pid:
        return ""
    with suppress(OSError, ValueError, TypeError, KeyError):
        facts = json.loads((app.services.daemon.folder / FACTS_FILE).read_bytes())
        return str(facts["address"]) if facts["pid"] == running.pid else ""
    return ""
