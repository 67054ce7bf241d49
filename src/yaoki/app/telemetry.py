"""Metrics and traces of a repository."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki import __version__
from yaoki.adapters.store.tables import journal_pages
from yaoki.adapters.system.files import write_atomically
from yaoki.core.model import State
from yaoki.core.redact import mask, secret_values
from yaoki.errors import Fault
from yaoki.ports.metric_families import Sample
from yaoki.views.telemetry.counters import COUNTED_EVENTS, Counters

if TYPE_CHECKING:
    from yaoki.adapters.telemetry.trace_export import TraceExporter
    from yaoki.app.build import App

PAGE = 2_000
# About a second of work on a small machine; the next scrape continues from there.
ENTRIES_PER_SCRAPE = 40_000
FILE = "metrics.json"
BYTES_MAX = 16 << 20


class Metrics:
    """Counters follow the journal by its cursor; the current state is read at each scrape.

    The counters are stored in a file, so that neither a restart nor the archiving of old runs
    decreases them, and a long journal is read only once.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._turn = threading.Lock()
        self._counters, self._after = Counters(), 0
        self._loaded = False

    def render(self) -> str:
        """In Prometheus' text format."""
        from yaoki.adapters.telemetry.prometheus import format_samples

        with self._turn:
            samples = list(self._samples()) if self._app.has_store else list(_empty_samples())
        known = secret_values(os.environ)
        return mask(
            format_samples([Sample("yaoki_info", "yaoki_info", _VERSION, 1.0), *samples]), known
        )

    def _samples(self) -> Iterator[Sample]:
        end = self._app.store.last_seq()
        complete = self._follow_journal(end)
        yield _gauge("yaoki_journal_seq", end)
        yield _gauge("yaoki_metrics_complete", complete)
        yield from self._current_samples()
        yield from self._counters.samples()

    # -------------------------------------------------------------- the journal

    def _follow_journal(self, end: int) -> bool:
        """A journal that ends before our cursor is another journal: counting starts again."""
        self._load()
        if end < self._after:
            self._counters, self._after = Counters(), 0
        before = self._after
        complete = self._read(end)
        if self._after != before:
            self._save()
        return complete

    def _read(self, end: int) -> bool:
        database = self._app.store.database
        for _ in range(ENTRIES_PER_SCRAPE // PAGE):
            page = journal_pages.read_forward(
                database, events=COUNTED_EVENTS, after=self._after, limit=PAGE
            )
            for entry in page:
                self._counters.count_entry(entry)
            self._after = page[-1].seq if page else self._after
            if len(page) < PAGE:
                self._after = max(self._after, end)
                return True
        return False

    @property
    def _file(self) -> Path:
        return self._app.yaoki_folder / FILE

    @property
    def _mark(self) -> str:
        url = self._app.settings.store.url
        return hashlib.sha256(url.encode()).hexdigest()[:16]

    def _load(self) -> None:
        """An unreadable file means counting again: the journal is the truth, the file only saves
        time.
        """
        if self._loaded:
            return
        self._loaded = True
        with suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
            with self._file.open("rb") as stream:
                data = json.loads(stream.read(BYTES_MAX))
            if data["store"] == self._mark:
                self._counters, self._after = Counters.from_data(data), int(data["after"])

    def _save(self) -> None:
        data = {"store": self._mark, "after": self._after, **self._counters.to_data()}
        # Where nothing can be written, the next process counts from the beginning.
        with suppress(Fault):
            write_atomically(self._file, json.dumps(data).encode())

    # -------------------------------------------------------------- the current state

    def _current_samples(self) -> Iterator[Sample]:
        store, tasks, runs = self._app.store, Counter[str](), Counter[str]()
        for run in store.runs():
            for (state, _), n in store.count_by_state(run.id).items():
                tasks[state.value] += n
            runs["finished" if run.finished_at else "paused" if run.pause_reason else "open"] += 1
        for state in State:
            yield _gauge("yaoki_tasks", tasks[state.value], state=state.value)
        for status in ("open", "paused", "finished"):
            yield _gauge("yaoki_runs", runs[status], status=status)
        live = self._app.services.list_live_workers()
        yield _gauge("yaoki_workers", len(live))
        yield _gauge("yaoki_slots", sum(seen.worker.slots for seen in live))
        now = self._app.clock.now()
        limited = sum(account.until > now for account in store.accounts())
        yield _gauge("yaoki_accounts_limited", limited)


_VERSION = (("version", __version__),)


def _gauge(name: str, value: float, **labels: str) -> Sample:
    return Sample(name, name, tuple(labels.items()), float(value))


def _empty_samples() -> Iterator[Sample]:
    """Before the first run."""
    yield _gauge("yaoki_metrics_complete", 1)
    for name in ("yaoki_journal_seq", "yaoki_workers", "yaoki_slots"):
        yield _gauge(name, 0)
    yield from Counters().samples()


# ------------------------------------------------------------------ traces


def open_trace_exporter(app: App, warn: Callable[[str], None]) -> TraceExporter | None:
    """The trace of this repository's runs, where the environment names a collector."""
    from yaoki.adapters.telemetry.collector import find_collector

    collector = find_collector(os.environ, warn)
    if collector is None:
        return None
    from yaoki.adapters.telemetry.trace_export import TraceExporter
    from yaoki.views.telemetry.trace import TraceBuilder

    known = secret_values(os.environ)

    return TraceExporter(
        app.store,
        collector,
        app.yaoki_folder / "traces.json",
        make_builder=TraceBuilder,
        journal_end=app.store.last_seq,
        clock=app.clock,
        mask_secrets=lambda text: mask(text, known),
        warn=warn,
    )
