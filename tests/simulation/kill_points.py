"""The accesses at which each scenario is killed: at each rough state once.

A rough state is the access itself, the last entry of the journal, the active tasks with their stage
and attempt, the closed accounts, the state of the run, and what the other tasks still wait for: the
next worker decides nothing about a task that is over.  A kill there meets the same decisions of the
next worker in every scenario, so the first scenario that reaches it tries it.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache

from tests.simulation.scenarios import HARD, PLAIN, WHOLE_RUNS
from tests.simulation.worker_lives import Scenario, Scene, change_mark, run_to_end
from tests.simulation.world import Accesses

ORDER = (PLAIN, HARD, *WHOLE_RUNS.values())
ACTIVE = (
    "SELECT kind, stage, min(attempt, 2), held, undo_wanted, cancel_wanted, reason, parent != ''"
    " FROM tasks WHERE state = 'ACTIVE' ORDER BY 1, 2, 3, 4, 5, 6, 7, 8"
)
OTHERS = (
    "SELECT DISTINCT state FROM tasks WHERE state IN ('WAITING', 'ESCALATED')"
    " UNION SELECT 'held' FROM tasks WHERE state != 'ACTIVE' AND held"
    " UNION SELECT 'undo' FROM tasks WHERE state != 'ACTIVE' AND undo_wanted"
)
LAST = "SELECT event FROM journal ORDER BY seq DESC LIMIT 1"
ACCOUNTS = "SELECT problem, asking != '', probe != '' FROM accounts ORDER BY 1, 2, 3"
RUN = "SELECT paused != '', min(iteration, 2) FROM runs"

# Earlier scenarios reach every state of these.
WITHOUT_OWN_STATES = {
    *("undone-proven", "account-unusable-agent", "account-repeated-failure", "race-all"),
}


def new_kill_points(story: Scenario) -> frozenset[int]:
    """Accesses of this scenario at rough states that no earlier one reaches."""
    (number,) = (n for n, one in enumerate(ORDER) if one is story)
    known = {state for n in range(number) for state in _reached(n)}
    return frozenset(count for state, count in _reached(number).items() if state not in known)


@cache
def _reached(number: int) -> dict[str, int]:
    """The first access at each rough state, among those since whose last something happened."""
    found: dict[str, int] = {}
    marks: set[str] = set()

    def look(scene: Scene, touch: Accesses) -> None:
        if (mark := change_mark(scene, touch)) not in marks:
            marks.add(mark)
            found.setdefault(_rough_state(scene, touch), touch.count)

    run_to_end(ORDER[number], lambda _: None, between=look)
    return found


def _rough_state(scene: Scene, touch: Accesses) -> str:
    store = f"file:{scene.home / 'state.db'}?mode=ro"
    with closing(sqlite3.connect(store, uri=True)) as link:
        queries = (ACTIVE, LAST, RUN, ACCOUNTS)
        active, last, run, accounts = (link.execute(q).fetchall() for q in queries)
        others = sorted(link.execute(OTHERS).fetchall())
    return repr((touch.names[-1], active, last, run, accounts, others))
