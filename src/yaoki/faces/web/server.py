"""The server: runs in its own thread on a listening socket, and stops within a time limit."""

from __future__ import annotations

import socket
import threading
from datetime import timedelta
from pathlib import Path

import uvicorn

from yaoki.faces.web.access_tokens import AccessTokens
from yaoki.faces.web.application import PageApplication
from yaoki.faces.web.listen_address import ListeningSocket
from yaoki.faces.web.protocol import BoundedProtocol
from yaoki.faces.web.request_context import RequestContext

STOPPED_WITHIN = timedelta(seconds=10)


class PageServer:
    """Serves until it is stopped.  No fault here ends the process that started it."""

    def __init__(
        self, where: Path, bound: ListeningSocket, passes: AccessTokens, *, store: str = ""
    ) -> None:
        self._bound = bound
        self._context = RequestContext(where, store=store)
        self._site = PageApplication(self._context, bound.listen_address, passes)
        config = uvicorn.Config(
            self._site.asgi_app,
            lifespan="on",
            access_log=False,
            log_config=None,
            log_level="critical",
            server_header=False,
            date_header=False,
            proxy_headers=False,
            ws="none",
            http=BoundedProtocol,
            loop="asyncio",
            timeout_graceful_shutdown=5,
            h11_max_incomplete_event_size=32 * 1024,
        )
        self._server = _Server(config, self._site)
        self._thread = threading.Thread(target=self.run, name="page", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def run(self) -> None:
        """Serve in the caller's thread, until `stop`."""
        try:
            self._server.run(sockets=[self._bound.socket])
        finally:
            self._context.close()

    @property
    def is_serving(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        """End the streams with an event; running requests get a few seconds."""
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join(STOPPED_WITHIN.total_seconds())


class _Server(uvicorn.Server):
    """Ends open streams first, because they would keep the server from stopping."""

    def __init__(self, config: uvicorn.Config, site: PageApplication) -> None:
        super().__init__(config)
        self._site = site

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._site.hub.close()
        await super().shutdown(sockets)
