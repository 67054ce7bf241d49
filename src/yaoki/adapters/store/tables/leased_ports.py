"""Port ranges, one per worktree and machine.  Each public method is one transaction.

The store keeps workers that share it apart; files on the machine keep apart those that do not, so
a rebuilt store loses nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Database, Transaction
    from yaoki.core.settings.resources import PortRanges

LEASED = "SELECT host, base, ports FROM leased_ports WHERE task_id = :task_id"
TAKEN = "SELECT base, ports FROM leased_ports WHERE host = :host AND task_id <> :task_id"
FREE = "DELETE FROM leased_ports WHERE task_id = :task_id"
LEASE = """
INSERT INTO leased_ports (task_id, host, base, ports) VALUES (:task_id, :host, :base, :ports)
"""
# Left by a kill between a task's end and the release of its ports.
FREE_OF_ENDED_TASKS = """
DELETE FROM leased_ports WHERE host = :host AND NOT EXISTS (
    SELECT 1 FROM tasks
    WHERE id = leased_ports.task_id AND state IN ('WAITING', 'ACTIVE', 'ESCALATED'))
"""


class PortLeases:
    """The port ranges that tasks have."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def lease_ports(
        self, task_id: str, host: str, ports: PortRanges, avoid: Iterable[tuple[int, int]]
    ) -> int | None:
        """The base of the task's range, the same one each time; None when all are taken.

        `avoid` are ranges that other programs on this machine use, as (base, count).
        """
        foreign = list(avoid)

        def work(tx: Transaction) -> int | None:
            tx.lock_by_name(f"ports of {host}")
            row = tx.row(LEASED, {"task_id": task_id})
            if row is not None and row["host"] == host and _fits(row["base"], ports, foreign):
                return int(row["base"])
            tx.run(FREE, {"task_id": task_id})
            tx.run(FREE_OF_ENDED_TASKS, {"host": host})
            rows = tx.rows(TAKEN, {"host": host, "task_id": task_id})
            base = ports.first_free([*((r["base"], r["ports"]) for r in rows), *foreign])
            if base is not None:
                lease = {"task_id": task_id, "host": host, "base": base, "ports": ports.count}
                tx.run(LEASE, lease)
            return base

        return self._db.write(work)

    def free_ports(self, task_id: str) -> None:
        self._db.write(lambda tx: tx.run(FREE, {"task_id": task_id}))


def _fits(base: int, ports: PortRanges, foreign: list[tuple[int, int]]) -> bool:
    """Is the range one that the settings name, and free of foreign ranges?"""
    inside = base in ports.bases()
    return inside and not any(b < base + ports.count and base < b + n for b, n in foreign)
