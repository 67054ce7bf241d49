"""Runs that wait for a person: for the answer of a task, or because they are paused."""

from __future__ import annotations

from yaoki.adapters.store.database import Database
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import RunId

# A merged run still asks about work that was undone since; one that was cancelled is over.
ASKING = """
SELECT r.id AS run_id, r.paused, t.id AS task_id, t.name FROM runs r
LEFT JOIN tasks t ON t.run_id = r.id AND t.state = 'ESCALATED'
WHERE r.cancel_wanted = 0 AND (r.paused <> '' OR t.id IS NOT NULL)
ORDER BY r.created_ms DESC, r.id, t.n
"""


@dataclass(frozen=True, slots=True)
class UnansweredQuestion:
    """`subject` is what is answered: a task, or a paused run, which has no `task_name`."""

    run_id: RunId
    subject: str
    task_name: str = ""


def find_open_questions(database: Database) -> list[UnansweredQuestion]:
    """Those of the newest run first; that of a paused run before those of its tasks."""
    found: dict[str, UnansweredQuestion] = {}
    with database.read() as tx:
        for row in tx.rows(ASKING):
            run_id = RunId(row["run_id"])
            if row["paused"]:
                found.setdefault(run_id, UnansweredQuestion(run_id, run_id))
            if row["task_id"]:
                found[row["task_id"]] = UnansweredQuestion(run_id, row["task_id"], row["name"])
    return list(found.values())
