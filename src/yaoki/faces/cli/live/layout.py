"""The lines of the live table: head, progress, tasks in groups, counts, keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Spend, Stage, State
from yaoki.core.run_status import RunStatus
from yaoki.core.text import format_count, format_duration
from yaoki.faces.cli.live.estimate import estimate_words, remaining_work, time_left
from yaoki.faces.cli.live.task_table import TaskTable
from yaoki.faces.text.glyphs import Glyphs
from yaoki.faces.text.render import COLOURS, clean_line, local_day_time, task_names
from yaoki.views import RunView, TaskView, describe_wait
from yaoki.views.forecasts import end_time_words

GROUPS = ("needs you", "running", "waiting", "finished")
NARROW, WIDE = 70, 100
# With fewer lines than this, tasks have precedence over the summary.
LOW_HEIGHT = 10
NAME_CELLS = 28
BAR_CELLS = 40
KEYS = "j/k move  w why  l log  d diff  a answer  ? keys"
FEW_KEYS = "j k  w l d a  ?: keys"
# The last key: a terminal that runs the tasks cannot leave.
END_KEYS = {True: ("  q leave", "  q: leave"), False: ("  Ctrl-C stop", "  ^C: stop")}
_GROUP = {State.ESCALATED: 0, State.ACTIVE: 1, State.WAITING: 2}


def group_of(task: TaskView) -> int:
    return _GROUP.get(task.row.state, 3)


def order_for_screen(view: RunView) -> list[TaskView]:
    """All tasks in the order of the screen: questions, active, waiting for a date, the rest."""

    def place(task: TaskView) -> tuple[int, bool, bool, int]:
        row = task.row
        return group_of(task), task.blocked, row.due_at is None, row.n

    return sorted(view.tasks, key=place)


def cost_words(spent: Spend) -> str:
    """The reported cost; agent runs without a report are unknown, never zero."""
    if spent.unknown >= spent.attempts:
        return "cost unknown" if spent.attempts else "no cost yet"
    more = f" and {format_count(spent.unknown, 'run')} of unknown cost" if spent.unknown else ""
    return f"${spent.money:.2f}, {spent.tokens:,} tokens{more}"


def _count_words(view: RunView) -> str:
    """Each task once: a blocked task is not counted as waiting."""
    blocked = sum(task.blocked for task in view.tasks if task.row.state is State.WAITING)
    counts = {**view.counts, "blocked": blocked}
    counts[State.WAITING.value] -= blocked
    return ", ".join(f"{n} {state.lower()}" for state, n in counts.items() if n)


class TaskListing:
    """The parts of a view that a frame needs, computed once for many frames."""

    def __init__(self, view: RunView) -> None:
        self.view = view
        self.tasks = order_for_screen(view)
        self.names = task_names(view)
        self.remaining = remaining_work(view, view.run.parallel)
        self.count_words = _count_words(view)
        self.landed_count, self.planned_count = len(view.landed_tasks), len(view.counted_tasks)


@dataclass(frozen=True, slots=True)
class Layout:
    """One frame."""

    listing: TaskListing
    table: TaskTable
    glyphs: Glyphs
    now: datetime
    running_command_of: Callable[[TaskView], str]

    @property
    def view(self) -> RunView:
        return self.listing.view

    def lines(
        self, width: int, height: int, selected: str, note: str, *, keys: bool, may_leave: bool
    ) -> list[Text]:
        head = [self._title(), self._bar(width)]
        foot = [Text(self.listing.count_words, style="dim")]
        if self.view.status is RunStatus.PAUSED:
            words = f"paused: {clean_line(self.view.run.pause_reason)}; {self.view.next_command}"
            head.append(Text(words, style="red"))
        if height >= LOW_HEIGHT:
            head.insert(2, Text(self._time_left(), style="dim"))
        foot += [Text(note, style="yellow")] if note else []
        if keys and height >= LOW_HEIGHT:
            whole, few = KEYS + END_KEYS[may_leave][0], FEW_KEYS + END_KEYS[may_leave][1]
            foot.append(Text(whole if width >= len(whole) else few, style="dim"))
        room = max(1, height - len(head) - len(foot))
        return [*head, *self._tasks(width, room, selected), *foot]

    # -------------------------------------------------------------- head and foot

    def _title(self) -> Text:
        head = Text(f"run {self.view.run.id} ", style="bold")
        head.append(f"{self.view.status.value}  ", style="default")
        return head.append(clean_line(self.view.run.goal, 200), style="default")

    def _bar(self, width: int) -> Text:
        done, total = self.listing.landed_count, self.listing.planned_count
        cells = max(8, min(BAR_CELLS, width // 2 - 4))
        filled = cells * done // total if total else 0
        full, empty = self.glyphs.bar
        bar = Text(full * filled, style="green").append(
            empty * (cells - filled), style="bright_black"
        )
        share = f" {100 * done // total} %" if total else ""
        return bar.append(f"  {done}/{total} landed{share}", style="default")

    def _time_left(self) -> str:
        """The forecast; before the journal allows one, an estimate that names its basis."""
        pace = self.table.pace
        if self.view.status is not RunStatus.ACTIVE:
            return cost_words(self.view.spent)
        if self.view.forecast is not None and self.view.forecast_at is not None:
            now = self.view.forecast_at
            words = end_time_words(self.view.forecast, now, lambda at: local_day_time(at, now))
            return self.glyphs.dot.join((words, cost_words(self.view.spent)))
        time = time_left(self.listing.remaining, pace, self.now)
        if time is None:
            words = "time left unknown"
        else:
            landed = len(pace.durations)
            words = f"about {estimate_words(time)} left, based on {landed} landed"
            words += ", not counting what waits for you" if self.view.tasks_asking else ""
        return self.glyphs.dot.join((words, cost_words(self.view.spent)))

    # -------------------------------------------------------------- tasks

    def _tasks(self, width: int, room: int, chosen: str) -> list[Text]:
        """As many lines as fit, with the chosen one among them."""
        tasks = self.listing.tasks
        at = next((n for n, task in enumerate(tasks) if task.row.id == chosen), 0)
        # Each group has a head; enough tasks are listed to fill the window.
        first = max(0, at - room)
        lines = list(self._group_lines(tasks[first : at + room + 1], width, chosen))
        here = next((n for n, (_, id_) in enumerate(lines) if id_ == chosen and chosen), 0)
        top = max(0, min(here - room + 1 + min(2, room // 3), len(lines) - room))
        return [text for text, _ in lines[top : top + room]]

    def _group_lines(
        self, tasks: Sequence[TaskView], width: int, chosen: str
    ) -> Iterator[tuple[Text, str]]:
        cells = max((cell_len(clean_line(task.row.name, 60)) for task in tasks), default=0)
        cells = min(cells, NAME_CELLS, max(8, width // 4))
        before = -1
        for task in tasks:
            group = group_of(task)
            if group != before:
                yield Text(GROUPS[group], style="dim"), ""
                before = group
            yield self._task(task, width, cells, chosen), task.row.id

    def _task(self, task: TaskView, width: int, cells: int, chosen: str) -> Text:
        row, style = task.row, COLOURS.get(task.row.state, "")
        mark = self.glyphs.mark if row.id == chosen else " "
        name = self._fit(clean_line(row.name, 60), cells)
        state = row.stage if row.state is State.ACTIVE else row.state.value
        if task.blocked:
            state = "BLOCKED"
        tries = f"try {row.attempt}" if row.attempt else ""
        words = self._words(task)
        if width < NARROW:
            parts = [state.lower() if group_of(task) in {1, 3} else "", tries, words]
            detail = " ".join(filter(None, parts))
        else:
            # A reader without keys needs the command that answers.
            way = f"{task.next_command}  " if row.state is State.ESCALATED and width >= WIDE else ""
            detail = f"{state:9} {tries:6}  {way}{words}"
        return Text(f"{mark}{row.n:>3} {name} {detail}".rstrip(), style=style)

    def _fit(self, name: str, cells: int) -> str:
        """Cut to the width of its column, with a sign for the rest."""
        if cell_len(name) <= cells:
            return set_cell_size(name, cells)
        return set_cell_size(name, cells - 1) + "…"

    def _words(self, task: TaskView) -> str:
        row = task.row
        match row.state:
            case State.ESCALATED:
                return clean_line(row.question)
            case State.ACTIVE if row.cancel_requested:
                return "being cancelled"
            case State.ACTIVE if row.stage == Stage.WORK:
                return f"agent {clean_line(row.agent_title, 60)}{self._duration(row.id)}"
            case State.ACTIVE:
                running = clean_line(self.running_command_of(task), 80)
                return running or self._duration(row.id).lstrip(", ")
            case State.CANCELLED | State.REPLACED:
                return ""
            case State.WAITING:
                return clean_line(self._wait_words(task))
            case State.DONE:
                return f"landed {row.landed_commit[:10]}"

    def _wait_words(self, task: TaskView) -> str:
        """The reason of the wait, with a countdown, and its cause if the task was active before."""
        words, row = describe_wait(task, self.now, self.listing.names), task.row
        if row.due_at is not None and row.due_at > self.now:
            cause = self.table.return_cause(row.id)
            return f"{words} ({cause})" if cause else words
        return words

    def _duration(self, task_id: str) -> str:
        since = self.table.last_seen_at(task_id)
        if since is None:
            return ""
        return f", {format_duration(round((self.now - since).total_seconds()))}"
