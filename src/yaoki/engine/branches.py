"""The run branch is the whole run's: moved by somebody else it is one question, not one a task."""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.core.model import Run, TaskKind
from yaoki.engine.forged import refuse_forged
from yaoki.errors import BranchStrayed, NotNow
from yaoki.ports import Row, Store, Workspace

# How the reason of such a pause begins.
BRANCH = "branch: "
BACK = "put it back"


def ask(store: Store, run: Run, strayed: BranchStrayed) -> None:
    """Nothing of the run is claimed, so nothing lands, until a person has put its branch back."""
    store.pause(run.id, f"{BRANCH}{strayed.sentence}; {BACK}: {strayed.hint}")


def landed_on(rows: Sequence[Row]) -> list[Row]:
    """What must stand on the run branch; what subtasks landed comes there with their group."""
    waiting = {row.id for row in rows if row.kind == TaskKind.GROUP and not row.landed}
    return [row for row in rows if row.landed and row.parent not in waiting]


class Guard:
    """Holds the run branch against what the store knows to have landed on it."""

    def __init__(self, store: Store, workspace: Workspace) -> None:
        self._store, self._workspace = store, workspace

    def look(self, run: Run) -> None:
        """At the beginning of a life, and before a run is called done."""
        try:
            self._refuse(run)
        except BranchStrayed as strayed:
            ask(self._store, run, strayed)

    def refuse(self, run: Run) -> None:
        """A person says go: only once the branch is back, also where nothing has landed yet."""
        try:
            self._workspace.refuse_strayed(run)
            self._refuse(run)
        except BranchStrayed as strayed:
            raise NotNow(strayed.sentence, hint=f"{BACK}: {strayed.hint}") from strayed

    def _refuse(self, run: Run) -> None:
        rows = landed_on(self._store.rows(run.id))
        # Who landed nothing of his own stands at what he found there, whoever put it there.
        landed = [row.landed for row in rows if row.landed != row.onto]
        if rows:
            self._workspace.refuse_strayed(run, landed)
            refuse_forged(self._store, self._workspace, run)
