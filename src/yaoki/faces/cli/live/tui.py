"""The live table on a terminal: questions first, then active tasks, then waiting ones."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from yaoki.core.text import format_duration
from yaoki.faces.cli.live import panels
from yaoki.faces.cli.live.deferred_output import DeferredOutput
from yaoki.faces.cli.live.keys import Keys, terminal_keys
from yaoki.faces.cli.live.layout import Layout, TaskListing
from yaoki.faces.cli.live.task_table import TaskTable
from yaoki.faces.text.glyphs import Glyphs, glyphs_for_locale
from yaoki.ports import JournalEntry
from yaoki.views import RunView, TaskView

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run

# How long an open answer delays the end of a run after the last key.
ANSWER_IDLE_MAX = timedelta(minutes=10)
TERMINATED = 128 + signal.SIGTERM
STEPS = {"j": 1, "down": 1, "k": -1, "up": -1, "page-down": 10, "page-up": -10}
PANEL_KEYS: Mapping[str, Callable[[App, TaskView], panels.Panel]] = {
    "w": panels.why_panel,
    "enter": panels.why_panel,
    "l": panels.log_panel,
    "d": panels.diff_panel,
    "a": panels.answer_panel,
}


class LiveTable:
    """Takes the screen until it is closed, and then restores it.

    `may_leave`: the reader may close the table before the run is finished.
    """

    def __init__(self, app: App, run: Run, *, may_leave: bool = False) -> None:
        self._app, self._leave = app, may_leave
        self._board = TaskTable(app, run)
        self._console = Console(highlight=False)
        self._glyphs: Glyphs = glyphs_for_locale()
        self._panel: panels.Panel | None = None
        self._listing: TaskListing | None = None
        self._chosen = ""
        self._closed = False
        self._said = ""
        self.reader_left = False
        self.answers_sent = 0
        # Until the screen is restored, other output would be lost in it.
        self._kept = DeferredOutput(sys.stderr)
        self._keys: Keys | None = terminal_keys(app.clock)
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            screen=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        if may_leave:
            signal.signal(signal.SIGTERM, _end_process)
        sys.stderr = self._kept
        self._live.start()

    def add_entries(self, entries: Sequence[JournalEntry]) -> None:
        self._board.add_entries(entries)

    def draw(self, note: str) -> None:
        now = self._app.clock.now()
        width, height = self._console.size
        lines = self.frame(now, note, width, height)
        fitted = [_fit(text, width, self._glyphs) for text in lines[:height]]
        self._live.update(Group(*fitted), refresh=True)

    @property
    def has_open_answer(self) -> bool:
        """An answer is open, and a person is typing it."""
        here = self._keys is not None and self._keys.idle < ANSWER_IDLE_MAX
        return here and self._panel is not None and self._panel.has_open_answer

    def close(self) -> None:
        """Idempotent; typed and unsent input is printed as a command."""
        if self._closed:
            return
        self._closed = True
        self._live.stop()
        if self._keys is not None:
            self._keys.close()
        sys.stderr = self._kept.underlying
        self._kept.print_lines()
        if self._panel is not None and self._panel.unsent:
            print(f"not sent: {self._panel.unsent}", file=sys.stderr, flush=True)

    # -------------------------------------------------------------- keys

    def read_keys(self) -> bool:
        """Was any key pressed that may change the screen?"""
        found = self._keys.read() if self._keys is not None else []
        for key in found:
            self._press(key)
        return bool(found)

    def _press(self, key: str) -> None:
        self._said = ""
        if self._panel is not None:
            self._panel.press(key)
            if self._panel.is_closed:
                self._return_to_table(self._panel.outcome)
        elif key in {"q", "escape"}:
            self._request_leave()
        elif key == "?":
            self._panel = panels.help_panel(leave=self._leave)
        else:
            self._press_on_task(key)

    def _return_to_table(self, message: str) -> None:
        """Back to the table; an answer needs a worker that continues the run."""
        self._said, self._panel = message, None
        if not message:
            return
        self.answers_sent += 1
        if self._leave and not self._app.services.list_live_workers():
            self._said += f"; no worker is running this run: yaoki resume {self._board.view.run.id}"

    def _request_leave(self) -> None:
        self.reader_left = self._leave
        if not self._leave:
            self._said = "this terminal runs the tasks; Ctrl-C stops the run, nothing is lost"

    def _press_on_task(self, key: str) -> None:
        tasks = self._list_tasks(self._board.view).tasks
        if not tasks:
            return
        ids: list[str] = [task.row.id for task in tasks]
        at = ids.index(self._chosen) if self._chosen in ids else 0
        if key in PANEL_KEYS:
            self._chosen = ids[at]
            self._panel = PANEL_KEYS[key](self._app, tasks[at])
            return
        first = self._chosen not in ids and STEPS.get(key, 0) > 0
        at = {"g": 0, "home": 0, "G": len(ids) - 1, "end": len(ids) - 1}.get(
            key, at + (0 if first else STEPS.get(key, 0))
        )
        self._chosen = ids[max(0, min(at, len(ids) - 1))]

    # -------------------------------------------------------------- what is shown

    def frame(self, now: datetime, note: str, width: int, height: int) -> list[Text]:
        message = " ".join(filter(None, (self._said, note, self._kept.last_line)))
        if self._panel is not None:
            return _compose_panel(self._panel, message, width, height)
        view = self._board.current_view(now)
        listing = self._list_tasks(view)
        layout = Layout(listing, self._board, self._glyphs, now, self._running_command)
        keys = self._keys is not None
        chosen = self._chosen if keys else ""
        return layout.lines(width, height, chosen, message, keys=keys, may_leave=self._leave)

    def _list_tasks(self, view: RunView) -> TaskListing:
        if self._listing is None or self._listing.view is not view:
            self._listing = TaskListing(view)
        return self._listing

    def _running_command(self, task: TaskView) -> str:
        from yaoki.app.running_commands import find_running_command

        found = find_running_command(self._app, task.row)
        return f"{found.words}, {format_duration(round(found.seconds))}" if found else ""


def _end_process(*_: object) -> None:
    """Close, so that the screen is restored."""
    raise SystemExit(TERMINATED)


def _compose_panel(panel: panels.Panel, message: str, width: int, height: int) -> list[Text]:
    """A head, the text, and the keys in the last line."""
    room = max(1, height - (3 if message else 2))
    shown = list(panel.lines(width, room))
    body = [Text(text) for text in [*shown, *[""] * (room - len(shown))]]
    notes = [Text(message, style="yellow")] if message else []
    return [Text(panel.title, style="bold"), *body, *notes, Text(panel.keys, style="dim")]


def _fit(text: Text, width: int, glyphs: Glyphs) -> Text:
    if not glyphs.unicode:
        # Each letter is replaced by one letter, so styles keep their place.
        text.plain = glyphs.to_terminal(text.plain)
    text.no_wrap = True
    text.truncate(width, overflow="ellipsis" if glyphs.unicode else "crop")
    return text
