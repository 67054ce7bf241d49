"""Guards the run branch: if somebody else moves it, the run asks once, not once for each task."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from yaoki.core.model import Pause, PauseCause, Run
from yaoki.engine.foreign_commits import (
    record_acceptance,
    refuse_acceptance,
    refuse_foreign_commits,
)
from yaoki.engine.landed_rows import rows_on_run_branch
from yaoki.errors import BranchMovedExternally, NotNow, WorkspaceError

if TYPE_CHECKING:
    from yaoki.ports import RunStore, TaskRow, Workspace


class BranchGuard:
    """Compares the run branch with what the store recorded as landed on it."""

    def __init__(self, store: RunStore, workspace: Workspace) -> None:
        self._store, self._workspace = store, workspace

    def pause_on_drift(self, run: Run) -> None:
        """Pause the run if its branch drifted: when a worker starts, and before a run is done."""
        rows = rows_on_run_branch(self._store.rows(run.id))
        try:
            if rows:
                self._workspace.branches.push_existing_run(run)
                self._refuse(run, rows)
        except BranchMovedExternally as drift:
            self._pause(run, drift)

    def pause_for(self, run: Run, drift: BranchMovedExternally) -> None:
        """Pause the run for a drift that a stage met.

        A stage knows only its own commits.  The store knows everything that the branch must
        contain, and so the commit to restore.
        """
        try:
            self._refuse(run, rows_on_run_branch(self._store.rows(run.id)))
        except BranchMovedExternally as complete:
            drift = complete
        except WorkspaceError as failed:
            # The run still pauses for the drift that the stage met.
            self._store.note(run.id, "WARNING", {"message": failed.sentence})
        self._pause(run, drift)

    def _pause(self, run: Run, drift: BranchMovedExternally) -> None:
        """No task of the run is claimed, so none lands, until a person has restored the branch."""
        self._store.pause(run.id, Pause(PauseCause.BRANCH, f"{drift.sentence}; {drift.remedy}"))

    def refuse_drift(self, run: Run, alternative: str = "", accepted: Collection[str] = ()) -> None:
        """Refuse a person's command while the branch has drifted, even if nothing has landed yet.

        `alternative` names another remedy for the hint; foreign commits in `accepted` may stay.
        """
        try:
            self._refuse(run, rows_on_run_branch(self._store.rows(run.id)), accepted)
        except BranchMovedExternally as drift:
            remedies = "; ".join(filter(None, (drift.remedy, alternative)))
            raise NotNow(drift.sentence, hint=remedies) from drift

    def refuse_unrestored(self, run: Run, accepted: Collection[str] = ()) -> None:
        """Refuse `go` until the branch is restored and not checked out anywhere."""
        self.refuse_drift(run, accepted=accepted)
        try:
            self._workspace.branches.refuse_checked_out(run)
        except BranchMovedExternally as drift:
            raise NotNow(drift.sentence, hint=drift.hint) from drift

    def refuse_acceptance(self, run: Run, commits: Sequence[str]) -> None:
        """Refuse to accept any commit but a foreign one that a landing is built on."""
        refuse_acceptance(self._store, self._workspace, run, commits)

    def record_acceptance(self, run: Run, commits: Sequence[str], how: str = "") -> None:
        """Record that a person accepts these commits of the branch that no task landed."""
        record_acceptance(self._store, run, commits, how)

    def _refuse(self, run: Run, rows: Sequence[TaskRow], accepted: Collection[str] = ()) -> None:
        # A task that landed no commit of its own says nothing about the branch head: skip it.
        landed = [row.landed_commit for row in rows if row.landed_commit != row.onto]
        self._workspace.branches.refuse_drift(run, landed)
        refuse_foreign_commits(self._store, self._workspace, run, accepted)
