"""The run branch is the whole run's: moved by somebody else it is one question, not one a task."""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.core.model import Run, TaskKind
from yaoki.engine.foreign_commits import accept_foreign_commit, refuse_foreign_commits
from yaoki.errors import BranchMovedExternally, NotNow, WorkspaceError
from yaoki.ports import Store, TaskRow, Workspace

# How the reason of such a pause begins.
BRANCH_PAUSE = "branch: "
BACK = "put it back"


def _way(strayed: BranchMovedExternally) -> str:
    """A command puts it back; anything else says for itself what it is."""
    return f"{BACK}: {strayed.restore_command}" if strayed.restore_command else strayed.hint


def rows_on_run_branch(rows: Sequence[TaskRow]) -> list[TaskRow]:
    """What must stand on the run branch; what subtasks landed comes there with their group."""
    waiting = {row.id for row in rows if row.kind == TaskKind.GROUP and not row.landed_commit}
    return [row for row in rows if row.landed_commit and row.parent not in waiting]


class BranchGuard:
    """Holds the run branch against what the store knows to have landed on it."""

    def __init__(self, store: Store, workspace: Workspace) -> None:
        self._store, self._workspace = store, workspace

    def pause_on_drift(self, run: Run) -> None:
        """At the beginning of a life, and before a run is called done."""
        rows = rows_on_run_branch(self._store.rows(run.id))
        try:
            if rows:
                self._workspace.branches.push_existing_run(run)
                self._refuse(run, rows)
        except BranchMovedExternally as strayed:
            self._ask(run, strayed)

    def pause_for(self, run: Run, strayed: BranchMovedExternally) -> None:
        """Somebody at work met it, who knows only what he has seen: the store says what else the
        branch must hold, and so where it has to go back to.
        """
        try:
            self._refuse(run, rows_on_run_branch(self._store.rows(run.id)))
        except BranchMovedExternally as whole:
            strayed = whole
        except WorkspaceError as failed:
            # What was met is asked about all the same.
            self._store.note(run.id, "WARNING", {"message": failed.sentence})
        self._ask(run, strayed)

    def _ask(self, run: Run, strayed: BranchMovedExternally) -> None:
        """Nothing of the run is claimed, so nothing lands, until a person has put it back."""
        self._store.pause(run.id, f"{BRANCH_PAUSE}{strayed.sentence}; {_way(strayed)}")

    def refuse_drift(self, run: Run, otherwise: str = "") -> None:
        """A person goes on, or ships it: only once the branch is back, also where nothing has
        landed yet.  `otherwise` is what else may be done.
        """
        try:
            self._refuse(run, rows_on_run_branch(self._store.rows(run.id)))
        except BranchMovedExternally as strayed:
            ways = "; ".join(filter(None, (_way(strayed), otherwise)))
            raise NotNow(strayed.sentence, hint=ways) from strayed

    def refuse_unrestored(self, run: Run) -> None:
        """A person says go: the branch must be back, and nobody's checkout."""
        self.refuse_drift(run)
        try:
            self._workspace.branches.refuse_checked_out(run)
        except BranchMovedExternally as held:
            raise NotNow(held.sentence, hint=held.hint) from held

    def accept_commit(self, run: Run, commit: str, how: str = "") -> None:
        """A person takes a step that no task landed as it is; the store remembers."""
        accept_foreign_commit(self._store, self._workspace, run, commit, how)

    def _refuse(self, run: Run, rows: Sequence[TaskRow]) -> None:
        # Who landed nothing of his own stands at what he found there, whoever put it there.
        landed = [row.landed_commit for row in rows if row.landed_commit != row.onto]
        self._workspace.branches.refuse_drift(run, landed)
        refuse_foreign_commits(self._store, self._workspace, run)
