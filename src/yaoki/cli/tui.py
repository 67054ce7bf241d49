"""The live table on a terminal: questions first, then what is at work, then what waits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from yaoki.cli.board import Board
from yaoki.cli.render import COLOURS, line, names_of
from yaoki.core.model import Stage, State
from yaoki.ports import Entry
from yaoki.views import RunView, TaskView, waiting_for

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import Run

# Head, bar, column names, counts and note take so many lines of the screen.
FRAME_LINES = 8
BAR_CHARS = 40
ORDER = {state: n for n, state in enumerate((State.ESCALATED, State.ACTIVE, State.WAITING))}


class LiveTable:
    """Redraws one table in place until it is closed."""

    def __init__(self, app: App, run: Run, console: Console | None = None) -> None:
        self._app = app
        self._board = Board(app, run)
        self._console = console or Console(highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()

    def take(self, entries: Sequence[Entry]) -> None:
        self._board.take(entries)

    def draw(self, note: str) -> None:
        now = self._app.clock.now()
        self._live.update(self.frame(now, note), refresh=True)

    def close(self) -> None:
        self._live.stop()

    def frame(self, now: datetime, note: str = "") -> RenderableType:
        view = self._board.current(now)
        room = max(3, self._console.size.height - FRAME_LINES)
        parts: list[RenderableType] = [_head(view), _bar(view), self._table(view, now, room)]
        parts.append(Text(_counts(view), style="dim"))
        if note:
            parts.append(Text(note, style="yellow"))
        return Group(*parts)

    def _table(self, view: RunView, now: datetime, room: int) -> Table:
        table = Table(box=None, pad_edge=False, expand=True, header_style="dim")
        for name, ratio in (("", None), ("task", 2), ("state", None), ("try", None), ("", 5)):
            table.add_column(name, ratio=ratio, no_wrap=True, overflow="ellipsis")
        names = names_of(view)
        for task in foremost(view, room):
            row, style = task.row, COLOURS.get(task.row.state, "")
            stands = row.stage if row.state is State.ACTIVE else row.state.value
            cells = (str(row.n), line(row.name, 60), stands, str(row.attempt or ""))
            words = self._words(task, now, names)
            table.add_row(*(Text(cell, style=style) for cell in (*cells, words)))
        return table

    def _words(self, task: TaskView, now: datetime, names: dict[str, str]) -> str:
        row = task.row
        match row.state:
            case State.ESCALATED:
                return line(f"{task.next}  {task.reason}: {row.question}")
            case State.ACTIVE if row.cancel_wanted:
                return "being cancelled"
            case State.ACTIVE if row.stage == Stage.VERIFY:
                return f"check {line(running_check(self._folder(task)), 60)}"
            case State.ACTIVE if row.stage == Stage.WORK:
                return f"agent {line(row.agent, 60)}"
            case State.ACTIVE | State.CANCELLED | State.REPLACED:
                return ""
            case State.WAITING:
                return line(waiting_for(task, now, names))
            case State.DONE:
                return f"landed {row.landed[:10]}"

    def _folder(self, task: TaskView) -> Path:
        row = task.row
        return self._app.folder / row.run_id / row.id / str(row.attempt)


def running_check(folder: Path) -> str:
    """The newest check of an attempt: their folders are named `<number>-<check>`."""
    home = folder / "checks"
    names = [place.name for place in home.iterdir()] if home.is_dir() else []
    numbered = [name.partition("-") for name in names if name.partition("-")[0].isdecimal()]
    return max(numbered, key=lambda parts: int(parts[0]), default=("", "", ""))[2]


def foremost(view: RunView, room: int) -> list[TaskView]:
    """A screenful: who asks, who works, who waits for a date; then the rest, newest last."""

    def place(task: TaskView) -> tuple[int, bool, int]:
        row = task.row
        return ORDER.get(row.state, len(ORDER)), row.due_at is None, row.n

    shown = sorted(view.tasks, key=place)
    return shown[:room]


def _head(view: RunView) -> Text:
    head = Text(f"run {view.run.id} ", style="bold")
    return head.append(line(view.run.goal, 120), style="default")


def _bar(view: RunView) -> Text:
    done, total = view.counts[State.DONE.value], len(view.tasks)
    filled = BAR_CHARS * done // total if total else 0
    bar = Text("━" * filled, style="green").append("━" * (BAR_CHARS - filled), style="bright_black")
    return bar.append(f"  {done}/{total} landed", style="default")


def _counts(view: RunView) -> str:
    told = [f"{n} {state.lower()}" for state, n in view.counts.items() if n]
    blocked = sum(task.blocked for task in view.tasks)
    return ", ".join([*told, *([f"{blocked} blocked"] if blocked else [])])
