"""Housekeeping of a worker: claims, backups, unused worktrees, pending pushes, snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from yaoki.adapters.system.machine import is_holder_dead
from yaoki.app.warning_output import print_warning
from yaoki.core.model import State
from yaoki.errors import StoreError, Unknown, WorkspaceError

if TYPE_CHECKING:
    from yaoki.adapters.processes.daemon import Daemon
    from yaoki.app.build import App
    from yaoki.core.model import RunId

BACKUP_EVERY = timedelta(minutes=10)


class Upkeep:
    """For one process that serves runs; each warning is given once."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._backup_warning = self._idle_warning = ""

    def run_at_heartbeat(self, background: Daemon | None = None) -> None:
        """Release the claims of dead workers, end phases whose time is over, back up the store."""
        app = self._app
        if background is not None:
            background.rotate_own_log()
        app.store.database.refuse_if_replaced()
        app.services.row_guard.run_guarded(
            lambda: app.store.expire_claims(is_holder_dead, counted=True)
        )
        for run_id in app.context.list_open_run_ids():
            app.services.completion.expire(run_id)
        self.back_up_if_due()

    def back_up_if_due(self) -> None:
        """A backup that fails is a warning: the run continues with the store it has."""
        app = self._app
        try:
            app.store.backups.take_if_older(app.clock.now(), BACKUP_EVERY)
        except (OSError, StoreError) as error:
            words = f"no backup of the store could be made: {error}"
            if words != self._backup_warning:
                self._backup_warning = words
                for run_id in app.context.list_open_run_ids():
                    app.store.note(run_id, "WARNING", {"message": words})

    def run_when_idle(self) -> None:
        """Remove unused worktrees and retry pending pushes.  Failures are retried next time."""
        try:
            self._app.control.sweep_again()
            self._app.workspace.worktrees.remove_orphans()
            self._app.workspace.remote.catch_up_with_remote()
        except (StoreError, WorkspaceError) as error:
            if error.sentence != self._idle_warning:
                self._idle_warning = error.sentence
                print_warning(error.sentence)

    def prepare_worktrees_ahead(self, runs: Sequence[RunId], wanted: int) -> None:
        """While agents work: worktrees for up to `wanted` of the waiting tasks."""
        workspace, store = self._app.workspace, self._app.store
        try:
            for run_id in runs if workspace.worktrees.prepares_ahead else ():
                counts = store.count_by_state(run_id).items()
                waiting = sum(n for (state, _), n in counts if state is State.WAITING)
                workspace.worktrees.prepare_ahead(store.run(run_id), min(wanted, waiting))
        except (StoreError, WorkspaceError):
            return  # the task that needs a worktree makes its own, and reports what is wrong

    @contextmanager
    def drop_prepared_on_exit(self) -> Iterator[None]:
        """Remove prepared worktrees that no task took; the next worker removes those that stay."""
        try:
            yield
        finally:
            with suppress(WorkspaceError):
                self._app.workspace.worktrees.drop_prepared_worktrees()

    def expire_snapshots(self) -> list[str]:
        """Delete old snapshots, except those of tasks that are unfinished or unknown here."""
        app = self._app
        hours = timedelta(hours=app.settings.recovery.snapshot_retention_hours)
        until = app.clock.now() - hours
        needed = {
            snapshot.id
            for snapshot in app.workspace.recovery.list_snapshots()
            if snapshot.at < until and self._is_unfinished(snapshot.task_id)
        }
        return app.workspace.recovery.expire_snapshots(until, needed)

    def _is_unfinished(self, task_id: str) -> bool:
        try:
            return not self._app.store.task(task_id).state.is_final
        except Unknown:
            # The task belongs to another store that serves this clone as well.
            return True
