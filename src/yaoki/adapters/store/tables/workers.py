"""Workers as they tell of themselves, and what a claim leaves to others.

Nothing here is in the journal: a worker that lives tells again, and a dead one is forgotten.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import timedelta
from typing import Any

from yaoki.adapters.store.database import Transaction, retries_reads
from yaoki.adapters.store.rows import SqlRow, from_ms, to_ms
from yaoki.adapters.store.tables.writes import EventWriter
from yaoki.core.model import RunId, TaskId
from yaoki.core.settings.tags import has_all_tags
from yaoki.ports import BEGUN, NOTHING_NEW, WorkerInfo, WorkerSeen

BEAT = """
INSERT INTO workers (holder, host, name, slots, tags, since_ms, beat_ms, gone_ms, runs, waits,
                     doing, background)
VALUES (:holder, :host, :name, :slots, :tags, :now, :now, :gone_ms, :runs, :waits, :doing,
        :background)
ON CONFLICT (holder) DO UPDATE SET beat_ms = excluded.beat_ms, gone_ms = excluded.gone_ms,
    slots = excluded.slots, waits = excluded.waits, doing = excluded.doing
"""
FORGET = "DELETE FROM workers WHERE gone_ms < :now"
LEAVE = "DELETE FROM workers WHERE holder = :holder"
LIVE = "SELECT * FROM workers WHERE gone_ms >= :now ORDER BY since_ms, holder"
HOLDING = "SELECT id, holder FROM tasks WHERE state = 'ACTIVE' ORDER BY run_id, n"
OPEN = "SELECT id, repo, base FROM runs WHERE summed_ms IS NULL ORDER BY created_ms, id"
RUN_TAGS = "SELECT tags FROM run_tags WHERE run_id = :run_id"
# What a machine without room leaves alone: a new worktree, or whatever would start an agent.
LEFT: dict[str, str] = {
    BEGUN: "AND NOT (stage = 'PREPARE' AND attempt = 0)",
    NOTHING_NEW: "AND stage <> 'PREPARE'",
}


class WorkerRegistry(EventWriter):
    """Each public method is one transaction."""

    def record_worker_heartbeat(self, worker: WorkerInfo, gone_after: timedelta) -> None:
        """It lives; whoever did not say so for too long is forgotten."""

        def work(link: Transaction) -> None:
            now = self._now()
            link.run(FORGET, {"now": to_ms(now)})
            link.run(
                BEAT, {**_params(worker), "now": to_ms(now), "gone_ms": to_ms(now + gone_after)}
            )

        self._db.write(work)

    def remove_worker(self, holder: str) -> None:
        self._db.write(lambda link: link.run(LEAVE, {"holder": holder}))

    @retries_reads
    def workers(self) -> list[WorkerSeen]:
        """Those that told of themselves not long ago, oldest first."""
        with self._db.read() as link:
            holding: dict[str, list[TaskId]] = defaultdict(list)
            for row in link.rows(HOLDING):
                holding[row["holder"]].append(TaskId(row["id"]))
            live = link.rows(LIVE, {"now": to_ms(self._now())})
            return [_seen(row, holding[row["holder"]]) for row in live]

    @retries_reads
    def unfinished_runs(self) -> list[tuple[RunId, str, str]]:
        """Runs that are not summed up: id, repository and base commit, oldest first."""
        with self._db.read() as link:
            return [(RunId(row["id"]), row["repo"], row["base"]) for row in link.rows(OPEN)]


def claim_condition(
    link: Transaction, run_id: str, tags: Collection[str], begin: str
) -> tuple[str, dict[str, Any]]:
    """What a worker with these tags and this much room does not take, as a condition."""
    held = [row["tags"] for row in link.rows(RUN_TAGS, {"run_id": run_id})]
    lacking = [wanted for wanted in held if not has_all_tags(wanted, tags)]
    params = {f"t{i}": wanted for i, wanted in enumerate(lacking)}
    names = ", ".join(f":{name}" for name in params)
    without = f"AND tags NOT IN ({names})" if params else ""
    return " ".join(part for part in (without, LEFT.get(begin, "")) if part), params


def _params(worker: WorkerInfo) -> dict[str, Any]:
    return {
        "holder": worker.holder,
        "host": worker.host,
        "name": worker.name,
        "slots": worker.slots,
        "tags": ",".join(worker.tags),
        "runs": ",".join(worker.runs),
        "waits": worker.idle_reason,
        "doing": worker.activity,
        "background": int(worker.background),
    }


def _seen(row: SqlRow, tasks: list[TaskId]) -> WorkerSeen:
    worker = WorkerInfo(
        row["holder"],
        row["host"],
        row["name"],
        row["slots"],
        tuple(filter(None, row["tags"].split(","))),
        tuple(filter(None, row["runs"].split(","))),
        row["waits"],
        row["doing"],
        bool(row["background"]),
    )
    return WorkerSeen(worker, from_ms(row["since_ms"]), from_ms(row["beat_ms"]), tuple(tasks))
