"""A few connections that threads share: used by one thread at a time, opened when needed.

Why not psycopg_pool: docs/decisions/dependencies.md.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...


ItemT = TypeVar("ItemT", bound=Closable)


class ConnectionPool(Generic[ItemT]):
    """A pool of at most `size` connections; when all are borrowed, a thread waits for a release."""

    def __init__(self, connect: Callable[[], ItemT], size: int) -> None:
        self._connect = connect
        self._size = size
        self._idle: list[ItemT] = []
        self._borrowed = 0
        self._changed = threading.Condition()
        self.waiting_count = 0

    @contextmanager
    def borrow(self) -> Iterator[ItemT]:
        item = self.acquire()
        try:
            yield item
        finally:
            self.release(item)

    def acquire(self) -> ItemT:
        with self._changed:
            self.waiting_count += 1
            self._changed.wait_for(lambda: self._borrowed < self._size)
            self.waiting_count -= 1
            self._borrowed += 1
            if self._idle:
                return self._idle.pop()
        try:
            return self._connect()
        except BaseException:
            self.release(None)
            raise

    def release(self, item: ItemT | None) -> None:
        """The last used is used first, so that the server may drop idle connections."""
        with self._changed:
            self._borrowed -= 1
            if item is not None and not item.closed:
                self._idle.append(item)
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            for item in self._idle:
                item.close()
            self._idle.clear()
