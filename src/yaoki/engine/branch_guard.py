"""The run branch is the whole run's: moved by somebody else it is one question, not one a task."""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.core.model import Run, TaskKind
from yaoki.engine.foreign_commits import accept, refuse_forged
from yaoki.errors import BranchStrayed, NotNow, WorkspaceError
from yaoki.ports import Row, Store, Workspace

# How the reason of such a pause begins.
BRANCH = "branch: "
BACK = "put it back"


def _way(strayed: BranchStrayed) -> str:
    """A command puts it back; anything else says for itself what it is."""
    return f"{BACK}: {strayed.way}" if strayed.way else strayed.hint


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
        rows = landed_on(self._store.rows(run.id))
        try:
            if rows:
                self._workspace.bring_along(run)
                self._refuse(run, rows)
        except BranchStrayed as strayed:
            self._ask(run, strayed)

    def ask(self, run: Run, strayed: BranchStrayed) -> None:
        """Somebody at work met it, who knows only what he has seen: the store says what else the
        branch must hold, and so where it has to go back to.
        """
        try:
            self._refuse(run, landed_on(self._store.rows(run.id)))
        except BranchStrayed as whole:
            strayed = whole
        except WorkspaceError as failed:
            # What was met is asked about all the same.
            self._store.note(run.id, "WARNING", {"message": failed.sentence})
        self._ask(run, strayed)

    def _ask(self, run: Run, strayed: BranchStrayed) -> None:
        """Nothing of the run is claimed, so nothing lands, until a person has put it back."""
        self._store.pause(run.id, f"{BRANCH}{strayed.sentence}; {_way(strayed)}")

    def refuse(self, run: Run, otherwise: str = "") -> None:
        """A person goes on, or ships it: only once the branch is back, also where nothing has
        landed yet.  `otherwise` is what else may be done.
        """
        try:
            self._refuse(run, landed_on(self._store.rows(run.id)))
        except BranchStrayed as strayed:
            ways = "; ".join(filter(None, (_way(strayed), otherwise)))
            raise NotNow(strayed.sentence, hint=ways) from strayed

    def freed(self, run: Run) -> None:
        """A person says go: the branch must be back, and nobody's checkout."""
        self.refuse(run)
        try:
            self._workspace.refuse_held(run)
        except BranchStrayed as held:
            raise NotNow(held.sentence, hint=held.hint) from held

    def accept(self, run: Run, commit: str, how: str = "") -> None:
        """A person takes a step that no task landed as it is; the store remembers."""
        accept(self._store, self._workspace, run, commit, how)

    def _refuse(self, run: Run, rows: Sequence[Row]) -> None:
        # Who landed nothing of his own stands at what he found there, whoever put it there.
        landed = [row.landed for row in rows if row.landed != row.onto]
        self._workspace.refuse_strayed(run, landed)
        refuse_forged(self._store, self._workspace, run)
