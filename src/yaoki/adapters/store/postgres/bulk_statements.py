"""The most frequent statements for many rows at once, passed as one JSON text.

A message per row would cost more than the server's work on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.write_buffer import Params

_INSERT_ENTRIES = """
INSERT INTO journal (at_ms, run_id, task_id, subtask, attempt, event, data)
SELECT at_ms, run_id, task_id,
       coalesce((SELECT id FROM tasks WHERE id = incoming.task_id AND parent <> ''), ''),
       attempt, event, data
FROM json_populate_recordset(NULL::journal, CAST(:rows AS json)) incoming
"""
_COLUMNS = (
    *("state", "stage", "attempt", "epoch", "holder", "lease_ms", "due_ms", "agent", "account"),
    *("reason", "cancel_wanted", "recall_wanted", "landed", "doc", "held", "undo_wanted"),
    *("place", "queued", "other_accounts"),
)
_UNCHANGED_IF_NULL = ("rank", "claimed_ms")
_UPDATE_TASKS = f"""
UPDATE tasks SET {", ".join(f"{name} = incoming.{name}" for name in _COLUMNS)},
    {", ".join(f"{name} = coalesce(incoming.{name}, tasks.{name})" for name in _UNCHANGED_IF_NULL)}
FROM json_populate_recordset(NULL::tasks, CAST(:rows AS json)) incoming WHERE tasks.id = incoming.id
"""
# Rows are locked in one order, so that no two transactions deadlock.
_OPEN_DEPENDENTS = """
WITH change AS (
    SELECT needs.task_id, CAST(sum(incoming.change) AS integer) AS n, max(incoming.now) AS now,
           max(incoming.ageing_ms) AS ageing_ms
    FROM json_to_recordset(CAST(:rows AS json))
         AS incoming(id text, change integer, now bigint, ageing_ms bigint)
    JOIN needs ON needs.need_id = incoming.id GROUP BY needs.task_id),
locked AS (
    SELECT id FROM tasks WHERE id IN (SELECT task_id FROM change) ORDER BY run_id, n
    FOR NO KEY UPDATE)
UPDATE tasks SET open_needs = open_needs + change.n,
                 rank = CASE WHEN open_needs + change.n = 0
                             THEN change.now - priority * change.ageing_ms ELSE rank END
FROM change JOIN locked ON locked.id = change.task_id WHERE tasks.id = locked.id
"""


def _always(_: Sequence[Params]) -> bool:
    return True


def _are_distinct(rows: Sequence[Params]) -> bool:
    """A row that is changed twice must be changed in order, so not by one statement."""
    return len({row["id"] for row in rows}) == len(rows)


FOR_UPDATE = " FOR NO KEY UPDATE"
# The statement of one row: the statement of many, and whether these rows may be written at once.
BULK_STATEMENTS: Mapping[str, tuple[str, Callable[[Sequence[Params]], bool]]] = {
    sql.INSERT_ENTRY: (_INSERT_ENTRIES, _always),
    sql.UPDATE_TASK: (_UPDATE_TASKS, _are_distinct),
    sql.open_dependents_statement(FOR_UPDATE): (_OPEN_DEPENDENTS, _always),
}
