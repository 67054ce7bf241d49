"""Claims: who may act on which task, and until when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from yaoki.core.events import Claimed, LeaseExpired
from yaoki.core.model import Lease, RunId, Task, TaskId
from yaoki.core.schedule import share, turns
from yaoki.ports import Beat
from yaoki.store import statements as sql
from yaoki.store.rows import Fields, ms
from yaoki.store.sqlite import Link
from yaoki.store.writes import Writes


class Claims(Writes):
    """Claim, extend, take back."""

    def claim(
        self,
        holder: str,
        lease: timedelta,
        limit: int,
        *,
        runs: Sequence[RunId] = (),
        host: str = "",
        host_max: int = 0,
        alive: Callable[[str], bool] = lambda _: False,
    ) -> list[Task]:
        """Claim up to `limit` tasks: expired claims go back first, then each run gets its turn."""

        def work(link: Link) -> list[Task]:
            now = self._now()
            self._take_back(link, now, lease, alive)
            busy = link.rows(sql.BUSY)
            room = limit
            if host_max:
                here = sum(row["n"] for row in busy if row["holder"].startswith(f"{host}:"))
                room = min(limit, host_max - here)
            if room <= 0:
                return []
            return [
                self._write(
                    link,
                    task,
                    (Claimed(holder, task.epoch + 1, now + lease),),
                    claimed=True,
                )
                for task in self._pick(link, room, runs, busy, now)
            ]

        return self._db.write(work)

    def _take_back(
        self, link: Link, now: datetime, lease: timedelta, alive: Callable[[str], bool]
    ) -> None:
        """Expired claims.  A holder that is alive and busy keeps its task, up to a bound."""
        for row in link.rows(sql.EXPIRED, {"now": ms(now)}):
            held = timedelta(milliseconds=ms(now) - row["claimed_ms"])
            if alive(row["holder"]) and held < self._max_in_progress:
                link.run(sql.EXTEND, {**_who(row), "lease_ms": ms(now + lease)})
                continue
            task = self._task(link, row["id"])
            why = f"the lease ran out {ms(now) - row['lease_ms']} ms ago"
            expired = LeaseExpired(row["holder"], row["epoch"], counted=True, why=why)
            self._write(link, task, (expired,))

    def _pick(
        self,
        link: Link,
        room: int,
        runs: Sequence[RunId],
        busy: Sequence[Fields],
        now: datetime,
    ) -> list[Task]:
        """Fair between runs; within a run by rank; never past an agent's own limit."""
        open_runs = [r for r in self._open_runs(link) if not runs or r in runs]
        at_work = {r: sum(b["n"] for b in busy if b["run_id"] == r) for r in open_runs}
        by_agent: Counter[str] = Counter()
        for b in busy:
            by_agent[b["agent"]] += b["n"]
        ready = {r: self._ready(link, r, room, by_agent, now) for r in open_runs}
        order = turns({r: len(found) for r, found in ready.items()}, at_work, room)
        picked = [task for r, n in share(order).items() for task in ready[r][:n]]
        return self._within_agents(picked, by_agent)

    def _ready(
        self, link: Link, run_id: RunId, room: int, by_agent: Counter[str], now: datetime
    ) -> list[Task]:
        full = [
            name
            for name, spec in self._catalogue(link, run_id).agents.items()
            if spec.concurrency and by_agent[name] >= spec.concurrency
        ]
        statement, params = sql.READY, {"run_id": run_id, "now": ms(now), "limit": room}
        if full:
            names = ", ".join(f":a{i}" for i in range(len(full)))
            statement = statement.replace("ORDER BY", f"AND agent NOT IN ({names}) ORDER BY")
            params.update({f"a{i}": name for i, name in enumerate(full)})
        return [self._from_row(link, row) for row in link.rows(statement, params)]

    @staticmethod
    def _within_agents(picked: list[Task], by_agent: Counter[str]) -> list[Task]:
        kept: list[Task] = []
        for task in picked:
            agent = task.agent
            if agent is not None and agent.concurrency:
                if by_agent[agent.name] >= agent.concurrency:
                    continue
                by_agent[agent.name] += 1
            kept.append(task)
        return kept

    def heartbeat(self, leases: Sequence[Lease], lease: timedelta) -> Beat:
        """Extend all at once.  Fenced: a superseded or cancelled claim is not revived."""

        def work(link: Link) -> Beat:
            until = ms(self._now() + lease)
            lost = {
                held.task_id
                for held in leases
                if not link.run(
                    sql.EXTEND,
                    {
                        "id": held.task_id,
                        "epoch": held.epoch,
                        "holder": held.holder,
                        "lease_ms": until,
                    },
                )
            }
            wanted = {TaskId(row["id"]) for row in link.rows(sql.WANTED_CANCELLED)}
            mine = {held.task_id for held in leases}
            return Beat(frozenset(lost), frozenset(wanted & mine - lost))

        return self._db.write(work)

    def expire(
        self, dead: Callable[[str], bool], *, counted: bool, runs: Sequence[RunId] = ()
    ) -> list[TaskId]:
        """Take the claims of dead holders back at once, without waiting for their leases."""

        def work(link: Link) -> list[TaskId]:
            back: list[TaskId] = []
            for row in link.rows(sql.ACTIVE):
                if (runs and row["run_id"] not in runs) or not dead(row["holder"]):
                    continue
                event = LeaseExpired(
                    row["holder"], row["epoch"], counted=counted, why="its holder is dead"
                )
                back.append(self._write(link, self._task(link, row["id"]), (event,)).id)
            return back

        return self._db.write(work)


def _who(row: Fields) -> dict[str, Any]:
    return {"id": row["id"], "epoch": row["epoch"], "holder": row["holder"]}
