"""HTTP with limits: on the time a request takes to arrive, and on the number of connections.

Each idle connection holds a descriptor; without limits the process would run out of them.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 10.0
CONNECTIONS_MAX = 400


class BoundedProtocol(H11Protocol):
    """Closes connections whose request is late, and those beyond the limit."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._arm()
        if len(self.connections) > CONNECTIONS_MAX:
            self._drop_one()

    def _drop_one(self) -> None:
        """Close a waiting connection instead of the new one, so that a person can still connect."""
        waiting = (one for one in self.connections if isinstance(one, BoundedProtocol))
        longest = min(
            (one for one in waiting if one is not self and one._deadline is not None),
            key=lambda one: one._deadline.when() if one._deadline else 0.0,
            default=self,
        )
        # Marked as closed at once, because the loop closes it only after this turn.
        longest._disarm()
        longest.connections.discard(longest)
        longest.transport.abort()

    def data_received(self, data: bytes) -> None:
        if not self._at_work and self._deadline is None:
            self._arm()
        super().data_received(data)
        if self._at_work and self._has_arrived:
            self._disarm()

    @property
    def _at_work(self) -> bool:
        # None before the first request, although its type says otherwise.
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    @property
    def _has_arrived(self) -> bool:
        """Has the request arrived with its whole body?"""
        return not self.cycle.more_body

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def _arm(self) -> None:
        self._disarm()
        self._deadline = self.loop.call_later(REQUEST_S, self._late)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _late(self) -> None:
        self._deadline = None
        self.transport.abort()
