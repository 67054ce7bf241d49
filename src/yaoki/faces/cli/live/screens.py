"""The output of a run while it runs: plain lines, a live table, or nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from yaoki.faces.cli.live.account_waits import AccountWaits
from yaoki.faces.cli.live.progress import RunProgress
from yaoki.faces.text.closed_pipe import ReaderGone
from yaoki.faces.text.render import paint, print_wrapped, story_line
from yaoki.ports import JournalEntry
from yaoki.views.wait_text import COMMAND_FROM

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run

NAMES_KEPT = 10_000
EVENT_COLOURS = {
    "TASK_LANDED": "green",
    "ESCALATE_DECISION": "red",
    "RETRY_DECISION": "yellow",
    "TASK_CANCELLED": "yellow",
}


class Screen(Protocol):
    """Gets every new journal entry and is drawn several times a second.

    `reader_left`: the reader has closed the screen.  `has_open_answer`: an answer is being typed,
    which the end of the run must not interrupt.  `answers_sent` counts the answers.
    """

    reader_left: bool
    answers_sent: int

    @property
    def has_open_answer(self) -> bool: ...

    def add_entries(self, entries: Sequence[JournalEntry]) -> None: ...

    def draw(self, note: str) -> None:
        """`note` is a message for the reader, for example that a stop was requested."""

    def read_keys(self) -> bool:
        """Was a key pressed, so that the screen must be drawn again?"""

    def close(self) -> None: ...


class SilentScreen:
    """Shows nothing."""

    reader_left = has_open_answer = False
    answers_sent = 0

    def add_entries(self, entries: Sequence[JournalEntry]) -> None: ...

    def draw(self, note: str) -> None: ...

    def read_keys(self) -> bool:
        return False

    def close(self) -> None: ...


class LineScreen:
    """One line per interesting entry, flushed for pipes."""

    reader_left = has_open_answer = False
    answers_sent = 0

    def __init__(self, app: App, run: Run) -> None:
        self._app = app
        self._progress = RunProgress(app, run)
        self._waits = AccountWaits(app, run)
        self._names: dict[str, str] = {}
        self._noted = ""
        self._closed = False

    def add_entries(self, entries: Sequence[JournalEntry]) -> None:
        for entry in entries:
            text = story_line(entry, self._name(entry.task_id) if entry.task_id else "run")
            if text:
                text += _end_of_delay(entry)
                self._print(paint(text, EVENT_COLOURS.get(entry.event)))

    def _name(self, task_id: str) -> str:
        if task_id not in self._names:
            if len(self._names) >= NAMES_KEPT:
                self._names.clear()
            self._names[task_id] = self._app.reads.task(task_id).spec.name
        return self._names[task_id]

    def _print(self, text: str) -> None:
        """A reader that went away must not end the run."""
        if self._closed:
            return
        try:
            print_wrapped(text)
        except ReaderGone:
            self._closed = True

    def draw(self, note: str) -> None:
        if note != self._noted:
            self._noted = note
            self._print(note)
        for line in self._waits.new_lines():
            self._print(paint(line, "yellow"))
        for line in self._progress.due_lines():
            self._print(paint(line, "bright_black"))

    def read_keys(self) -> bool:
        return False

    def close(self) -> None: ...


def _end_of_delay(entry: JournalEntry) -> str:
    """The command that ends a long delay of one task; a closed account has a line of its own."""
    if entry.event != "RETRY_DECISION" or entry.data["failure"].get("account_problem"):
        return ""
    is_long = timedelta(milliseconds=entry.data["delay_ms"]) >= COMMAND_FROM
    return f": yaoki retry {entry.task_id}" if is_long else ""


def choose_screen(app: App, run: Run, *, quiet: bool, may_leave: bool = False) -> Screen:
    """A live table on a terminal that can move its cursor; plain lines elsewhere.

    `may_leave`: the reader may close the screen while the run continues.
    """
    if quiet:
        return SilentScreen()
    if not can_move_cursor():
        return LineScreen(app, run)
    from yaoki.faces.cli.live.tui import LiveTable

    return LiveTable(app, run, may_leave=may_leave)


def can_move_cursor() -> bool:
    """Can the cursor of this output be moved?"""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
