"""A worker tells the store that it is there, so that people see who serves and what is lacking."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from yaoki.ports import WorkerInfo, Workers


class Presence:
    """Told at every heartbeat; old news are no news."""

    def __init__(self, store: Workers, worker: WorkerInfo, gone_after: timedelta) -> None:
        self._store, self._worker, self._gone_after = store, worker, gone_after

    def beat(self, *, waits: str = "", stopping: bool = False) -> None:
        doing = "STOPPING" if stopping else "SERVING"
        now = replace(self._worker, idle_reason=waits, activity=doing)
        self._store.record_worker_heartbeat(now, self._gone_after)

    def leave(self) -> None:
        self._store.remove_worker(self._worker.holder)
