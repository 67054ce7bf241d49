"""The tasks of a run, kept current by the journal: only changed tasks are read again."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from yaoki.adapters.store.tables import journal_pages, run_changes
from yaoki.adapters.system.machine import machine_id
from yaoki.app.forecast import RunForecaster
from yaoki.app.run_view import has_live_holder, load_questions
from yaoki.core.model import TaskId
from yaoki.faces.cli.live.estimate import Pace
from yaoki.ports import JournalEntry
from yaoki.views import RunView, build_run_view, why_not_taken
from yaoki.views.history import TaskHistory

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run

# The view of a big run is rebuilt only after this multiple of the time it takes.
REBUILD_PAUSE_FACTOR = 10
BEGINNING = datetime.min.replace(tzinfo=UTC)
# How much is read when the screen opens in the middle of a run.
RECALLED_EVENTS = (
    "TASK_CLAIMED",
    "ATTEMPT_STARTED",
    "AGENT_FINISHED",
    "CHECK_FINISHED",
    "QUALITY_JUDGMENT",
    "LAND_REFUSED",
    "RETRY_DECISION",
    "LEASE_RELEASED",
    "LEASE_EXPIRED",
    "TASK_LANDED",
)
RECALLED_MAX = 5_000


class TaskTable:
    """Reads all rows once; afterwards the tasks that the journal names, and their dependents."""

    def __init__(self, app: App, run: Run) -> None:
        self._app = app
        self._run = run
        self._read_all()
        self._stale = True
        self._not_before = app.clock.now()
        self.pace = Pace()
        # Of the open tasks.
        self._histories: dict[str, TaskHistory] = {}
        self._forecaster = RunForecaster(app)
        self._noted = 0
        self._read_recent()
        self.view = self._build_view()

    def add_entries(self, entries: Iterable[JournalEntry]) -> None:
        """Reload the tasks that the entries name, and their dependents, which may start now."""
        entries = [entry for entry in entries if entry.task_id]
        for entry in entries:
            self._note_entry(entry)
        if not entries:
            return
        named = {TaskId(entry.task_id) for entry in entries}
        if any(entry.event in run_changes.GRAPH_EVENTS for entry in entries) or not named <= set(
            self._rows
        ):
            self._read_all()
        else:
            below = {one for task_id in named for one in self._waiting.get(task_id, ())}
            again = run_changes.reload_rows(self._app.store.database, self._run.id, named | below)
            self._rows |= {row.id: row for row in again}
        self._stale = True

    def _read_all(self) -> None:
        store = self._app.store
        self._rows = {row.id: row for row in store.rows(self._run.id)}
        self._needs = store.needs(self._run.id)
        self._waiting: dict[TaskId, list[TaskId]] = {}
        for task_id, needs in self._needs.items():
            for need in needs:
                self._waiting.setdefault(need, []).append(task_id)

    def _read_recent(self) -> None:
        database = self._app.store.database
        entries = journal_pages.read_newest(
            database, run_id=self._run.id, events=RECALLED_EVENTS, limit=RECALLED_MAX
        )
        for entry in reversed(entries):
            self._note_entry(entry)

    def _note_entry(self, entry: JournalEntry) -> None:
        """Facts that rows lack: since when a task is active, why it waits, how long tasks take."""
        if entry.seq <= self._noted:
            return
        self._noted = entry.seq
        task = self._histories.setdefault(entry.task_id, TaskHistory())
        landings = len(task.landings)
        task.add(entry)
        if task.timeline.open_stage is not None:
            self.pace.record_start(entry.task_id, entry.at)
        if len(task.landings) > landings:
            self.pace.record_landing(entry.task_id, entry.at)
        if task.is_over:
            del self._histories[entry.task_id]

    def last_seen_at(self, task_id: str) -> datetime | None:
        """The time of the last entry of an open task; unknown for old ones."""
        task = self._histories.get(task_id)
        return task.last_at if task else None

    def return_cause(self, task_id: str) -> str:
        """The failure or reason after which the task was sent back or released."""
        task = self._histories.get(task_id)
        return task.return_cause if task else ""

    def current_view(self, now: datetime) -> RunView:
        if self._stale and now >= self._not_before:
            self.view = self._forecaster.refresh(self._build_view())
            self._stale = False
            self._not_before = now + REBUILD_PAUSE_FACTOR * (self._app.clock.now() - now)
        return self.view

    def _build_view(self) -> RunView:
        rows = sorted(self._rows.values(), key=lambda row: row.n)
        store, live = self._app.store, self._app.services.list_live_workers()
        return build_run_view(
            store.run(self._run.id),
            rows,
            self._needs,
            is_idle=store.is_idle(self._run.id),
            questions=load_questions(self._app, rows),
            # Cached rows lack heartbeats, so their leases are out of date.
            is_carried=has_live_holder(rows, BEGINNING),
            closed_accounts=store.accounts(),
            not_taken_because=lambda row: why_not_taken(row, live, here=machine_id),
            spent=store.total_spend(self._run.id),
        )
