"""The page beside a background worker: it costs a socket until somebody looks.

Nothing that goes wrong here stops the worker: without a page the work goes on.
"""

from __future__ import annotations

import json
import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from yaoki.errors import YaokiError
from yaoki.system import write_atomically
from yaoki.web.passes import passes_of
from yaoki.web.place import Bound, bind

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.web.server import PageServer

FACTS = "page.json"
LOOK_S = 1.0


class PageBeside:
    """Listens at once, and loads the server when the first browser comes."""

    def __init__(self, app: App, warn: Callable[[str], None], *, store: str = "") -> None:
        self._app, self._warn, self._store = app, warn, store
        self._stopping = False
        self._server: PageServer | None = None

    def start(self) -> None:
        try:
            bound = bind(any_port=True)
            facts = {"pid": os.getpid(), "address": bound.address}
            write_atomically(self._app.daemon.folder / FACTS, json.dumps(facts).encode())
        except YaokiError as error:
            self._warn(f"the page is not served: {error.sentence}")
            return
        thread = threading.Thread(target=self._serve, args=(bound,), name="page", daemon=True)
        thread.start()

    def _serve(self, bound: Bound) -> None:
        try:
            while not select.select([bound.socket], [], [], LOOK_S)[0]:
                if self._stopping:
                    return
            from yaoki.web.server import PageServer

            where = self._app.repository.top
            self._server = PageServer(where, bound, passes_of(self._app), store=self._store)
            self._server.run()
        except Exception as error:  # noqa: BLE001 - the worker goes on whatever happens here
            self._warn(f"the page is no longer served: {error!r}")
        finally:
            bound.socket.close()

    def stop(self) -> None:
        self._stopping = True
        if self._server is not None:
            self._server.stop()


def served_beside(app: App) -> str:
    """The address of the page that the background worker serves; empty when it does not."""
    running = app.daemon.running()
    if running is None or not running.pid:
        return ""
    with suppress(OSError, ValueError, TypeError, KeyError):
        facts = json.loads((app.daemon.folder / FACTS).read_bytes())
        return str(facts["address"]) if facts["pid"] == running.pid else ""
    return ""
