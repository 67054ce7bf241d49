"""Repeated views of one run: after the first, only changes are read."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from yaoki.adapters.store.tables import run_changes
from yaoki.app.run_branch import detect_external_merge, find_landed_on_branch, find_unmerged_reverts
from yaoki.app.run_view import QUESTIONS_MAX, assemble_run_view
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import State
from yaoki.engine.landed_rows import rows_on_run_branch
from yaoki.views.dependency_graph import DependencyGraph

if TYPE_CHECKING:
    from collections.abc import Collection

    from yaoki.app.build import App
    from yaoki.core.model import Question, Run, RunId, TaskId
    from yaoki.ports import TaskRow
    from yaoki.views import RunView
    from yaoki.views.tasks import UnmergedRevert

# With more entries than this, reading everything again is less work.
LINES_MAX = 2_000
# A rewritten run branch is noticed after this time.
BRANCH_HOLDS = timedelta(seconds=15)
# Changes without a journal entry, such as a manual repair, are noticed after this time.
WHOLE_AGAIN = timedelta(minutes=10)


class RunWatch:
    """Not thread-safe."""

    def __init__(self, app: App, run_id: RunId) -> None:
        self._app, self._run_id = app, run_id
        self._rows: dict[TaskId, TaskRow] = {}
        self.dependency_graph = DependencyGraph({})
        self._known_questions: dict[TaskId, tuple[TaskRow, Question | None]] = {}
        self._on_branch: dict[TaskId, bool] = {}
        self._reverts: tuple[UnmergedRevert, ...] = ()
        self._branch_read_at: datetime | None = None
        self._merged = self._stored_merged = ""
        self._seq = -1
        self._whole_at: datetime | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def refresh(self) -> RunView:
        """The current state of the run, the same as `view_run` returns."""
        run = self._app.store.run(self._run_id)
        self._catch_up()
        rows = list(self._rows.values())
        run, on_branch = self._read_branch(run, rows)
        questions = self._questions(rows)
        return assemble_run_view(
            self._app,
            run,
            rows,
            self.dependency_graph.needs,
            questions,
            on_branch,
            reverts=self._reverts,
        )

    def _read_branch(self, run: Run, rows: list[TaskRow]) -> tuple[Run, dict[TaskId, bool]]:
        """Git is asked only now and then, because it is slower than the store."""
        now, remote = self._app.clock.now(), self._app.settings.workspace.remote
        late = self._branch_read_at is None or now - self._branch_read_at > BRANCH_HOLDS
        if not remote and (late or run.merged_commit != self._stored_merged):
            known = detect_external_merge(self._app, run, rows)
            self._merged, self._stored_merged, self._branch_read_at = (
                known.merged_commit,
                run.merged_commit,
                now,
            )
            self._on_branch = find_landed_on_branch(self._app, known, rows)
            self._reverts = find_unmerged_reverts(self._app, run, rows)
        landed = {row.id for row in rows_on_run_branch(rows)} if self._on_branch else ()
        on_branch = {task_id: self._on_branch.get(task_id, True) for task_id in landed}
        return replace(run, merged_commit=run.merged_commit if remote else self._merged), on_branch

    def _catch_up(self) -> None:
        now = self._app.clock.now()
        if self._whole_at is None or now - self._whole_at > WHOLE_AGAIN:
            self._read_all(now)
            return
        database = self._app.store.database
        changed = run_changes.find_changed_tasks(database, self._run_id, self._seq, LINES_MAX)
        if changed.reload_all or not changed.ids <= self._rows.keys():
            self._read_all(now)
            return
        moved = self._reload(changed.ids)
        below = {
            one for task_id in moved for one in self.dependency_graph.dependents.get(task_id, ())
        }
        if below:
            self._reload(below)
        self._seq = changed.seq

    def _reload(self, ids: Collection[TaskId]) -> list[TaskId]:
        """The tasks that became done, or no longer are: their dependents change as well."""
        moved = []
        for row in run_changes.reload_rows(self._app.store.database, self._run_id, ids):
            before = self._rows[row.id]
            if _is_settled(before) != _is_settled(row):
                moved.append(row.id)
            self._rows[row.id] = row
        return moved

    def _read_all(self, now: datetime) -> None:
        store = self._app.store
        # An entry that is written meanwhile is read the next time.
        self._seq, self._whole_at = store.last_seq(), now
        rows, needs = store.rows(self._run_id), store.needs(self._run_id)
        self._rows = {row.id: row for row in rows}
        if needs != self.dependency_graph.needs:
            self.dependency_graph = DependencyGraph(needs)

    def _questions(self, rows: list[TaskRow]) -> dict[TaskId, Question]:
        """A question is only in its task, which is read once for as long as its row is the same."""
        asking = [row for row in rows if row.question][:QUESTIONS_MAX]
        known = self._known_questions
        self._known_questions = {
            row.id: before
            if (before := known.get(row.id)) is not None and before[0] is row
            else (row, self._app.store.task(row.id).question)
            for row in asking
        }
        return {
            task_id: question
            for task_id, (_, question) in self._known_questions.items()
            if question is not None
        }


def _is_settled(row: TaskRow) -> bool:
    return row.state is State.DONE and not row.undo_requested
