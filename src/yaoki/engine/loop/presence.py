"""Registers a worker in the store, so that people see which workers run and what they lack."""

from __future__ import annotations

from datetime import timedelta

from yaoki.core.lazy_dataclass import replace
from yaoki.ports import WorkerActivity, WorkerInfo, Workers


class Presence:
    """Renewed at every heartbeat; without renewal the worker counts as gone after a while."""

    def __init__(self, store: Workers, worker: WorkerInfo, gone_after: timedelta) -> None:
        self._store, self._worker, self._gone_after = store, worker, gone_after

    def beat(self, *, idle_reason: str, stopping: bool) -> None:
        activity = WorkerActivity.STOPPING if stopping else WorkerActivity.SERVING
        worker = replace(self._worker, idle_reason=idle_reason, activity=activity)
        self._store.record_worker_heartbeat(worker, self._gone_after)

    def leave(self) -> None:
        self._store.remove_worker(self._worker.holder)
