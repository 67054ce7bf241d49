"""A part of the history that follows the journal: each request continues where the last stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, Protocol, TypeVar

from yaoki.ports import JournalEntry

PAGE = 2_000
# About a second of work on a small machine; the next request continues from there.
ENTRIES_PER_LOOK = 40_000
LINES_AT_ONCE = 50_000


class JournalFold(Protocol):
    EVENTS: ClassVar[tuple[str, ...]]

    def add(self, entry: JournalEntry) -> None: ...


FoldType = TypeVar("FoldType", bound=JournalFold)
# The entries of these events, after one number and before another, up to a limit.
ReadEntries = Callable[[tuple[str, ...], int, int, int], Sequence[JournalEntry]]


class IncrementalFold(Generic[FoldType]):
    """A fold that follows the journal: each read continues where the last one stopped."""

    def __init__(self, fold: FoldType, read: ReadEntries) -> None:
        self._fold, self._read = fold, read
        self._turn = threading.Lock()
        self._after = 0

    def read_up_to(self, end: int) -> tuple[FoldType, bool, int]:
        """The fold, whether it is complete up to `end`, and its last entry."""
        with self._turn:
            for _ in range(ENTRIES_PER_LOOK // PAGE):
                if self._after >= end:
                    break
                self._read_page(end)
            return self._fold, self._after >= end, self._after

    def _read_page(self, end: int) -> None:
        """For rare events the database scans many entries, so the scan is limited."""
        far = min(self._after + LINES_AT_ONCE, end)
        page = self._read(self._fold.EVENTS, self._after, far + 1, PAGE)
        for entry in page:
            self._fold.add(entry)
        self._after = page[-1].seq if len(page) == PAGE else far
