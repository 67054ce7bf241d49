"""Panels over the live table: text to read, and the dialog that answers a task."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from rich.cells import cell_len, chop_cells

from yaoki.core.model import Choice, TaskId
from yaoki.core.text import format_bytes
from yaoki.errors import YaokiError
from yaoki.faces.text.render import clean_line, clean_text
from yaoki.views import TaskView
from yaoki.views.agent_output import format_agent_output
from yaoki.views.choices import agent_reads_words, choice_meaning

if TYPE_CHECKING:
    from yaoki.app.build import App

LINES_MAX = 20_000
BYTES_MAX = 64 * 1024
WORDS_MAX = 4_000
HELP = (
    "j, k, arrows   select a task",
    "g, G           select the first, the last task",
    "w, Enter       explain its state",
    "l              show the output of its agent",
    "d              show its changes",
    "a              answer its question",
    "?              show this list",
    "q, Escape      go back",
)
LEAVE_HELP = {
    True: ("q, Escape      from the table: quit; the run continues",),
    False: ("Ctrl-C         stop the run; a second time: stop at once",),
}


class Panel(Protocol):
    """Takes the whole screen until it is closed.

    `has_open_answer`: the screen stays open with the panel.  `unsent`: the input that would be
    lost, as a command.
    """

    title: str
    is_closed: bool
    has_open_answer: bool

    @property
    def keys(self) -> str: ...

    @property
    def unsent(self) -> str: ...

    # The message that the table shows afterwards.
    outcome: str

    def lines(self, width: int, room: int) -> Sequence[str]: ...

    def press(self, key: str) -> None: ...


class TextPanel:
    """Text that can be scrolled.  With `live` it is reloaded, and its end is shown."""

    keys = "j/k scroll  g/G start, end  q back"
    has_open_answer, unsent = False, ""

    def __init__(self, title: str, load: Callable[[], Iterable[str]], *, live: bool = False):
        self.title, self.is_closed, self.outcome = title, False, ""
        self._load, self._live = load, live
        self._text = _loaded(load)
        self._top, self._room = 0, 1
        self._following = live

    def lines(self, width: int, room: int) -> Sequence[str]:
        if self._live:
            self._text = _loaded(self._load)
        shown = [piece for text in self._text for piece in wrap_cells(text, width)]
        last = max(0, len(shown) - room)
        self._room = room
        self._top = last if self._following else max(0, min(self._top, last))
        self._following = self._live and self._top == last
        return shown[self._top : self._top + room]

    def press(self, key: str) -> None:
        match key:
            case "q" | "escape":
                self.is_closed = True
            case "g" | "home":
                self._top, self._following = 0, False
            case "G" | "end":
                self._top = LINES_MAX * 100
            case _:
                page = max(1, self._room - 1)
                steps = {"j": 1, "down": 1, "k": -1, "up": -1, "page-down": page, "page-up": -page}
                moved = steps.get(key, page if key == " " else 0)
                self._top += moved
                self._following = self._following and moved >= 0


class AnswerPanel:
    """A choice, then words for the agent; nothing is sent before Enter."""

    has_open_answer = True

    def __init__(self, app: App, task: TaskView) -> None:
        self.title = f"answer {clean_line(task.row.name, 60)}"
        self.is_closed, self.outcome = False, ""
        self._app, self._task = app, task
        self._choice: Choice | None = None
        self._words = ""
        self._refused = ""

    @property
    def keys(self) -> str:
        typing = self._choice is not None
        return "Enter send  Escape back" if typing else "the letter of a choice  Escape back"

    @property
    def unsent(self) -> str:
        if self._choice is None or not self._words:
            return ""
        words = shlex.join(
            [*(["--"] if self._words.startswith("-") else []), clean_text(self._words)]
        )
        return f"yaoki answer {self._task.row.id} {self._choice.value} {words}"

    def lines(self, width: int, room: int) -> Sequence[str]:
        asked = [clean_line(self._task.row.question, 2000), ""]
        if self._choice is None:
            asked += [self._way(choice) for choice in self._task.choices]
        else:
            heard = self._choice is Choice.RETRY and agent_reads_words(self._task.row)
            hint = "words for the agent (optional)" if heard else "a note (optional)"
            asked += [f"{self._choice.value}: {hint}; Enter sends, Escape goes back"]
            asked += ["", f"> {self._words}_"]
        asked += ["", self._refused] if self._refused else []
        shown = [piece for text in asked for piece in wrap_cells(text, width)]
        return shown[-room:]

    def _way(self, choice: str) -> str:
        return f"  {choice[0]}  {choice:6}  {choice_meaning(Choice(choice), self._task.row)}"

    def press(self, key: str) -> None:
        if self._choice is None:
            self._choose(key)
        elif key == "escape":
            self._choice = None
        elif key == "enter":
            self._send(self._choice)
        elif key == "back":
            self._words = self._words[:-1]
        elif len(key) == 1:
            self._words = (self._words + key)[:WORDS_MAX]

    def _choose(self, key: str) -> None:
        chosen = [choice for choice in self._task.choices if choice[0] == key]
        if chosen:
            self._choice, self._refused = Choice(chosen[0]), ""
        elif key in {"q", "escape"}:
            self.is_closed = True

    def _send(self, choice: Choice) -> None:
        """A waived check is the one that failed."""
        from yaoki.app import commands

        task_id = TaskId(self._task.row.id)
        try:
            failure = self._app.reads.task(task_id).failure
            check = failure.check if failure and choice is Choice.WAIVE else ""
            task = commands.answer_task(
                self._app, task_id, choice, self._words, check, how="terminal"
            )
        except YaokiError as error:
            self._choice, self._refused = None, clean_line(f"{error.sentence}; {error.hint}")
            return
        self.is_closed = True
        self.outcome = f"{clean_line(task.spec.name, 60)} is answered: {choice.value}"


def wrap_cells(text: str, width: int) -> list[str]:
    """In lines that fit, cut between words, each indented like the first."""
    if cell_len(text) <= width:
        return [text]
    inset = " " * min(len(text) - len(text.lstrip(" ")), width // 4)
    pieces, rest = list[str](), text
    while cell_len(rest) > width and len(rest) > len(inset) + 1:
        # At least one letter per line, however narrow it is.
        most = max(len(chop_cells(rest, width)[0]), len(inset) + 1)
        gap = rest.rfind(" ", len(inset) + 1, most + 1)
        cut = gap if gap > 0 else most
        pieces.append(rest[:cut].rstrip(" "))
        rest = inset + rest[cut:].lstrip(" ")
    return [*pieces, rest] if rest.strip() else pieces


def _loaded(load: Callable[[], Iterable[str]]) -> list[str]:
    """An error is shown in the place of the text."""
    try:
        return [text.expandtabs(4) for text in load()][-LINES_MAX:]
    except YaokiError as error:
        return [clean_line(error.sentence), *([clean_line(error.hint)] if error.hint else [])]


# ------------------------------------------------------------------ what is read


def help_panel(*, leave: bool) -> Panel:
    return TextPanel("keys", lambda: (*HELP, *LEAVE_HELP[leave]))


def why_panel(app: App, task: TaskView) -> Panel:
    from yaoki.app.run_view import explain_task
    from yaoki.faces.text.explanation import explanation_lines

    task_id = TaskId(task.row.id)
    return TextPanel(
        f"why {clean_line(task.row.name, 60)}",
        lambda: explanation_lines(explain_task(app, task_id)),
    )


def log_panel(app: App, task: TaskView) -> Panel:
    """The output of the newest attempt, as it comes."""
    from yaoki.app.attempt_files import find_log_file, read_log_tail

    def load() -> list[str]:
        stored = app.reads.task(task.row.id)
        file = find_log_file(app, stored, stored.attempt, "out")
        text, size = read_log_tail(file, 0, BYTES_MAX)
        cut = (
            [f"[the last {format_bytes(BYTES_MAX)} of {format_bytes(size)}: {file}]"]
            if size > BYTES_MAX
            else []
        )
        return [*cut, *clean_text(format_agent_output(text)).splitlines()]

    return TextPanel(f"log of {clean_line(task.row.name, 60)}", load, live=True)


def diff_panel(app: App, task: TaskView) -> Panel:
    from yaoki.app.attempt_files import find_diff_ends

    def load() -> list[str]:
        ends = find_diff_ends(app, app.reads.task(task.row.id))
        text = app.workspace.contents.diff(ends.old, ends.new, stat=False)
        return clean_text(text).splitlines() or [f"{task.row.id} changed nothing"]

    return TextPanel(f"diff of {clean_line(task.row.name, 60)}", load)


def answer_panel(app: App, task: TaskView) -> Panel:
    if task.choices:
        return AnswerPanel(app, task)
    words = f"{clean_line(task.row.name, 60)} has no open question: it is {task.row.state.value}"
    way = [f"next: {task.next_command}"] if task.next_command else []
    return TextPanel("answer", lambda: [words, *way])
