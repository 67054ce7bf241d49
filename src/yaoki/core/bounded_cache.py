"""A cache with a bound: a process that runs for months must not keep every run in memory."""

from __future__ import annotations

from typing import TypeVar

KeyT = TypeVar("KeyT")
CachedT = TypeVar("CachedT")
CACHE_ENTRIES_MAX = 1_000


class BoundedCache(dict[KeyT, CachedT]):
    """A dictionary that keeps only the entries that were set last.

    Only for values that can be computed again: a dropped entry costs time or repeats a warning, and
    changes nothing else.
    """

    def __init__(self, most: int = CACHE_ENTRIES_MAX) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: KeyT, value: CachedT) -> None:
        self.pop(key, None)
        super().__setitem__(key, value)
        while len(self) > self._most:
            self.pop(next(iter(self)), None)
