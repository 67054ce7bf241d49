"""The log of a worker: text for people, or one JSON object per line for log collectors."""

from __future__ import annotations

import io
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import click

from yaoki.errors import StoreError
from yaoki.faces.text.render import QUESTION_CHARS, clean_line, clean_text, print_line
from yaoki.ports import JournalEntry
from yaoki.ports.spans import derive_trace_id
from yaoki.views import describe_entry

if TYPE_CHECKING:
    from yaoki.app.build import App

PrintLine = Callable[[str], None]
POLL_S = 0.5
PAGE = 1000
WARNING_LEVEL_EVENTS = frozenset(
    {"ESCALATE_DECISION", "RETRY_DECISION", "LEASE_EXPIRED", "RESULT_REFUSED", "DEAD_LETTERED"}
    | {"WARNING", "BUDGET_WARNING", "CHECKOUT_CHANGED", "RERUN_HELD"}
)
OVER_EVENTS = frozenset({"TASK_LANDED", "TASK_CANCELLED", "TASK_REPLACED"})
log_format_option = click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The format of the worker's log; json has one object per line, also for task events.",
)


@contextmanager
def open_worker_log(app: App, form: str) -> Iterator[PrintLine]:
    """Open the log in this format; warnings on standard error get the same format."""
    if form != "json":
        yield print_line
        return
    journal = JournalRecords(app)
    under, sys.stderr = sys.stderr, RecordStream(app, sys.stderr)
    try:
        with journal.follow_in_background():
            yield lambda words: _print_record(app, sys.stdout, "info", message=words)
    finally:
        sys.stderr = under


def _print_record(app: App, out: TextIO, level: str, **fields: Any) -> None:
    """Exactly one line, whatever the text is."""
    known = {name: value for name, value in fields.items() if value not in ("", None)}
    record = {"at": app.clock.now().isoformat(), "level": level, **known}
    out.write(json.dumps(record) + "\n")
    out.flush()


class RecordStream(io.TextIOBase):
    """Replaces standard error: each line that is written becomes a record."""

    def __init__(self, app: App, under: TextIO) -> None:
        self._app, self._under = app, under
        self._open = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *full_lines, self._open = (self._open + text).split("\n")
        for words in filter(str.strip, full_lines):
            _print_record(self._app, self._under, "warning", message=clean_text(words))
        return len(text)


class JournalRecords:
    """Follows the journal for the tasks that this worker runs, and for runs as a whole."""

    def __init__(self, app: App) -> None:
        from yaoki.adapters.system.machine import current_holder

        self._app, self._holder = app, current_holder()
        self._over = threading.Event()
        self._after = app.reads.last_seq()
        self._last_version = -1
        self._own_tasks: set[str] = set()

    @contextmanager
    def follow_in_background(self) -> Iterator[None]:
        thread = threading.Thread(target=self._loop, name="log")
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _loop(self) -> None:
        """Read once more after the end; the worker itself reports errors of the store."""
        try:
            while not self._over.wait(POLL_S):
                self._read_journal()
            self._read_journal()
        except StoreError:
            return

    def _read_journal(self) -> None:
        version = self._app.reads.version()
        if version == self._last_version:
            return
        self._last_version = version
        while page := self._app.reads.journal(after=self._after, limit=PAGE):
            self._after = page[-1].seq
            for entry in page:
                self._print_entry(entry)

    def _print_entry(self, entry: JournalEntry) -> None:
        if entry.event == "TASK_CLAIMED":
            is_ours = str(entry.data["holder"]).startswith(self._holder)
            (self._own_tasks.add if is_ours else self._own_tasks.discard)(entry.task_id)
        if entry.task_id and entry.task_id not in self._own_tasks:
            return
        _print_record(
            self._app,
            sys.stdout,
            "warning" if entry.event in WARNING_LEVEL_EVENTS else "info",
            event=entry.event,
            seq=entry.seq,
            happened=entry.at.isoformat(),
            run=entry.run_id,
            task=entry.task_id,
            attempt=entry.attempt or None,
            message=clean_line(describe_entry(entry), QUESTION_CHARS),
            trace_id=derive_trace_id(entry.run_id).hex(),
        )
        if entry.event in OVER_EVENTS:
            self._own_tasks.discard(entry.task_id)
