"""Who waits for whom, when an event changes that: a replacement, a filled plan task, a group that
lands without what failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from yaoki.adapters.store.database import Transaction
from yaoki.adapters.store.tables import statements as sql
from yaoki.core.machine.events import Event, Planned, RecoveryStarted, Replaced
from yaoki.core.model import RecoveryStrategy, TaskId

DEPENDENCY_EVENTS = (Planned, RecoveryStarted, Replaced)


def update_dependencies(
    link: Transaction,
    task_id: TaskId,
    event: Event,
    ids: Mapping[str, TaskId],
    ready: Mapping[str, int],
) -> None:
    """`ids` are the run's tasks by name; `ready` is what the rank of one that can start needs."""
    match event:
        case Replaced(by=by) if by:
            waiting = [row["task_id"] for row in link.rows(sql.DEPENDENTS, {"id": task_id})]
            link.run(sql.MOVE_NEEDS_TO_REPLACEMENT, {"id": task_id, "by": by})
            link.run(sql.DELETE_NEEDS_ON, {"id": task_id})
            _recount(link, waiting, ready)
        case Planned(names=names):
            waiting = [row["task_id"] for row in link.rows(sql.DEPENDENTS, {"id": task_id})]
            ends = _ends(link, [ids[name] for name in names])
            edges = [{"task_id": one, "need_id": end} for one in waiting for end in ends]
            link.many(sql.ADD_NEED, edges)
            _recount(link, waiting, ready)
        case RecoveryStarted(strategy=RecoveryStrategy.PARTIAL_COMMIT, failed_subtasks=left_out):
            link.many(sql.DROP_NEED, [{"task_id": task_id, "need_id": one} for one in left_out])
            _recount(link, [task_id], ready)
        case _:
            pass


def _recount(link: Transaction, tasks: Iterable[str], ready: Mapping[str, int]) -> None:
    """Kept first: a count that somebody else is changing is counted after he has."""
    tasks = sorted(tasks)
    for one in tasks:
        link.lock_rows(sql.TASK, {"id": one})
    link.many(sql.RECOUNT_OPEN_NEEDS, [{"id": one} for one in tasks])
    link.many(sql.RANK_IF_READY, [{"id": one, **ready} for one in tasks])


def _ends(link: Transaction, made: list[TaskId]) -> list[TaskId]:
    """The new tasks that, once done, mean all are.  An optional one holds nobody up, unless there
    is no other.
    """
    rows = [row for one in made if (row := link.row(sql.TASK, {"id": one})) is not None]
    pool = [TaskId(row["id"]) for row in rows if row["required"] and not row["parent"]] or made
    needed: set[str] = set()
    for one in pool:
        found = link.rows("SELECT need_id FROM needs WHERE task_id = :id", {"id": one})
        needed.update(row["need_id"] for row in found)
    return [one for one in pool if one not in needed]
