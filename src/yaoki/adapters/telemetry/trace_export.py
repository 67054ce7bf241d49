"""Sending the trace beside the work: the journal is the buffer, a cursor says how far it was sent.

A collector that is away costs nothing but a warning: the cursor stays, and the same spans are
sent when it is back, by this process or the next.
"""

from __future__ import annotations

import fcntl
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO

from yaoki.adapters.system.files import write_atomically
from yaoki.adapters.telemetry.collector import Collector, ExportFailed
from yaoki.adapters.telemetry.spans import AttributeValue, Span
from yaoki.adapters.telemetry.trace_builder import TraceBuilder
from yaoki.errors import Fault, YaokiError
from yaoki.ports import Clock, JournalEntry, JournalReads

EXPORT_INTERVAL_S = 1.0
PAGE = 500
TASK_ENTRIES_MAX = 5_000
SPANS_PER_REQUEST = 500
RETRY_DELAYS = tuple(timedelta(seconds=s) for s in (1, 2, 5, 10, 30, 60))
# At the end of the work what is left is sent, but nobody waits longer than this.
LAST_EXPORT_TIMEOUT = timedelta(seconds=5)


class TraceExporter:
    """One process per clone sends; the others wait for their turn."""

    def __init__(
        self,
        store: JournalReads,
        collector: Collector,
        file: Path,
        *,
        journal_end: Callable[[], int],
        clock: Clock,
        mask_secrets: Callable[[str], str],
        warn: Callable[[str], None],
    ) -> None:
        self._store, self._collector, self._file, self._end = store, collector, file, journal_end
        self._clock, self._clean, self._warn = clock, mask_secrets, warn
        self._over = threading.Event()
        self._lock: IO[bytes] | None = None
        self._tracks = TraceBuilder(self._task_journal)
        self._after, self._read_to = 0, 0
        self._pending: list[Span] = []
        self._failures = 0
        self._not_before: datetime | None = None
        self._skipped: tuple[int, frozenset[str]] = (0, frozenset())
        self._told = ""

    @contextmanager
    def in_background(self) -> Iterator[None]:
        """While something else is done, which never fails because of this."""
        thread = threading.Thread(target=self._guarded, args=(self._loop,), name="traces")
        thread.daemon = True
        # Before the work: a run may be over before the first step.
        if self._guarded(self._turn):
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            if thread.ident is not None:
                thread.join(LAST_EXPORT_TIMEOUT.total_seconds())
            self._release()

    def _guarded(self, act: Callable[[], object]) -> bool:
        """Did it go well?  The work goes on whatever happens here."""
        try:
            act()
        except YaokiError as error:
            self._say(f"traces are no longer sent: {error.sentence}")
            return False
        except Exception as error:  # noqa: BLE001 - a mistake of ours must not stop a run
            self._say(f"traces are no longer sent: {error!r}")
            return False
        return True

    def _loop(self) -> None:
        while not self._over.wait(EXPORT_INTERVAL_S):
            self.export_page()
        until = self._clock.now() + LAST_EXPORT_TIMEOUT
        while self.export_page() and self._clock.now() < until:
            pass

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.close()

    # -------------------------------------------------------------- one step

    def export_page(self) -> bool:
        """Send the next page; true when there may be more at once."""
        if not self._turn() or not self._patient():
            return False
        if not self._pending:
            page = self._next()
            if not page:
                return False
            self._read_to = page[-1].seq
            self._pending = [span for entry in page for span in self._spans(entry)]
        return self._sent()

    def _next(self) -> list[JournalEntry]:
        return self._store.journal(after=self._after, limit=PAGE)

    def _spans(self, entry: JournalEntry) -> Iterable[Span]:
        until, runs = self._skipped
        if entry.seq <= until and entry.run_id not in runs:
            return ()
        return [self._cleaned(span) for span in self._tracks.add(entry)]

    def _sent(self) -> bool:
        try:
            while self._pending:
                self._collector.send(self._pending[:SPANS_PER_REQUEST])
                del self._pending[:SPANS_PER_REQUEST]
        except ExportFailed as said:
            self._failed(said)
            if said.is_retryable:
                return False
            # It will not take these at any time, so the next ones get their turn.
            self._pending.clear()
        else:
            self._failures, self._told = 0, ""
        self._after = self._read_to
        self._save()
        return True

    def _failed(self, said: ExportFailed) -> None:
        wait = RETRY_DELAYS[min(self._failures, len(RETRY_DELAYS) - 1)]
        self._failures += 1
        self._not_before = self._clock.now() + wait if said.is_retryable else None
        again = (
            "; tried again, nothing is lost" if said.is_retryable else "; those spans are left out"
        )
        self._say(f"traces: {said}{again}")

    def _patient(self) -> bool:
        return self._not_before is None or self._clock.now() >= self._not_before

    def _say(self, words: str) -> None:
        """Once, until it changes."""
        if words != self._told:
            self._told = words
            self._warn(words)

    def _cleaned(self, span: Span) -> Span:
        """Names and messages come from plans, agents and checks."""
        told: dict[str, AttributeValue] = {
            key: self._clean(value) if isinstance(value, str) else value
            for key, value in span.attributes.items()
        }
        return replace(span, attributes=told, error=self._clean(span.error))

    def _task_journal(self, task_id: str, before: int) -> Iterable[JournalEntry]:
        found = self._store.journal(task_id=task_id, limit=TASK_ENTRIES_MAX)
        return [entry for entry in found if entry.seq < before]

    # -------------------------------------------------------------- whose turn, and from where

    def _turn(self) -> bool:
        """Held until this process ends, however it ends."""
        if self._lock is not None:
            return True
        lock = None
        try:
            lock = self._file.with_suffix(".lock").open("ab")
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if lock is not None:
                lock.close()
            return False
        self._lock = lock
        self._begin()
        return True

    def _begin(self) -> None:
        """Where the last one stopped; the first time, with the runs that are open now."""
        end = self._end()
        with suppress(OSError, ValueError, LookupError, TypeError):
            held = json.loads(self._file.read_bytes())
            if int(held["after"]) <= end:
                self._after = int(held["after"])
                self._skipped = int(held["until"]), frozenset(map(str, held["runs"]))
                return
        firsts = {run_id: self._first(run_id) for run_id, _, _ in self._store.unfinished_runs()}
        self._after = min(firsts.values(), default=end + 1) - 1
        self._skipped = end, frozenset(firsts)
        # So that the next one begins here, whatever becomes of this one.
        self._save()

    def _first(self, run_id: str) -> int:
        return self._store.journal(run_id=run_id, limit=1)[0].seq

    def _save(self) -> None:
        # Where nothing can be written, the next process sends the open runs once more.
        with suppress(Fault):
            until, runs = self._skipped
            held = {"after": self._after, "until": until, "runs": sorted(runs)}
            write_atomically(self._file, json.dumps(held).encode())
