"""The statements that are run most, for many rows at once: the rows come as one JSON text.

A message for each row costs more than what the server does with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from yaoki.adapters.store.tables import statements as sql

Params = Mapping[str, Any]

_INSERT_ENTRIES = """
INSERT INTO journal (at_ms, run_id, task_id, subtask, attempt, event, data)
SELECT at_ms, run_id, task_id,
       coalesce((SELECT id FROM tasks WHERE id = given.task_id AND parent <> ''), ''),
       attempt, event, data
FROM json_populate_recordset(NULL::journal, CAST(:rows AS json)) given
"""
_PLAIN = (
    *("state", "stage", "attempt", "epoch", "holder", "lease_ms", "due_ms", "agent", "account"),
    *("reason", "cancel_wanted", "recall_wanted", "landed", "doc", "held", "undo_wanted"),
    *("place", "refused"),
)
_KEPT_IF_NULL = ("rank", "claimed_ms")
_UPDATE_TASKS = f"""
UPDATE tasks SET {", ".join(f"{name} = given.{name}" for name in _PLAIN)},
    {", ".join(f"{name} = coalesce(given.{name}, tasks.{name})" for name in _KEPT_IF_NULL)}
FROM json_populate_recordset(NULL::tasks, CAST(:rows AS json)) given WHERE tasks.id = given.id
"""
# Kept in one order for everybody, so that no two wait for each other.
_OPEN_DEPENDENTS = """
WITH change AS (
    SELECT needs.task_id, CAST(sum(given.change) AS integer) AS n, max(given.now) AS now,
           max(given.ageing_ms) AS ageing_ms
    FROM json_to_recordset(CAST(:rows AS json))
         AS given(id text, change integer, now bigint, ageing_ms bigint)
    JOIN needs ON needs.need_id = given.id GROUP BY needs.task_id),
kept AS (
    SELECT id FROM tasks WHERE id IN (SELECT task_id FROM change) ORDER BY run_id, n
    FOR NO KEY UPDATE)
UPDATE tasks SET open_needs = open_needs + change.n,
                 rank = CASE WHEN open_needs + change.n = 0
                             THEN change.now - priority * change.ageing_ms ELSE rank END
FROM change JOIN kept ON kept.id = change.task_id WHERE tasks.id = kept.id
"""


def _any(_: Sequence[Params]) -> bool:
    return True


def _each_once(rows: Sequence[Params]) -> bool:
    """A row that is changed twice must be changed in order."""
    return len({row["id"] for row in rows}) == len(rows)


FOR_UPDATE = " FOR NO KEY UPDATE"
# By the statement for one row: that for many, and whether these rows may be written at once.
BULK_STATEMENTS: Mapping[str, tuple[str, Callable[[Sequence[Params]], bool]]] = {
    sql.INSERT_ENTRY: (_INSERT_ENTRIES, _any),
    sql.UPDATE_TASK: (_UPDATE_TASKS, _each_once),
    sql.open_dependents_statement(FOR_UPDATE): (_OPEN_DEPENDENTS, _any),
}
