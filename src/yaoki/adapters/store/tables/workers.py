"""Workers as they tell of themselves, and what a claim leaves to others.

Nothing here is in the journal: a worker that lives tells again, and a dead one is forgotten.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import timedelta
from typing import Any

from yaoki.adapters.store.database import Link, patient
from yaoki.adapters.store.tables.rows import Fields, instant, ms
from yaoki.adapters.store.tables.writes import Writes
from yaoki.core.model import RunId, TaskId
from yaoki.core.settings.tags import covered
from yaoki.ports import BEGUN, NOTHING_NEW, Seen, Serving

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


class Workers(Writes):
    """Each public method is one transaction."""

    def worker_beat(self, worker: Serving, gone_after: timedelta) -> None:
        """It lives; whoever did not say so for too long is forgotten."""

        def work(link: Link) -> None:
            now = self._now()
            link.run(FORGET, {"now": ms(now)})
            link.run(BEAT, {**_params(worker), "now": ms(now), "gone_ms": ms(now + gone_after)})

        self._db.write(work)

    def worker_left(self, holder: str) -> None:
        self._db.write(lambda link: link.run(LEAVE, {"holder": holder}))

    @patient
    def workers(self) -> list[Seen]:
        """Those that told of themselves not long ago, oldest first."""
        with self._db.read() as link:
            holding: dict[str, list[TaskId]] = defaultdict(list)
            for row in link.rows(HOLDING):
                holding[row["holder"]].append(TaskId(row["id"]))
            live = link.rows(LIVE, {"now": ms(self._now())})
            return [_seen(row, holding[row["holder"]]) for row in live]

    @patient
    def open_runs(self) -> list[tuple[RunId, str, str]]:
        """Runs that are not summed up: id, repository and base commit, oldest first."""
        with self._db.read() as link:
            return [(RunId(row["id"]), row["repo"], row["base"]) for row in link.rows(OPEN)]


def narrowed(
    link: Link, run_id: str, tags: Collection[str], begin: str
) -> tuple[str, dict[str, Any]]:
    """What a worker with these tags and this much room does not take, as a condition."""
    held = [row["tags"] for row in link.rows(RUN_TAGS, {"run_id": run_id})]
    lacking = [wanted for wanted in held if not covered(wanted, tags)]
    params = {f"t{i}": wanted for i, wanted in enumerate(lacking)}
    names = ", ".join(f":{name}" for name in params)
    without = f"AND tags NOT IN ({names})" if params else ""
    return " ".join(part for part in (without, LEFT.get(begin, "")) if part), params


def _params(worker: Serving) -> dict[str, Any]:
    return {
        "holder": worker.holder,
        "host": worker.host,
        "name": worker.name,
        "slots": worker.slots,
        "tags": ",".join(worker.tags),
        "runs": ",".join(worker.runs),
        "waits": worker.waits,
        "doing": worker.doing,
        "background": int(worker.background),
    }


def _seen(row: Fields, tasks: list[TaskId]) -> Seen:
    worker = Serving(
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
    return Seen(worker, instant(row["since_ms"]), instant(row["beat_ms"]), tuple(tasks))
