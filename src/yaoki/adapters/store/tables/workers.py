"""Workers by their heartbeats, and which tasks a claim leaves to other workers.

Nothing here is in the journal: a living worker reports again, and a dead one is forgotten.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.database import Database, Transaction, retries_reads
from yaoki.adapters.store.rows import SqlRow, from_ms, to_ms
from yaoki.core.model import RunId, TaskId
from yaoki.core.settings.tags import has_all_tags
from yaoki.ports import ClaimScope, WorkerActivity, WorkerInfo, WorkerSeen

if TYPE_CHECKING:
    from yaoki.adapters.store.clock import StoreClock

HEARTBEAT = """
INSERT INTO workers (holder, host, name, slots, tags, since_ms, beat_ms, gone_ms, runs, waits,
                     doing, background)
VALUES (:holder, :host, :name, :slots, :tags, :now, :now, :gone_ms, :runs, :waits, :doing,
        :background)
ON CONFLICT (holder) DO UPDATE SET beat_ms = excluded.beat_ms, gone_ms = excluded.gone_ms,
    slots = excluded.slots, waits = excluded.waits, doing = excluded.doing
"""
DELETE_DEAD = "DELETE FROM workers WHERE gone_ms < :now"
DELETE_WORKER = "DELETE FROM workers WHERE holder = :holder"
LIVE = "SELECT * FROM workers WHERE gone_ms >= :now ORDER BY since_ms, holder"
ACTIVE_TASKS = "SELECT id, holder FROM tasks WHERE state = 'ACTIVE' ORDER BY run_id, n"
UNFINISHED_RUNS = "SELECT id, repo, base FROM runs WHERE summed_ms IS NULL ORDER BY created_ms, id"
RUN_TAGS = "SELECT tags FROM run_tags WHERE run_id = :run_id"
# A machine without room starts no new worktree, or nothing that would start an agent.
EXCLUDED_BY_SCOPE: dict[ClaimScope, str] = {
    ClaimScope.BEGUN: "AND NOT (stage = 'PREPARE' AND attempt = 0)",
    ClaimScope.NOTHING_NEW: "AND stage <> 'PREPARE'",
}


class WorkerRegistry:
    """Each public method is one transaction."""

    def __init__(self, database: Database, clock: StoreClock) -> None:
        self._db, self._clock = database, clock

    def record_worker_heartbeat(self, worker: WorkerInfo, gone_after: timedelta) -> None:
        """Store that the worker lives; workers that were silent for too long are forgotten."""

        def work(tx: Transaction) -> None:
            now = self._clock.row_time()
            times = {"now": to_ms(now), "gone_ms": to_ms(now + gone_after)}
            tx.run(DELETE_DEAD, {"now": times["now"]})
            tx.run(HEARTBEAT, {**_columns(worker), **times})

        self._db.write(work)

    def remove_worker(self, holder: str) -> None:
        self._db.write(lambda tx: tx.run(DELETE_WORKER, {"holder": holder}))

    @retries_reads
    def workers(self) -> list[WorkerSeen]:
        """The workers with a recent heartbeat, oldest first."""
        with self._db.read() as tx:
            tasks: dict[str, list[TaskId]] = defaultdict(list)
            for row in tx.rows(ACTIVE_TASKS):
                tasks[row["holder"]].append(TaskId(row["id"]))
            live = tx.rows(LIVE, {"now": to_ms(self._clock.row_time())})
            return [_worker_from_row(row, tasks[row["holder"]]) for row in live]

    @retries_reads
    def unfinished_runs(self) -> list[tuple[RunId, str, str]]:
        """Runs without a summary: id, repository and base commit, oldest first."""
        with self._db.read() as tx:
            rows = tx.rows(UNFINISHED_RUNS)
            return [(RunId(row["id"]), row["repo"], row["base"]) for row in rows]


def claim_condition(
    tx: Transaction, run_id: str, tags: Collection[str], scope: ClaimScope
) -> tuple[str, dict[str, Any]]:
    """A condition that excludes what a worker with these tags and this scope does not take."""
    tag_sets = [row["tags"] for row in tx.rows(RUN_TAGS, {"run_id": run_id})]
    lacking = [tag_set for tag_set in tag_sets if not has_all_tags(tag_set, tags)]
    params = {f"t{i}": tag_set for i, tag_set in enumerate(lacking)}
    names = ", ".join(f":{name}" for name in params)
    by_tags = f"AND tags NOT IN ({names})" if params else ""
    parts = (by_tags, EXCLUDED_BY_SCOPE.get(scope, ""))
    return " ".join(part for part in parts if part), params


def _columns(worker: WorkerInfo) -> dict[str, Any]:
    return {
        "holder": worker.holder,
        "host": worker.host,
        "name": worker.name,
        "slots": worker.slots,
        "tags": ",".join(worker.tags),
        "runs": ",".join(worker.runs),
        "waits": worker.idle_reason,
        "doing": worker.activity.value,
        "background": int(worker.background),
    }


def _worker_from_row(row: SqlRow, tasks: list[TaskId]) -> WorkerSeen:
    worker = WorkerInfo(
        row["holder"],
        row["host"],
        row["name"],
        row["slots"],
        tuple(filter(None, row["tags"].split(","))),
        tuple(filter(None, row["runs"].split(","))),
        row["waits"],
        WorkerActivity(row["doing"]),
        bool(row["background"]),
    )
    return WorkerSeen(worker, from_ms(row["since_ms"]), from_ms(row["beat_ms"]), tuple(tasks))
