"""What a line of the journal makes of the rows: one way for a live write and for a replay.

Nothing here decides, reads a clock or writes to the journal; the time is the line's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from yaoki.adapters.store.database import Database, Transaction
from yaoki.adapters.store.rows import new_task_columns, run_columns, task_columns, to_ms
from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.tables.accounts import update_accounts
from yaoki.adapters.store.tables.dependencies import DEPENDENCY_EVENTS, update_dependencies
from yaoki.adapters.store.tables.reads import ReadQueries
from yaoki.adapters.store.tables.totals import add_spend
from yaoki.core.machine.events import Claimed, Event, Submitted
from yaoki.core.machine.evolution import create_task, fold_events
from yaoki.core.machine.legality import IllegalEvent
from yaoki.core.model import Run, RunId, State, Task, TaskId
from yaoki.core.schedule import AGEING, rank
from yaoki.core.settings.tags import join_tags
from yaoki.errors import RowInvalid

# The columns of a run that change after it was submitted; a line names them under `set`.
MUTABLE_RUN_COLUMNS = frozenset(
    {
        *("merged", "summed_ms", "cancel_wanted", "paused", "iteration"),
        *("failures_in_row", "grants", "revision", "acknowledged"),
    }
)


class EventApplier(ReadQueries):
    """Runs, tasks, needs and accounts, as events change them."""

    def __init__(
        self, database: Database, *, backups_kept: int = 5, ageing: timedelta = AGEING
    ) -> None:
        super().__init__(database, backups_kept=backups_kept)
        self._ageing = ageing

    def _insert_run(self, link: Transaction, run: Run) -> None:
        link.run(sql.INSERT_RUN, run_columns(run))

    def _update_run_columns(
        self, link: Transaction, run_id: str, fields: Mapping[str, Any]
    ) -> None:
        assert set(fields) <= MUTABLE_RUN_COLUMNS, fields
        for name, value in fields.items():
            params = {"value": value, "id": run_id}
            link.run(f"UPDATE runs SET {name} = :value WHERE id = :id", params)

    def _insert_tasks(
        self, link: Transaction, run_id: str, submitted: Sequence[Submitted], now: datetime
    ) -> list[Task]:
        """New tasks with their needs, which may name tasks before and after them."""
        ids = self._ids_by_name(link, run_id) if submitted[0].n > 1 else {}
        old = set(ids.values())
        tasks = [_created(run_id, event) for event in submitted]
        ids.update({task.spec.name: task.id for task in tasks})
        needs = [(t.id, ids[name]) for t in tasks for name in dict.fromkeys(t.spec.needs)]
        done = self._done_among(link, {need for _, need in needs if need in old})
        open_needs = dict.fromkeys((task.id for task in tasks), 0)
        for task_id, need in needs:
            open_needs[task_id] += need not in done
        link.many(sql.INSERT_TASK, [self._new_row(t, open_needs[t.id], now) for t in tasks])
        asked = {join_tags(task.spec.tags) for task in tasks if task.spec.tags}
        link.many(sql.INSERT_RUN_TAGS, [{"run_id": run_id, "tags": tags} for tags in sorted(asked)])
        link.many(sql.INSERT_NEED, [{"task_id": t, "need_id": n} for t, n in needs])
        link.run(sql.UPDATE_TASK_COUNT, {"n": max(task.n for task in tasks), "id": run_id})
        return tasks

    def _new_row(self, task: Task, open_needs: int, now: datetime) -> dict[str, Any]:
        return new_task_columns(task, open_needs, rank(now, task.spec.priority, self._ageing))

    def _apply(
        self, link: Transaction, before: Task, events: Sequence[Event], now: datetime
    ) -> Task:
        """Evolve, keep the row, open or close the dependents, learn of the account."""
        try:
            after = fold_events(before, events)
        except IllegalEvent as illegal:
            raise RowInvalid(before.id, str(illegal)) from illegal
        if after is not before:
            claimed = any(isinstance(event, Claimed) for event in events)
            back = after.state is State.WAITING and before.state is not State.WAITING
            waits = rank(after.due_at or now, after.spec.priority, self._ageing) if back else None
            marks = {"rank": waits, "claimed_ms": to_ms(now) if claimed else None}
            link.enqueue(sql.UPDATE_TASK, {**task_columns(after), **marks})
        change = before.can_be_built_on - after.can_be_built_on
        if change:
            ageing_ms = self._ageing // timedelta(milliseconds=1)
            params = {"id": after.id, "change": change, "now": to_ms(now), "ageing_ms": ageing_ms}
            # It adds, so it does not matter who of them was written before.
            link.enqueue(
                sql.open_dependents_statement(link.for_update), params, order_key="dependents"
            )
        update_accounts(link, before, events, now)
        add_spend(link, before, events, now)
        self._update_dependencies(link, after, events, now)
        return after

    def _update_dependencies(
        self, link: Transaction, task: Task, events: Sequence[Event], now: datetime
    ) -> None:
        """Who waits for whom, where an event changes that."""
        rewiring = [event for event in events if isinstance(event, DEPENDENCY_EVENTS)]
        if rewiring:
            ids = self._ids_by_name(link, task.run_id)
            ready = {"now": to_ms(now), "ageing_ms": self._ageing // timedelta(milliseconds=1)}
            for event in rewiring:
                update_dependencies(link, task.id, event, ids, ready)


def _created(run_id: str, event: Submitted) -> Task:
    return create_task(TaskId(f"{run_id}-{event.n}"), RunId(run_id), event)
