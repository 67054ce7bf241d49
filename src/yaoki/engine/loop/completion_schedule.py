"""The times at which a pool completes its runs, and warnings that a run gets once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from yaoki.core.bounded_cache import BoundedCache
from yaoki.core.model import RunId
from yaoki.errors import GitFailed, RemoteUnreachable, StoreError, YaokiError
from yaoki.ports import Clock, PoolStore

# Deadlines pass without a commit to the store, so runs are checked at least this often.
COMPLETION_INTERVAL = timedelta(seconds=1)
# When git fails while a run is completed: the wait, and the tries if it is not the remote.
COMPLETION_RETRY_WAIT = timedelta(seconds=5)
COMPLETION_FAILURES_MAX = 5


class JournalWarnings:
    """Warnings in the journals of runs; the same one is not repeated."""

    def __init__(self, store: PoolStore) -> None:
        self._store = store
        self._last: BoundedCache[RunId, str] = BoundedCache()

    def warn_once(self, run_id: RunId, message: str, key: str = "") -> None:
        """`key` identifies the warning if its message varies."""
        if self._last.get(run_id) != (key or message):
            self._last[run_id] = key or message
            self._store.note(run_id, "WARNING", {"message": message})


class CompletionSchedule:
    """`complete` takes the next step of a run in which nothing can be claimed; true at its end."""

    def __init__(
        self,
        store: PoolStore,
        clock: Clock,
        complete: Callable[[RunId], bool],
        warnings: JournalWarnings,
    ) -> None:
        self._store, self._clock = store, clock
        self._complete, self._warnings = complete, warnings
        self._version = -1
        self._due_at: datetime | None = None
        self._git_failures = 0

    def complete_all(self, runs: Sequence[RunId]) -> bool:
        """Are all runs at their end?

        A transient failure of git is retried, and an unreachable remote without limit.
        """
        now = self._clock.now()
        if self._due_at is not None and now < self._due_at:
            return False
        try:
            completed = [self._complete(run_id) for run_id in runs]
        except GitFailed as failed:
            self._git_failures += not isinstance(failed, RemoteUnreachable)
            if not failed.transient or self._git_failures > COMPLETION_FAILURES_MAX:
                raise
            self._due_at = now + COMPLETION_RETRY_WAIT
            for run_id in runs:
                self._warnings.warn_once(run_id, failed.sentence)
            return False
        self._git_failures = 0
        return all(completed)

    def complete_due(self, runs: Sequence[RunId]) -> None:
        """Complete idle runs after a change of the store, and once per interval without one."""
        version, now = self._store.version(), self._clock.now()
        is_due = self._due_at is None or now >= self._due_at
        if version == self._version and not is_due:
            return
        self._version, self._due_at = version, now + COMPLETION_INTERVAL
        for run_id in runs:
            try:
                self._complete(run_id)
            except StoreError:
                raise
            except YaokiError as error:
                self._warnings.warn_once(run_id, error.sentence)
