"""Server-sent events: one follower reads the journal for all listeners.

A listener has only a cursor.  The newest entries are cached; a listener further behind is served
from the journal at its own pace, so no entry is dropped and no queue grows.
"""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from anyio import to_thread

from yaoki.adapters.store.tables import journal_pages
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import replace_lone_surrogates
from yaoki.errors import StoreCorrupt, YaokiError
from yaoki.faces.web.errors import RequestRejected
from yaoki.faces.web.journal import entry_with_words
from yaoki.faces.web.request_context import RequestContext
from yaoki.ports import JournalEntry
from yaoki.views import entry_document

POLL_S = 0.2
BEAT_S = 10.0
PAGE = 500
ENTRIES_KEPT = 2_000
LISTENERS_MAX = 64
# After this long without the store, listeners are informed.
STALL_S = 2.0
RETRY_FRAME = b"retry: 1000\n\n"


@dataclass(frozen=True, slots=True)
class EncodedEntry:
    """A journal entry in its sent form."""

    seq: int
    run_id: str
    frame: bytes


class EventHub:
    """Runs in the server's event loop; the store is read in threads."""

    def __init__(
        self, context: RequestContext, *, beat_s: float = BEAT_S, stall_s: float = STALL_S
    ) -> None:
        self._context, self._beat_s, self._stall_s = context, beat_s, stall_s
        self._kept: deque[EncodedEntry] = deque(maxlen=ENTRIES_KEPT)
        # Every entry after `_floor` up to `_head` is in `_kept`.
        self._floor = self._head = 0
        self._version: int | None = None
        self._listeners = 0
        self._generation = 0
        self._closing = False
        # Since when every round failed; None while they succeed.
        self._failing_since: float | None = None
        self._said_following = True
        self._news = asyncio.Event()
        self._wanted = asyncio.Event()

    # -------------------------------------------------------------- the follower

    async def follow(self) -> None:
        """Follow the journal while there are listeners."""
        while not self._closing:
            await self._wanted.wait()
            self._note_outcome(await self._round())
            await asyncio.sleep(POLL_S)

    async def _round(self) -> bool:
        """Read every new entry; a failure is retried in the next round."""
        try:
            while await self._advanced():
                pass
        except YaokiError:
            return False
        except Exception:  # noqa: BLE001 - a bug of ours must not end live updates
            if self._failing_since is None:
                print(self._context.mask(traceback.format_exc()), file=sys.stderr, flush=True)
            return False
        return True

    def _note_outcome(self, well: bool) -> None:
        if well:
            self._failing_since = None
        elif self._failing_since is None:
            self._failing_since = _clock()
        if self._said_following != self.is_following:
            self._said_following = self.is_following
            self._tell()

    @property
    def is_following(self) -> bool:
        """Do listeners get new entries?  A short fault does not count: no entry is lost."""
        since = self._failing_since
        return since is None or _clock() - since < self._stall_s

    async def _advanced(self) -> bool:
        """True after a full page: there may be more."""
        try:
            found = await to_thread.run_sync(self._poll)
        except StoreCorrupt:
            await to_thread.run_sync(self._context.reopen)
            self._replaced()
            return False
        if found:
            self._kept.extend(found)
            self._head = found[-1].seq
            if len(self._kept) == ENTRIES_KEPT:
                self._floor = max(self._floor, self._kept[0].seq - 1)
            self._tell()
        return len(found) == PAGE

    def _poll(self) -> list[EncodedEntry]:
        if not self._context.has_store:
            return []
        store = self._context.app.store
        store.database.refuse_if_replaced()
        version = store.version()
        if version == self._version:
            return []
        found = store.journal(after=self._head, limit=PAGE)
        if len(found) < PAGE:
            self._version = version
        return [self._ready(entry) for entry in found]

    def _ready(self, entry: JournalEntry) -> EncodedEntry:
        try:
            shown = self._context.mask(entry_with_words(self._context, entry))
            return EncodedEntry(entry.seq, entry.run_id, encode_frame("journal", shown, entry.seq))
        except YaokiError:
            raise
        except Exception:  # noqa: BLE001 - an entry that cannot be shown must not stop the others
            print(f"journal entry {entry.seq}:", file=sys.stderr)
            print(self._context.mask(traceback.format_exc()), file=sys.stderr, flush=True)
            return EncodedEntry(
                entry.seq, entry.run_id, encode_frame("journal", _slim_document(entry), entry.seq)
            )

    def _replaced(self) -> None:
        self._generation += 1
        self._kept.clear()
        self._floor = self._head = 0
        self._version = None
        self._wanted.clear()
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def close(self) -> None:
        self._closing = True
        self._wanted.set()
        self._tell()

    # -------------------------------------------------------------- who listens

    def require_room(self) -> None:
        if self._listeners >= LISTENERS_MAX:
            hint = "close a page that is open elsewhere"
            raise RequestRejected(
                429, "TOO_MANY", f"{LISTENERS_MAX} listeners are connected already", hint=hint
            )

    async def listen(self, after: int | None, run_id: str) -> AsyncIterator[bytes]:
        self._listeners += 1
        try:
            async for piece in self._stream(after, run_id):
                yield piece
        finally:
            self._listeners -= 1
            if not self._listeners:
                self._wanted.clear()

    async def _stream(self, after: int | None, run_id: str) -> AsyncIterator[bytes]:
        yield RETRY_FRAME
        end = await self._start_following()
        if after is not None and after > end:
            yield encode_frame(
                "gone", {"why": "the journal ends before this cursor; reload the page"}
            )
            return
        cursor, generation = end if after is None else after, self._generation
        spoken, well = _clock(), self.is_following
        yield encode_frame("hello", {"schema": 1, **self._beat(cursor)}, cursor)
        while not self._closing and generation == self._generation:
            news = self._news
            if cursor < self._head:
                frames, cursor = await self._next(cursor, run_id)
                for piece in frames:
                    yield piece
                    spoken = _clock()
            else:
                with suppress(TimeoutError):
                    await asyncio.wait_for(news.wait(), max(0.0, spoken + self._beat_s - _clock()))
            if _clock() >= spoken + self._beat_s or well != self.is_following:
                well = self.is_following
                yield encode_frame("beat", self._beat(cursor), cursor)
                spoken = _clock()
        why = (
            "the server is stopping" if self._closing else "the store was replaced; reload the page"
        )
        yield encode_frame("gone", {"why": why})

    async def _start_following(self) -> int:
        """The end of the journal, where the first listener starts the follower."""
        end = await to_thread.run_sync(lambda: self._context.cursor)
        if not self._wanted.is_set():
            self._kept.clear()
            self._floor = self._head = end
            self._version = self._failing_since = None
            self._wanted.set()
        return end

    async def _next(self, cursor: int, run_id: str) -> tuple[Sequence[bytes], int]:
        if cursor >= self._floor:
            # Limited, so that a reconnecting page does not get everything in one piece.
            found = [ready for ready in self._kept if ready.seq > cursor][:PAGE]
            end = found[-1].seq if found else self._head
            return [r.frame for r in found if run_id in ("", r.run_id)], end
        return await to_thread.run_sync(partial(self._missed, cursor, run_id, self._head))

    def _missed(self, cursor: int, run_id: str, head: int) -> tuple[list[bytes], int]:
        """Entries from the journal itself, up to the follower's position."""
        database = self._context.app.store.database
        found = journal_pages.read_forward(database, run_id=run_id, after=cursor, limit=PAGE)
        found = [entry for entry in found if entry.seq <= head]
        end = found[-1].seq if len(found) == PAGE else head
        return [self._ready(entry).frame for entry in found], end

    def _beat(self, cursor: int) -> dict[str, Any]:
        now = self._context.now.isoformat()
        return {"cursor": cursor, "now": now, "following": self.is_following}


def _clock() -> float:
    return asyncio.get_running_loop().time()


def _slim_document(entry: JournalEntry) -> dict[str, Any]:
    """The entry without its words, which could not be made."""
    document = entry_document(entry)
    return {**document, "data": {}, "words": "", "name": None, "cut": True}


def encode_frame(event: str, data: Any, seq: int | None = None) -> bytes:
    text = replace_lone_surrogates(json.dumps(data, ensure_ascii=False, separators=(",", ":")))
    number = f"id: {seq}\n" if seq is not None else ""
    return f"{number}event: {event}\ndata: {text}\n\n".encode()
