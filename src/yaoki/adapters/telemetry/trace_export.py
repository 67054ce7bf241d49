"""Sends traces in the background: the journal is the buffer, and a cursor marks what was sent.

If the collector is unavailable, the cursor stays and a warning is printed; this process or the next
one sends the same spans later.
"""

from __future__ import annotations

import fcntl
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Protocol

from yaoki.adapters.system.files import write_atomically
from yaoki.adapters.telemetry.collector import Collector, ExportFailed
from yaoki.core.lazy_dataclass import replace
from yaoki.errors import Fault, YaokiError
from yaoki.ports import Clock, JournalEntry, JournalReads
from yaoki.ports.spans import AttributeValue, Span

EXPORT_INTERVAL_S = 1.0
PAGE = 500
TASK_ENTRIES_MAX = 5_000
SPANS_PER_REQUEST = 500
RETRY_DELAYS = tuple(timedelta(seconds=s) for s in (1, 2, 5, 10, 30, 60))
# At the end of the work the remaining spans are sent, within this limit.
LAST_EXPORT_TIMEOUT = timedelta(seconds=5)


# The entries of a task before one of them.
TaskJournal = Callable[[str, int], Iterable[JournalEntry]]


class SpanBuilder(Protocol):
    def add(self, entry: JournalEntry) -> list[Span]:
        """The spans that this entry ends."""


class TraceExporter:
    """Only one process per clone sends; the others wait for the lock."""

    def __init__(
        self,
        store: JournalReads,
        collector: Collector,
        file: Path,
        *,
        make_builder: Callable[[TaskJournal], SpanBuilder],
        journal_end: Callable[[], int],
        clock: Clock,
        mask_secrets: Callable[[str], str],
        warn: Callable[[str], None],
    ) -> None:
        self._store, self._collector, self._file, self._journal_end = (
            store,
            collector,
            file,
            journal_end,
        )
        self._clock, self._mask_secrets, self._warn = clock, mask_secrets, warn
        self._stop = threading.Event()
        self._lock: IO[bytes] | None = None
        self._builder = make_builder(self._task_journal)
        self._cursor, self._page_end = 0, 0
        self._pending: list[Span] = []
        self._failures = 0
        self._not_before: datetime | None = None
        self._skipped: tuple[int, frozenset[str]] = (0, frozenset())
        self._last_warning = ""

    @contextmanager
    def in_background(self) -> Iterator[None]:
        """Exports in a thread; a failure never affects the work."""
        thread = threading.Thread(target=self._warn_on_error, args=(self._loop,), name="traces")
        thread.daemon = True
        # Take the lock before the work: a run may finish before the first export.
        if self._warn_on_error(self._take_lock):
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            if thread.ident is not None:
                thread.join(LAST_EXPORT_TIMEOUT.total_seconds())
            self._release()

    def _warn_on_error(self, act: Callable[[], object]) -> bool:
        """False if `act` failed; every error becomes a warning."""
        try:
            act()
        except YaokiError as error:
            self._warn_once(f"traces are no longer sent: {error.sentence}")
            return False
        except Exception as error:  # noqa: BLE001 - a defect of yaoki must not stop a run
            self._warn_once(f"traces are no longer sent: {error!r}")
            return False
        return True

    def _loop(self) -> None:
        while not self._stop.wait(EXPORT_INTERVAL_S):
            self.export_page()
        deadline = self._clock.now() + LAST_EXPORT_TIMEOUT
        while self.export_page() and self._clock.now() < deadline:
            pass

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.close()

    # -------------------------------------------------------------- one page

    def export_page(self) -> bool:
        """Sends the next page; true if there may be more."""
        if not self._take_lock() or not self._is_due():
            return False
        if not self._pending:
            page = self._read_page()
            if not page:
                return False
            self._page_end = page[-1].seq
            self._pending = [span for entry in page for span in self._spans(entry)]
        return self._send_pending()

    def _read_page(self) -> list[JournalEntry]:
        return self._store.journal(after=self._cursor, limit=PAGE)

    def _spans(self, entry: JournalEntry) -> Iterable[Span]:
        skip_until, runs = self._skipped
        if entry.seq <= skip_until and entry.run_id not in runs:
            return ()
        return [self._mask_span(span) for span in self._builder.add(entry)]

    def _send_pending(self) -> bool:
        try:
            while self._pending:
                self._collector.send(self._pending[:SPANS_PER_REQUEST])
                del self._pending[:SPANS_PER_REQUEST]
        except ExportFailed as error:
            self._note_failure(error)
            if error.is_retryable:
                return False
            # A final refusal: skip these spans and continue with the next ones.
            self._pending.clear()
        else:
            self._failures, self._last_warning = 0, ""
        self._cursor = self._page_end
        self._save()
        return True

    def _note_failure(self, error: ExportFailed) -> None:
        wait = RETRY_DELAYS[min(self._failures, len(RETRY_DELAYS) - 1)]
        self._failures += 1
        self._not_before = self._clock.now() + wait if error.is_retryable else None
        consequence = (
            "; will retry, nothing is lost" if error.is_retryable else "; those spans are left out"
        )
        self._warn_once(f"traces: {error}{consequence}")

    def _is_due(self) -> bool:
        return self._not_before is None or self._clock.now() >= self._not_before

    def _warn_once(self, message: str) -> None:
        """Warns once, until the message changes."""
        if message != self._last_warning:
            self._last_warning = message
            self._warn(message)

    def _mask_span(self, span: Span) -> Span:
        """Masks secrets: names and messages come from plans, agents and checks."""
        attributes: dict[str, AttributeValue] = {
            key: self._mask_secrets(value) if isinstance(value, str) else value
            for key, value in span.attributes.items()
        }
        return replace(span, attributes=attributes, error=self._mask_secrets(span.error))

    def _task_journal(self, task_id: str, before: int) -> Iterable[JournalEntry]:
        entries = self._store.journal(task_id=task_id, limit=TASK_ENTRIES_MAX)
        return [entry for entry in entries if entry.seq < before]

    # -------------------------------------------------------------- lock and cursor

    def _take_lock(self) -> bool:
        """The lock is held until this process ends, even by a crash."""
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
        self._load_cursor()
        return True

    def _load_cursor(self) -> None:
        """Continues at the stored cursor; the first time it starts with the open runs."""
        end = self._journal_end()
        with suppress(OSError, ValueError, LookupError, TypeError):
            document = json.loads(self._file.read_bytes())
            if int(document["after"]) <= end:
                self._cursor = int(document["after"])
                self._skipped = int(document["until"]), frozenset(map(str, document["runs"]))
                return
        first_seqs = {
            run_id: self._first_seq(run_id) for run_id, _, _ in self._store.unfinished_runs()
        }
        self._cursor = min(first_seqs.values(), default=end + 1) - 1
        self._skipped = end, frozenset(first_seqs)
        # The next process starts here even if this one crashes.
        self._save()

    def _first_seq(self, run_id: str) -> int:
        return self._store.journal(run_id=run_id, limit=1)[0].seq

    def _save(self) -> None:
        # If this fails, the next process sends the open runs again.
        with suppress(Fault):
            skip_until, runs = self._skipped
            document = {"after": self._cursor, "until": skip_until, "runs": sorted(runs)}
            write_atomically(self._file, json.dumps(document).encode())
