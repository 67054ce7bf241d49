"""Text for people: safe to show on any terminal, in plain columns, coloured only where asked."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

import click

from yaoki import views
from yaoki.core.display import one_line, plain
from yaoki.core.model import State
from yaoki.core.redact import mask, secret_values
from yaoki.errors import Fault
from yaoki.faces.cli.text.closed_pipe import ReaderGone
from yaoki.faces.cli.text.wrapping import cells, folded, terminal_cells
from yaoki.ports import Entry, Row
from yaoki.views import OFF_BRANCH, RunView, TaskView, told, waiting_for

COLOURS = {
    State.DONE: "green",
    State.ACTIVE: "cyan",
    State.ESCALATED: "red",
    State.CANCELLED: "yellow",
}
NAME_CHARS = 40
# A question with a command to type must not be cut.
QUESTION_CHARS = 1000
SHOWN_MAX = 60


@cache
def _secrets() -> tuple[str, ...]:
    return secret_values(os.environ)


def clean(text: str) -> str:
    """Foreign text fit for a terminal: no control characters, no secrets."""
    return mask(plain(text), _secrets())


def line(text: str, limit: int = 300) -> str:
    return one_line(clean(text), limit)


def lines_of(text: str) -> list[str]:
    """Foreign text as the lines it has, none of them empty."""
    return [shown for each in text.split("\n") if (shown := line(each, QUESTION_CHARS))]


def coloured() -> bool:
    """Only on a terminal, and never against NO_COLOR."""
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def paint(text: str, colour: str | None) -> str:
    return click.style(text, fg=colour) if colour and coloured() else text


def say(text: str = "") -> None:
    """A line, at once: whoever reads our pipe wants it now."""
    try:
        click.echo(text)
        sys.stdout.flush()
    except OSError as closed:
        # A pipe that nobody reads, or a terminal that was closed.
        if closed.errno not in {errno.EPIPE, errno.EIO}:
            raise Fault(
                f"standard output cannot be written: {closed.strerror}", transient=True
            ) from closed
        raise ReaderGone from closed


def prose(text: str) -> None:
    """A line for people: broken between words where a terminal would break it anywhere."""
    for part in folded(text, terminal_cells()):
        say(part)


def document(data: Mapping[str, Any]) -> None:
    say(json.dumps(masked(data), indent=2))


def masked(value: Any) -> Any:
    """The same data without secrets in any of its texts."""
    return views.masked(value, _secrets())


# ------------------------------------------------------------------ columns


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows set out in columns; the last column is as long as it is."""
    if not rows:
        return []
    sizes = [max(cells(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [_padded(row, sizes).rstrip() for row in rows]


def _padded(row: Sequence[str], sizes: Sequence[int]) -> str:
    padded = [cell + " " * (size - cells(cell)) for cell, size in zip(row, sizes, strict=True)]
    return "  ".join(padded)


# ------------------------------------------------------------------ tasks


def task_lines(views: Iterable[TaskView], now: datetime, names: Mapping[str, str]) -> list[str]:
    """One line per task: number, name, state, attempt, and why it rests."""
    views = list(views)
    rows = [
        (str(v.row.n), line(v.row.name, NAME_CHARS), *_stands(v), _detail(v, now, names))
        for v in views
    ]
    return [
        paint(text, COLOURS.get(v.row.state)) for text, v in zip(columns(rows), views, strict=True)
    ]


def _stands(view: TaskView) -> tuple[str, str]:
    row = view.row
    where = f"{row.state.value} {row.stage}" if row.state is State.ACTIVE else row.state.value
    return where, f"attempt {row.attempt}" if row.attempt else ""


def _detail(view: TaskView, now: datetime, names: Mapping[str, str]) -> str:
    row = view.row
    match row.state:
        case State.ESCALATED:
            return line(f"{view.reason}: {row.question}")
        case State.DONE:
            lost = f"  {OFF_BRANCH}" if view.on_branch is False else ""
            ended = f"  {agent_words(row)}" if row.agent_ended else ""
            return f"{row.landed[:10]}{lost}{ended}"
        case State.WAITING:
            reason = f"{view.reason}: " if view.blocked else ""
            return line(reason + waiting_for(view, now, names))
        case State.ACTIVE:
            if row.cancel_wanted:
                return "being cancelled"
            return f"{row.agent}  {view.lacks}" if view.lacks else row.agent
        case State.CANCELLED | State.REPLACED:
            return ""


def agent_words(row: Row) -> str:
    """How the agent of landed work ended, where that was not with exit code 0."""
    return f"its agent: {row.agent_ended}" if row.agent_ended else ""


def names_of(view: RunView) -> dict[str, str]:
    return {task.row.id: task.row.name for task in view.tasks}


def foremost(view: RunView, limit: int = SHOWN_MAX) -> list[TaskView]:
    """All tasks of a small run; of a big one those that matter most, in their order."""
    if len(view.tasks) <= limit:
        return list(view.tasks)
    order = [State.ESCALATED, State.ACTIVE, State.CANCELLED, State.WAITING, State.DONE]
    places = {state: place for place, state in enumerate(order)}
    ranked = sorted(view.tasks, key=lambda task: places.get(task.row.state, len(order)))
    return sorted(ranked[:limit], key=lambda task: task.row.n)


# ------------------------------------------------------------------ the journal


def story_line(entry: Entry, name: str) -> str:
    """`12:03:04 password  attempt 2  landed 1a2b3c4d5e`; empty for what is of no interest."""
    words = told(entry)
    if not words:
        return ""
    attempt = f"  attempt {entry.attempt}" if entry.attempt else ""
    return f"{clock(entry.at)} {line(name, NAME_CHARS)}{attempt}  {line(words, QUESTION_CHARS)}"


def clock(moment: datetime) -> str:
    """The time of day where the reader is."""
    return moment.astimezone().strftime("%H:%M:%S")


def when(moment: datetime) -> str:
    """The day and the time of it."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def next_command(command: str) -> None:
    if command:
        say(f"next: {command}")
