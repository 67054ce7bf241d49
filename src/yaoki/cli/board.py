"""The tasks of a run, kept current by the journal: only what changed is read again."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from yaoki.app.looking import at_work, questions
from yaoki.core.model import State, TaskId
from yaoki.ports import Entry
from yaoki.views import RunView, row_of, run_view

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import Run

# A view of a big run is made anew only after so many times what making it took.
REST = 10


class Board:
    """Reads all rows once; afterwards the tasks that the journal names."""

    def __init__(self, app: App, run: Run) -> None:
        self._app = app
        self._run = run
        self._rows = {row.id: row for row in app.store.rows(run.id)}
        self._needs = app.store.needs(run.id)
        self._stale = True
        self._not_before = app.clock.now()
        self.view = self._look()

    def take(self, entries: Iterable[Entry]) -> None:
        for task_id in dict.fromkeys(TaskId(e.task_id) for e in entries if e.task_id):
            if task_id not in self._needs:
                self._needs = self._app.store.needs(self._run.id)
            unmet = sum(not self._done(need) for need in self._needs[task_id])
            self._rows[task_id] = row_of(self._app.store.task(task_id), unmet)
            self._stale = True

    def _done(self, need: TaskId) -> bool:
        row = self._rows.get(need)
        return row is not None and row.state is State.DONE

    def current(self, now: datetime) -> RunView:
        if self._stale and now >= self._not_before:
            self.view = self._look()
            self._stale = False
            self._not_before = now + REST * (self._app.clock.now() - now)
        return self.view

    def _look(self) -> RunView:
        rows = sorted(self._rows.values(), key=lambda row: row.n)
        store = self._app.store
        return run_view(
            store.run(self._run.id),
            rows,
            self._needs,
            resting=store.resting(self._run.id),
            questions=questions(self._app, rows),
            worker=at_work(rows),
        )
