"""The private resources of a worktree: a leased range of ports and a database name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Protocol

from yaoki.core.model import Task
from yaoki.core.settings.resources import PortRanges, database_name
from yaoki.ports import Clock, LeasedPorts

# After all port ranges were found in use, no task that needs one starts for this long.
PORTS_WAIT = timedelta(seconds=5)


class PortRegistry(Protocol):
    """The port ranges in use on this machine, by tasks of any store."""

    def lock(self) -> AbstractContextManager[None]: ...
    def list_ranges_of_others(self, owner: str) -> list[tuple[int, int]]: ...
    def claim_range(self, owner: str, worktree: str, base: int, count: int) -> None: ...
    def release_ranges(self, owner: str) -> None: ...


class TaskResources:
    """Leased in the store when a worktree is prepared, released when it is removed."""

    def __init__(
        self,
        store: LeasedPorts,
        machine: PortRegistry,
        clock: Clock,
        *,
        host: str,
        ports: PortRanges | None,
        prefix: str,
        worktree: Callable[[Task], str],
    ) -> None:
        self._store, self._machine, self._clock = store, machine, clock
        self._host, self._ports, self._prefix = host, ports, prefix
        self._worktree = worktree
        self._bases: dict[str, int] = {}
        self._lock = threading.Lock()
        self._full_until: datetime | None = None

    def lease(self, task: Task) -> Mapping[str, str] | None:
        """The task's variables, the same each time; None when every range is in use."""
        variables = {"YAOKI_DATABASE": database_name(self._prefix, task.id)}
        if self._ports is None:
            return variables
        base = self._bases.get(task.id)
        if base is None:
            base = self._lease(task, self._ports)
        if base is None:
            self._full_until = self._clock.now() + PORTS_WAIT
            return None
        count = str(self._ports.count)
        return {**variables, "YAOKI_PORT_BASE": str(base), "YAOKI_PORT_COUNT": count}

    def _lease(self, task: Task, ports: PortRanges) -> int | None:
        with self._lock, self._machine.lock():
            avoid = self._machine.list_ranges_of_others(task.id)
            base = self._store.lease_ports(task.id, self._host, ports, avoid)
            if base is not None:
                self._machine.claim_range(task.id, self._worktree(task), base, ports.count)
                self._bases[task.id] = base
            return base

    def release(self, task: Task) -> None:
        """Called when the worktree is removed; calling it twice does no harm."""
        if self._ports is None:
            return
        self._bases.pop(task.id, None)
        self._store.free_ports(task.id)
        with self._lock, self._machine.lock():
            self._machine.release_ranges(task.id)
        self._full_until = None

    @property
    def exhausted_reason(self) -> str:
        """The reason why no further worktree can be prepared now; empty when one can."""
        if self._ports is None or self._full_until is None:
            return ""
        if self._clock.now() >= self._full_until:
            return ""
        return self.exhausted_message

    @property
    def exhausted_message(self) -> str:
        ports = self._ports
        assert ports is not None, "no ports are leased"
        number = len(list(ports.bases()))
        span = f"{ports.low}-{ports.high}"
        return f"all {number} port ranges ({span}, {ports.count} each) are used by worktrees"
