"""Ranges of ports, one per worktree and machine.

The store keeps those that share it apart; files of the machine keep apart those that do not, so a
store that was made again loses nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable

from yaoki.adapters.store.database import Transaction
from yaoki.adapters.store.tables.writes import EventWriter
from yaoki.core.settings.resources import PortRanges

HELD = "SELECT host, base, ports FROM leased_ports WHERE task_id = :task_id"
TAKEN = "SELECT base, ports FROM leased_ports WHERE host = :host AND task_id <> :task_id"
FREE = "DELETE FROM leased_ports WHERE task_id = :task_id"
LEASE = """
INSERT INTO leased_ports (task_id, host, base, ports) VALUES (:task_id, :host, :base, :ports)
"""
# Left by a kill between a task's end and the release; the task's end is what counts.
OVER = """
DELETE FROM leased_ports WHERE host = :host AND task_id NOT IN (
    SELECT id FROM tasks WHERE state IN ('WAITING', 'ACTIVE', 'ESCALATED'))
"""


class PortLeases(EventWriter):
    """Each public method is one transaction."""

    def lease_ports(
        self, task_id: str, host: str, ports: PortRanges, avoid: Iterable[tuple[int, int]]
    ) -> int | None:
        """The base of the task's range, the same one each time; nothing when all are taken.

        `avoid` are ranges that others on this machine have, as (base, count).
        """
        foreign = list(avoid)

        def work(link: Transaction) -> int | None:
            link.lock_by_name(f"ports of {host}")
            row = link.row(HELD, {"task_id": task_id})
            if row is not None and row["host"] == host and _fits(row["base"], ports, foreign):
                return int(row["base"])
            link.run(FREE, {"task_id": task_id})
            link.run(OVER, {"host": host})
            rows = link.rows(TAKEN, {"host": host, "task_id": task_id})
            base = ports.first_free([*((r["base"], r["ports"]) for r in rows), *foreign])
            if base is not None:
                given = {"task_id": task_id, "host": host, "base": base, "ports": ports.count}
                link.run(LEASE, given)
            return base

        return self._db.write(work)

    def free_ports(self, task_id: str) -> None:
        self._db.write(lambda link: link.run(FREE, {"task_id": task_id}))


def _fits(base: int, ports: PortRanges, foreign: list[tuple[int, int]]) -> bool:
    """Is it still one of the ranges that the settings name, and nobody else's?"""
    inside = base in ports.bases()
    return inside and not any(b < base + ports.count and base < b + n for b, n in foreign)
