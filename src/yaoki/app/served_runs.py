"""The runs that a worker serves: all open runs that this repository can run."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from yaoki.core.bounded_cache import BoundedCache
from yaoki.errors import RemoteUnreachable, WorkspaceError, YaokiError

if TYPE_CHECKING:
    from collections.abc import Callable

    from yaoki.app.build import App
    from yaoki.core.model import RunId

PRUNING_S_MAX = 30.0


class ServedRuns:
    """Called several times a second; the store is read only after a commit."""

    def __init__(self, app: App, only: str, warn: Callable[[str], None]) -> None:
        self._app, self._only, self._warn = app, only, warn
        self._version = -1
        self._runs: list[RunId] = []
        self._ours: BoundedCache[RunId, bool] = BoundedCache()
        self._warned: BoundedCache[str, None] = BoundedCache()
        self._pruning: threading.Thread | None = None

    def __call__(self) -> list[RunId]:
        version = self._app.store.version()
        if version != self._version:
            self._version = version
            before, self._runs = self._runs, self._list_open()
            for run_id in self._runs:
                if run_id not in before:
                    self._on_begin(run_id)
            for run_id in before:
                if run_id not in self._runs:
                    self._on_end(run_id)
        return self._runs

    def _list_open(self) -> list[RunId]:
        unfinished = self._app.store.unfinished_runs()
        return [
            r
            for r, repo, base in unfinished
            if self._only in ("", r) and self._is_ours(r, repo, base)
        ]

    def _is_ours(self, run_id: RunId, repo: str, base: str) -> bool:
        """A store may be shared, so a run may belong to another repository.

        With a remote, any clone that has the base or can fetch it can run it.  While the remote is
        unreachable this is unknown.
        """
        if repo == str(self._app.repository.top):
            return True
        if run_id not in self._ours:
            try:
                self._ours[run_id] = self._can_reach(run_id, base)
            except RemoteUnreachable as away:
                self._warn_once(f"run {run_id} waits for the remote: {away.sentence}")
                return False
            if not self._ours[run_id]:
                self._warn(f"run {run_id} belongs to {repo}, so this worker does not serve it")
        return self._ours[run_id]

    def _can_reach(self, run_id: RunId, base: str) -> bool:
        """A clone that is behind fetches the run's branch from the remote."""
        if not self._app.settings.workspace.remote:
            return False
        workspace = self._app.workspace
        if workspace.contents.is_reachable(base):
            return True
        if away := workspace.remote.remote_problem():
            raise RemoteUnreachable(away)
        try:
            workspace.branches.open_run_branch(self._app.store.run(run_id))
        except RemoteUnreachable:
            raise
        except WorkspaceError as failed:
            self._warn(f"run {run_id} is not on the remote here: {failed.sentence}")
            return False
        return workspace.contents.is_reachable(base)

    def _warn_once(self, words: str) -> None:
        if words not in self._warned:
            self._warned[words] = None
            self._warn(words)

    def _on_begin(self, run_id: RunId) -> None:
        """Open its branch and remove leftovers of finished tasks, once per run; a failure only
        warns.
        """
        try:
            run = self._app.store.run(run_id)
            self._app.control.check_run_branch(run)
            self._app.control.sweep(run)
        except YaokiError as failed:
            self._app.store.note(run_id, "WARNING", {"message": failed.sentence})

    def _on_end(self, run_id: RunId) -> None:
        """In the background, another run may be old enough to be archived."""
        if self._pruning is None or not self._pruning.is_alive():
            self._pruning = threading.Thread(target=self._prune, args=(run_id,), name="prune")
            self._pruning.start()

    def _prune(self, run_id: RunId) -> None:
        from yaoki.app.retention import prune_one_run

        prune_one_run(self._app, run_id)

    def close(self) -> None:
        if self._pruning is not None:
            self._pruning.join(PRUNING_S_MAX)
