"""Dependencies that an event changes: a replacement, a plan task with its new tasks, a group that
lands without its failed subtasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from yaoki.adapters.store.tables import statements as sql
from yaoki.core.machine.events import Event, Planned, RecoveryStarted, Replaced
from yaoki.core.model import RecoveryStrategy, TaskId

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Transaction

DEPENDENCY_EVENTS = (Planned, RecoveryStarted, Replaced)


def update_dependencies(
    tx: Transaction,
    task_id: TaskId,
    event: Event,
    ids: Mapping[str, TaskId],
    rank_params: Mapping[str, int],
) -> None:
    """`ids` are the run's tasks by name; `rank_params` rank a task that can start now."""
    match event:
        case Replaced(by=by) if by:
            dependents = [row["task_id"] for row in tx.rows(sql.DEPENDENTS, {"id": task_id})]
            tx.run(sql.MOVE_NEEDS_TO_REPLACEMENT, {"id": task_id, "by": by})
            tx.run(sql.DELETE_NEEDS_ON, {"id": task_id})
            _recount(tx, dependents, rank_params)
        case Planned(names=names):
            dependents = [row["task_id"] for row in tx.rows(sql.DEPENDENTS, {"id": task_id})]
            final_tasks = _final_tasks(tx, [ids[name] for name in names])
            edges = [
                {"task_id": dependent, "need_id": end}
                for dependent in dependents
                for end in final_tasks
            ]
            tx.many(sql.ADD_NEED, edges)
            _recount(tx, dependents, rank_params)
        case RecoveryStarted(strategy=RecoveryStrategy.PARTIAL_COMMIT, failed_subtasks=failed):
            tx.many(sql.DROP_NEED, [{"task_id": task_id, "need_id": subtask} for subtask in failed])
            _recount(tx, [task_id], rank_params)
        case _:
            pass


def _recount(tx: Transaction, tasks: Iterable[str], rank_params: Mapping[str, int]) -> None:
    """Lock the rows first so that a concurrent update is included in the count."""
    tasks = sorted(tasks)
    for task_id in tasks:
        tx.lock_rows(sql.TASK, {"id": task_id})
    tx.many(sql.RECOUNT_OPEN_NEEDS, [{"id": task_id} for task_id in tasks])
    tx.many(sql.RANK_IF_READY, [{"id": task_id, **rank_params} for task_id in tasks])


def _final_tasks(tx: Transaction, new_ids: list[TaskId]) -> list[TaskId]:
    """The new tasks that no other new task needs: once they are done, all are.

    An optional task delays nothing, unless all are optional.
    """
    rows = [row for each in new_ids if (row := tx.row(sql.TASK, {"id": each})) is not None]
    required = [TaskId(row["id"]) for row in rows if row["required"] and not row["parent"]]
    candidates = required or new_ids
    needed: set[str] = set()
    for task_id in candidates:
        needs = tx.rows("SELECT need_id FROM needs WHERE task_id = :id", {"id": task_id})
        needed.update(row["need_id"] for row in needs)
    return [task_id for task_id in candidates if task_id not in needed]
