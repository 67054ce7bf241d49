"""A few connections that threads share: each is used by one at a time, made when it is needed."""

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
    """At most `most` of them; whoever comes then waits for one to be given back."""

    def __init__(self, make: Callable[[], ItemT], most: int) -> None:
        self._make = make
        self._most = most
        self._idle: list[ItemT] = []
        self._lent = 0
        self._turn = threading.Condition()
        self.waiting_count = 0

    @contextmanager
    def borrow(self) -> Iterator[ItemT]:
        item = self.acquire()
        try:
            yield item
        finally:
            self.release(item)

    def acquire(self) -> ItemT:
        with self._turn:
            self.waiting_count += 1
            self._turn.wait_for(lambda: self._lent < self._most)
            self.waiting_count -= 1
            self._lent += 1
            if self._idle:
                return self._idle.pop()
        try:
            return self._make()
        except BaseException:
            self.release(None)
            raise

    def release(self, item: ItemT | None) -> None:
        """Back; the last used is used first, for the server may let go of idle ones."""
        with self._turn:
            self._lent -= 1
            if item is not None and not item.closed:
                self._idle.append(item)
            self._turn.notify()

    def close(self) -> None:
        with self._turn:
            for item in self._idle:
                item.close()
            self._idle.clear()
