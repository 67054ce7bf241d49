"""The effect of events on the rows: the same code for a live write and for a replay.

Nothing here decides, reads a clock or writes to the journal; the time is that of the event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.rows import run_columns, to_ms
from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.tables.accounts import update_accounts
from yaoki.adapters.store.tables.dependencies import DEPENDENCY_EVENTS, update_dependencies
from yaoki.adapters.store.tables.flaky_tests import count_flaky_tests
from yaoki.adapters.store.tables.task_loader import filter_done, load_ids_by_name
from yaoki.adapters.store.tables.totals import add_spend
from yaoki.adapters.store.tables.treatments import record_treatments
from yaoki.adapters.store.tables.verdicts import index_verdicts
from yaoki.adapters.store.task_rows import new_task_columns, task_columns
from yaoki.core.machine.events import Claimed, Event, Submitted
from yaoki.core.machine.evolution import create_task, fold_events
from yaoki.core.machine.legality import IllegalEvent
from yaoki.core.model import Run, RunId, State, Task, TaskId
from yaoki.core.schedule import rank
from yaoki.core.settings.tags import join_tags
from yaoki.errors import RowInvalid

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Transaction

# The columns of a run that change after it was submitted; a journal entry names them under `set`.
MUTABLE_RUN_COLUMNS = frozenset(
    {
        *("merged", "summed_ms", "cancel_wanted", "paused", "iteration"),
        *("failures_in_row", "grants", "revision", "acknowledged", "doc"),
    }
)


def insert_run(tx: Transaction, run: Run) -> None:
    tx.run(sql.INSERT_RUN, run_columns(run))


def update_run_columns(tx: Transaction, run_id: str, fields: Mapping[str, Any]) -> None:
    assert set(fields) <= MUTABLE_RUN_COLUMNS, fields
    for name, value in fields.items():
        params = {"value": value, "id": run_id}
        tx.run(f"UPDATE runs SET {name} = :value WHERE id = :id", params)


class EventApplier:
    """Tasks, needs, accounts and totals, as events change them.

    `ageing` is how long a task waits until it outranks one with a priority higher by one.
    """

    def __init__(self, ageing: timedelta) -> None:
        self._ageing = ageing

    def insert_tasks(
        self, tx: Transaction, run_id: str, submitted: Sequence[Submitted], now: datetime
    ) -> list[Task]:
        """New tasks with their needs, which may name earlier and later tasks."""
        # The candidates of a race need nothing, and start in the middle of a large run.
        has_needs = any(event.spec.needs for event in submitted)
        ids = load_ids_by_name(tx, run_id) if has_needs and submitted[0].n > 1 else {}
        old_ids = set(ids.values())
        tasks = [_create(run_id, event) for event in submitted]
        ids.update({task.spec.name: task.id for task in tasks})
        needs = [(t.id, ids[name]) for t in tasks for name in dict.fromkeys(t.spec.needs)]
        done = filter_done(tx, {need for _, need in needs if need in old_ids})
        open_needs = dict.fromkeys((task.id for task in tasks), 0)
        for task_id, need in needs:
            open_needs[task_id] += need not in done
        tx.many(sql.INSERT_TASK, [self._new_row(t, open_needs[t.id], now) for t in tasks])
        tag_sets = {join_tags(task.spec.tags) for task in tasks if task.spec.tags}
        tx.many(sql.INSERT_RUN_TAGS, [{"run_id": run_id, "tags": t} for t in sorted(tag_sets)])
        tx.many(sql.INSERT_NEED, [{"task_id": t, "need_id": n} for t, n in needs])
        tx.run(sql.UPDATE_TASK_COUNT, {"n": max(task.n for task in tasks), "id": run_id})
        return tasks

    def _new_row(self, task: Task, open_needs: int, now: datetime) -> dict[str, Any]:
        return new_task_columns(task, open_needs, rank(now, task.spec.priority, self._ageing))

    def apply(self, tx: Transaction, before: Task, events: Sequence[Event], now: datetime) -> Task:
        """Evolve the task and update its row, its dependents, its account and the totals."""
        try:
            after = fold_events(before, events)
        except IllegalEvent as illegal:
            raise RowInvalid(before.id, str(illegal)) from illegal
        if after is not before:
            self._update_row(tx, before, after, events, now)
        change = before.can_be_built_on - after.can_be_built_on
        if change:
            params = {"id": after.id, "change": change, **self._rank_params(now)}
            # The statement adds to a count, so the order of these writes does not matter.
            tx.enqueue(sql.open_dependents_statement(tx.for_update), params, order_key="dependents")
        update_accounts(tx, before, events, now)
        add_spend(tx, before, events, now)
        index_verdicts(tx, before, events)
        record_treatments(tx, before, events, now)
        count_flaky_tests(tx, before, events, now)
        self._update_dependencies(tx, after, events, now)
        return after

    def _update_row(
        self, tx: Transaction, before: Task, after: Task, events: Sequence[Event], now: datetime
    ) -> None:
        """A task that returns to WAITING, or whose wait a person ended, is ranked again."""
        claimed = any(isinstance(event, Claimed) for event in events)
        is_due = before.due_at is not None and after.due_at is None
        returned = after.state is State.WAITING and (before.state is not State.WAITING or is_due)
        ready_at = after.due_at or now
        optional = {
            "rank": rank(ready_at, after.spec.priority, self._ageing) if returned else None,
            "claimed_ms": to_ms(now) if claimed else None,
        }
        tx.enqueue(sql.UPDATE_TASK, {**task_columns(after), **optional})
        # A row that was read ahead for another request of the same commit is old now.
        tx.prefetched_tasks.pop(after.id, None)

    def _update_dependencies(
        self, tx: Transaction, task: Task, events: Sequence[Event], now: datetime
    ) -> None:
        changes = [event for event in events if isinstance(event, DEPENDENCY_EVENTS)]
        if changes:
            ids = load_ids_by_name(tx, task.run_id)
            for event in changes:
                update_dependencies(tx, task.id, event, ids, self._rank_params(now))

    def _rank_params(self, now: datetime) -> dict[str, int]:
        """Parameters that rank a task which becomes ready now."""
        return {"now": to_ms(now), "ageing_ms": self._ageing // timedelta(milliseconds=1)}


def _create(run_id: str, event: Submitted) -> Task:
    return create_task(TaskId(f"{run_id}-{event.n}"), RunId(run_id), event)
