"""Text for people: safe to show on any terminal, in plain columns, coloured only where asked."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from yaoki.core.model import State
from yaoki.core.model.names import explain_check_name
from yaoki.core.redact import mask, secret_values
from yaoki.core.text import first_sentences, format_duration, one_line, strip_terminal_codes
from yaoki.errors import Fault
from yaoki.faces.text.closed_pipe import ReaderGone
from yaoki.faces.text.line_wrap import cell_width, terminal_width, wrap_line
from yaoki.views.tasks import OFF_BRANCH, is_proof
from yaoki.views.wait_text import describe_wait, describe_wait_and_command

if TYPE_CHECKING:
    from yaoki.ports import JournalEntry, TaskRow
    from yaoki.views.tasks import RunView, TaskView

COLOURS = {
    State.DONE: "green",
    State.ACTIVE: "cyan",
    State.ESCALATED: "red",
    State.CANCELLED: "yellow",
}
NAME_CHARS = 40
# A question with a command to type must not be cut.
QUESTION_CHARS = 1000
# A task without a new entry in the journal for this long is worth a look.
SILENCE_FROM = timedelta(minutes=1)
SHOWN_MAX = 60


@cache
def _secrets() -> tuple[str, ...]:
    return secret_values(os.environ)


def clean_text(text: str) -> str:
    """Foreign text made safe for a terminal: no control characters, no secrets."""
    return mask(strip_terminal_codes(text), _secrets())


def clean_line(text: str, limit: int = 300) -> str:
    return one_line(clean_text(text), limit)


def clean_lines(text: str) -> list[str]:
    """The non-empty lines of a foreign text."""
    return [shown for each in text.split("\n") if (shown := clean_line(each, QUESTION_CHARS))]


def uses_colour() -> bool:
    """Only on a terminal, and never against NO_COLOR."""
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def paint(text: str, colour: str | None) -> str:
    if not colour or not uses_colour():
        return text
    import click

    return click.style(text, fg=colour)


def print_line(text: str = "") -> None:
    """A line, flushed at once for readers of a pipe."""
    try:
        _echo(text)
        sys.stdout.flush()
    except OSError as closed:
        # A pipe without a reader, or a closed terminal.
        if closed.errno not in {errno.EPIPE, errno.EIO}:
            raise Fault(
                f"standard output cannot be written: {closed.strerror}", transient=True
            ) from closed
        raise ReaderGone from closed


def _echo(text: str) -> None:
    """Print as `click.echo` does, which removes colours where they are not shown but is slow to
    import.
    """
    if "\x1b" not in text:
        print(text)
        return
    import click

    click.echo(text)


def print_wrapped(text: str) -> None:
    """A line for people: broken between words where a terminal would break it anywhere."""
    for part in wrap_line(text, terminal_width()):
        print_line(part)


def print_document(data: Mapping[str, Any]) -> None:
    print_line(json.dumps(mask_environment_secrets(data), indent=2))


def mask_environment_secrets(value: Any) -> Any:
    """The data with secrets masked in all of its texts."""
    from yaoki.core.redact import mask_document

    return mask_document(value, _secrets())


# ------------------------------------------------------------------ columns


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows aligned in columns; the last column is not padded."""
    if not rows:
        return []
    sizes = [max(cell_width(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [_pad(row, sizes).rstrip() for row in rows]


def _pad(row: Sequence[str], sizes: Sequence[int]) -> str:
    padded = [cell + " " * (size - cell_width(cell)) for cell, size in zip(row, sizes, strict=True)]
    return "  ".join(padded)


# ------------------------------------------------------------------ tasks


def task_lines(
    views: Iterable[TaskView],
    now: datetime,
    names: Mapping[str, str],
    last_events: Mapping[str, datetime] | None = None,
    doubts: Mapping[str, str] | None = None,
) -> list[str]:
    """Lines of tasks: number, name, state, attempt, and the reason of the state.

    `last_events`: when something was last recorded about an active task.  `doubts`: what else is to
    be said about the checks of a landed task.
    """
    views = list(views)
    recorded, doubtful = last_events or {}, doubts or {}
    rows = [
        (
            str(v.row.n),
            clean_line(v.row.name, NAME_CHARS),
            *_state_words(v),
            _detail_words(v, now, names)
            + doubtful.get(v.row.id, "")
            + _silence_words(recorded.get(v.row.id), now),
        )
        for v in views
    ]
    return [
        paint(text, COLOURS.get(v.row.state))
        for text, v in zip(align_columns(rows), views, strict=True)
    ]


def _state_words(view: TaskView) -> tuple[str, str]:
    row = view.row
    where = f"{row.state.value} {row.stage}" if row.state is State.ACTIVE else row.state.value
    # A final check that passed has made nothing that could be attempted again.
    is_verified = row.state is State.DONE and is_proof(view)
    return where, f"attempt {row.attempt}" if row.attempt and not is_verified else ""


def _silence_words(last_event: datetime | None, now: datetime) -> str:
    """For a task about which nothing was recorded for a while: it may be stuck."""
    if last_event is None or now - last_event < SILENCE_FROM:
        return ""
    return f"  last event {format_duration((now - last_event).total_seconds())} ago"


def _detail_words(view: TaskView, now: datetime, names: Mapping[str, str]) -> str:
    row = view.row
    match row.state:
        case State.ESCALATED:
            # The whole question is in `yaoki answer` and `yaoki why`.
            return first_sentences(clean_text(row.question))
        case State.DONE:
            lost = f"  {OFF_BRANCH}" if view.on_branch is False else ""
            ended = f"  {agent_end_words(row)}" if row.agent_exit else ""
            checks = clean_line(", ".join(map(explain_check_name, row.waivers)))
            waived = f"  waived: {checks}" if checks else ""
            undo = f"  {describe_wait(view, now, names)}" if row.undo_requested else ""
            return f"{row.landed_commit[:10]}{lost}{waived}{ended}{undo}"
        case State.WAITING:
            return clean_line(describe_wait_and_command(view, now, names))
        case State.ACTIVE:
            if row.cancel_requested:
                return "being cancelled"
            waits = clean_line(describe_wait(view, now, names))
            return f"{row.agent_title}  {waits}" if waits else row.agent_title
        case State.CANCELLED | State.REPLACED:
            from yaoki.views.plain_words import describe_removal

            return describe_removal(row.state, row.reason)


def agent_end_words(row: TaskRow) -> str:
    """The end of the agent of landed work, if not with exit code 0."""
    return f"its agent: {row.agent_exit}" if row.agent_exit else ""


def task_names(view: RunView) -> dict[str, str]:
    return {task.row.id: task.row.name for task in view.tasks}


def without_replaced_proofs(view: RunView) -> list[TaskView]:
    """All tasks without final checks that were replaced by a later one."""
    return [
        task for task in view.tasks if task.row.state is not State.REPLACED or not is_proof(task)
    ]


def most_important_tasks(view: RunView, limit: int = SHOWN_MAX) -> list[TaskView]:
    """All tasks of a small run; of a big one the most important, in their order."""
    tasks = without_replaced_proofs(view)
    if len(tasks) <= limit:
        return tasks
    order = [State.ESCALATED, State.ACTIVE, State.CANCELLED, State.WAITING, State.DONE]
    places = {state: place for place, state in enumerate(order)}
    ranked = sorted(tasks, key=lambda task: places.get(task.row.state, len(order)))
    return sorted(ranked[:limit], key=lambda task: task.row.n)


# ------------------------------------------------------------------ the journal


def story_line(entry: JournalEntry, name: str) -> str:
    """`12:03:04 password  attempt 2  landed 1a2b3c4d5e`; empty for entries of no interest."""
    from yaoki.views.entry_text import describe_entry

    words = describe_entry(entry)
    if not words:
        return ""
    is_counted = entry.attempt and not entry.data.get("is_verification")
    attempt = f"  attempt {entry.attempt}" if is_counted else ""
    return (
        f"{local_time(entry.at)} {clean_line(name, NAME_CHARS)}{attempt}  "
        f"{clean_line(words, QUESTION_CHARS)}"
    )


def local_time(moment: datetime) -> str:
    """The time of day in the reader's time zone."""
    return moment.astimezone().strftime("%H:%M:%S")


def local_date_time(moment: datetime) -> str:
    """The date and the time of day in the reader's time zone."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def local_day_time(moment: datetime, now: datetime) -> str:
    """`03:40`, and with its date on another day."""
    there, here = moment.astimezone(), now.astimezone()
    return f"{there:%H:%M}" if there.date() == here.date() else f"{there:%Y-%m-%d %H:%M}"


def print_next_command(command: str) -> None:
    if command:
        print_line(f"next: {command}")
