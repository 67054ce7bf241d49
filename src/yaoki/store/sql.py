"""The one Store, in plain SQL.  Every public method is one transaction.

The rules are handed in: `record` gives `decide` the task inside the transaction, so nothing slips
in between the look and the leap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from yaoki.core.events import (
    Cancelled,
    CancelRequested,
    Claimed,
    Event,
    LeaseExpired,
    Submitted,
    name_of,
)
from yaoki.core.machine import create, evolve
from yaoki.core.model import Catalogue, Lease, Reason, Run, RunId, Spec, State, Task, TaskId
from yaoki.core.schedule import AGEING, rank, share, turns
from yaoki.core.wire import event_to_data
from yaoki.errors import LeaseLost, NotNow, OverLimit
from yaoki.ports import Beat, Clock
from yaoki.store import statements as sql
from yaoki.store.reads import Reads
from yaoki.store.rows import Fields, dumps, ms, new_task_params, run_params, task_params
from yaoki.store.sqlite import Link, SqliteDatabase

TOLD_MAX = 100


class SqlStore(Reads):
    """Writers of the store; the readers are in `Reads`."""

    def __init__(
        self,
        database: SqliteDatabase,
        clock: Clock,
        *,
        pending_runs_max: int = 20,
        pending_tasks_max: int = 100_000,
        max_in_progress: timedelta = timedelta(minutes=30),
        ageing: timedelta = AGEING,
        backups_kept: int = 5,
    ) -> None:
        super().__init__(database, backups_kept=backups_kept)
        self._clock = clock
        self._pending_runs_max = pending_runs_max
        self._pending_tasks_max = pending_tasks_max
        self._max_in_progress = max_in_progress
        self._ageing = ageing

    def _now(self) -> datetime:
        """The store's clock, in whole milliseconds, as rows keep it."""
        now = self._clock.now()
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    # -------------------------------------------------------------- submit

    def submit(self, run: Run, specs: Sequence[Spec], request: Mapping[str, Any]) -> list[TaskId]:
        """A run with all its tasks, or nothing at all."""

        def work(link: Link) -> list[TaskId]:
            self._refuse_runs(link)
            self._refuse_tasks(len(specs))
            link.run(sql.INSERT_RUN, run_params(run))
            self._tell(link, run.id, "USER_REQUEST", request)
            told = {"goal": run.goal, "tasks": len(specs), "revision": run.revision}
            self._tell(link, run.id, "PLAN_SUBMITTED", {**told, "base": run.base})
            return self._insert(link, run, specs, first=1)

        return self._db.write(work)

    def _refuse_runs(self, link: Link) -> None:
        row = link.row("SELECT count(*) AS n FROM runs WHERE summed_ms IS NULL")
        pending = int(row["n"]) if row else 0
        if pending >= self._pending_runs_max:
            raise OverLimit(
                "runs that are not finished",
                pending + 1,
                self._pending_runs_max,
                hint="finish or cancel one first: yaoki status",
            )

    def _refuse_tasks(self, tasks: int) -> None:
        if tasks > self._pending_tasks_max:
            raise OverLimit(
                "tasks of one run",
                tasks,
                self._pending_tasks_max,
                hint="split the plan, or raise limits.pending_tasks in yaoki.toml",
            )

    def add(self, run_id: RunId, specs: Sequence[Spec], *, unless: str = "") -> list[TaskId]:
        def work(link: Link) -> list[TaskId]:
            run = self._run(link, run_id)
            if unless and self._named(link, run_id, unless):
                return []
            row = link.row("SELECT tasks_made FROM runs WHERE id = :id", {"id": run_id})
            made = int(row["tasks_made"]) if row else 0
            self._refuse_tasks(made + len(specs))
            return self._insert(link, run, specs, first=made + 1)

        return self._db.write(work)

    def _insert(self, link: Link, run: Run, specs: Sequence[Spec], first: int) -> list[TaskId]:
        now = self._now()
        ids = self._ids_by_name(link, run.id) if first > 1 else {}
        tasks: list[Task] = []
        for n, spec in enumerate(specs, start=first):
            task_id = TaskId(f"{run.id}-{n}")
            ids[spec.name] = task_id
            tasks.append(create(task_id, run.id, Submitted(n, spec)))
        needs = [(t.id, ids[name]) for t in tasks for name in dict.fromkeys(t.spec.needs)]
        done = self._done_among(link, {need for _, need in needs}) if first > 1 else set()
        open_needs: dict[TaskId, int] = {}
        for task_id, need in needs:
            open_needs[task_id] = open_needs.get(task_id, 0) + (need not in done)
        link.many(
            sql.INSERT_TASK,
            [
                new_task_params(
                    t, open_needs.get(t.id, 0), rank(now, t.spec.priority, self._ageing)
                )
                for t in tasks
            ],
        )
        link.many(sql.INSERT_NEED, [{"task_id": t, "need_id": n} for t, n in needs])
        link.many(
            sql.INSERT_ENTRY,
            [_entry(t, Submitted(t.n, t.spec), run.catalogue, ms(now)) for t in tasks],
        )
        link.run(
            "UPDATE runs SET tasks_made = :n, summed_ms = NULL WHERE id = :id",
            {"n": first + len(specs) - 1, "id": run.id},
        )
        return [task.id for task in tasks]

    # -------------------------------------------------------------- claim

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
            active = link.rows(sql.ACTIVE)
            back = self._take_back(link, active, now, lease, alive)
            busy = [row for row in active if row["id"] not in back]
            room = limit
            if host_max:
                room = min(limit, host_max - sum(r["holder"].startswith(f"{host}:") for r in busy))
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
        self,
        link: Link,
        active: Sequence[Fields],
        now: datetime,
        lease: timedelta,
        alive: Callable[[str], bool],
    ) -> set[str]:
        """Expired claims.  A holder that is alive and busy keeps its task, up to a bound."""
        back: set[str] = set()
        for row in active:
            if row["lease_ms"] >= ms(now):
                continue
            held = timedelta(milliseconds=ms(now) - row["claimed_ms"])
            if alive(row["holder"]) and held < self._max_in_progress:
                link.run(sql.EXTEND, {**_who(row), "lease_ms": ms(now + lease)})
                continue
            task = self._task(link, row["id"])
            why = f"the lease ran out {ms(now) - row['lease_ms']} ms ago"
            expired = LeaseExpired(row["holder"], row["epoch"], counted=True, why=why)
            self._write(link, task, (expired,))
            back.add(row["id"])
        return back

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
        at_work = {r: sum(b["run_id"] == r for b in busy) for r in open_runs}
        by_agent: dict[str, int] = {}
        for b in busy:
            by_agent[b["agent"]] = by_agent.get(b["agent"], 0) + 1
        ready = {r: self._ready(link, r, room, by_agent, now) for r in open_runs}
        order = turns({r: len(found) for r, found in ready.items()}, at_work, room)
        picked = [task for r, n in share(order).items() for task in ready[r][:n]]
        return self._within_agents(picked, by_agent)

    def _ready(
        self, link: Link, run_id: RunId, room: int, by_agent: Mapping[str, int], now: datetime
    ) -> list[Task]:
        full = [
            name
            for name, spec in self._catalogue(link, run_id).agents.items()
            if spec.concurrency and by_agent.get(name, 0) >= spec.concurrency
        ]
        statement, params = sql.READY, {"run_id": run_id, "now": ms(now), "limit": room}
        if full:
            names = ", ".join(f":a{i}" for i in range(len(full)))
            statement = statement.replace("ORDER BY", f"AND agent NOT IN ({names}) ORDER BY")
            params.update({f"a{i}": name for i, name in enumerate(full)})
        return [self._from_row(link, row) for row in link.rows(statement, params)]

    @staticmethod
    def _within_agents(picked: list[Task], by_agent: dict[str, int]) -> list[Task]:
        kept: list[Task] = []
        for task in picked:
            agent = task.agent
            if agent is not None and agent.concurrency:
                if by_agent.get(agent.name, 0) >= agent.concurrency:
                    continue
                by_agent[agent.name] = by_agent.get(agent.name, 0) + 1
            kept.append(task)
        return kept

    # -------------------------------------------------------------- record

    def record(self, lease: Lease, decide: Callable[[Task], Sequence[Event]]) -> Task:
        """Write what `decide` makes of the task, or nothing at all.

        A holder that was replaced meanwhile gets `LeaseLost`; its late result is journalled and
        changes nothing.
        """

        def work(link: Link) -> Task | None:
            task = self._task(link, lease.task_id)
            held = task.lease
            if held is None or held.epoch != lease.epoch or held.holder != lease.holder:
                self._refused(link, task, lease)
                return None
            return self._write(link, task, decide(task))

        task = self._db.write(work)
        if task is None:
            raise LeaseLost(lease.task_id, lease.holder, lease.epoch)
        return task

    def _refused(self, link: Link, task: Task, lease: Lease) -> None:
        """Once per superseded claim: the same late result three times is one record."""
        told = link.row(
            "SELECT 1 FROM journal WHERE task_id = :id AND event = 'RESULT_REFUSED'"
            " AND data LIKE :claim LIMIT 1",
            {"id": task.id, "claim": f'%"epoch":{lease.epoch},%'},
        )
        if told is None:
            data = {
                "holder": lease.holder,
                "epoch": lease.epoch,
                "current_epoch": task.epoch,
                "state": task.state.value,
            }
            self._tell(link, task.run_id, "RESULT_REFUSED", data, task.id, task.attempt)

    def amend(self, task_id: TaskId, decide: Callable[[Task], Sequence[Event]]) -> Task:
        """A person's change: no lease, but never on top of a live claim's next step unseen."""
        return self._db.write(
            lambda link: self._write(link, t := self._task(link, task_id), decide(t))
        )

    def _write(
        self,
        link: Link,
        before: Task,
        events: Sequence[Event],
        *,
        claimed: bool = False,
        tell: bool = True,
    ) -> Task:
        """Evolve, keep the row, keep the journal, open or close the dependents and tell them."""
        catalogue = self._catalogue(link, before.run_id)
        now = self._now()
        after, entries = before, []
        for event in events:
            after = evolve(after, event)
            entries.append(_entry(after, event, catalogue, ms(now)))
        if after is not before:
            back = after.state is State.WAITING and before.state is not State.WAITING
            waits = rank(after.due_at or now, after.spec.priority, self._ageing) if back else None
            marks = {"rank": waits, "claimed_ms": ms(now) if claimed else None}
            link.run(sql.UPDATE_TASK, {**task_params(after), **marks})
        change = (before.state is State.DONE) - (after.state is State.DONE)
        if change:
            ageing_ms = self._ageing // timedelta(milliseconds=1)
            params = {"id": after.id, "change": change, "now": ms(now), "ageing_ms": ageing_ms}
            link.run(sql.OPEN_DEPENDENTS, params)
        link.many(sql.INSERT_ENTRY, entries)
        if tell:
            self._tell_dependents(link, before, after)
        return after

    def _tell_dependents(self, link: Link, before: Task, after: Task) -> None:
        """One notice for all levels: they are blocked by this task, or no longer are."""
        stuck = {State.ESCALATED, State.CANCELLED}
        was, now_is = before.state in stuck, after.state in stuck
        if was == now_is:
            return
        down = [row["id"] for row in link.rows(sql.DOWNSTREAM, {"id": after.id})]
        told = {"dependents": len(down), "tasks": down[:TOLD_MAX], "cause": after.id}
        if now_is:
            own = after.reason.value if after.reason else after.state.value
            data = {**told, "reason": own, "dependents_reason": Reason.DEPENDENCY_FAILED.value}
            self._tell(link, after.run_id, "TASK_BLOCKED", data, after.id, after.attempt)
        else:
            self._tell(link, after.run_id, "TASK_REVIVED", told, after.id, after.attempt)

    def _tell(
        self,
        link: Link,
        run_id: str,
        name: str,
        data: Mapping[str, Any],
        task_id: str = "",
        attempt: int = 0,
    ) -> None:
        entry = {"run_id": run_id, "task_id": task_id, "attempt": attempt, "event": name}
        link.run(sql.INSERT_ENTRY, {**entry, "at_ms": ms(self._now()), "data": dumps(dict(data))})

    def note(
        self,
        run_id: RunId,
        name: str,
        data: Mapping[str, Any],
        task_id: str = "",
        attempt: int = 0,
    ) -> None:
        self._db.write(lambda link: self._tell(link, run_id, name, data, task_id, attempt))

    # -------------------------------------------------------------- leases

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

    # -------------------------------------------------------------- runs

    def cancel_run(self, run_id: RunId, why: str) -> list[TaskId]:
        """The wish, durable before anything acts on it; what is not at work ends at once.

        Returns the tasks at work, which their holders must interrupt.
        """

        def work(link: Link) -> list[TaskId]:
            self._run(link, run_id)
            link.run("UPDATE runs SET cancel_wanted = 1 WHERE id = :id", {"id": run_id})
            self._tell(link, run_id, "CANCEL_REQUESTED", {"why": why})
            open_rows = link.rows(
                "SELECT * FROM tasks WHERE run_id = :id"
                " AND state IN ('WAITING', 'ACTIVE', 'ESCALATED') ORDER BY n",
                {"id": run_id},
            )
            # Everything ends, so nobody is blocked by anybody.
            tasks = [
                self._cancel(link, self._from_row(link, row), why, tell=False) for row in open_rows
            ]
            return [task.id for task in tasks if task.state is State.ACTIVE]

        return self._db.write(work)

    def cancel_task(self, task_id: TaskId, why: str) -> Task:
        def work(link: Link) -> Task:
            task = self._task(link, task_id)
            if task.state.final:
                raise NotNow(
                    f"{task.id} is already {task.state.value}", hint=f"yaoki why {task.id}"
                )
            return self._cancel(link, task, why)

        return self._db.write(work)

    def _cancel(self, link: Link, task: Task, why: str, *, tell: bool = True) -> Task:
        wish: tuple[Event, ...] = () if task.cancel_wanted else (CancelRequested(why),)
        if task.state is State.ACTIVE:
            return self._write(link, task, wish)
        return self._write(link, task, (*wish, Cancelled(why)), tell=tell)

    def update_run(self, run_id: RunId, event: str, data: Mapping[str, Any], **fields: Any) -> Run:
        """Tell something of the run and keep it; `fields` are merged and summed_ms only."""
        assert set(fields) <= {"merged", "summed_ms"}, fields

        def work(link: Link) -> Run:
            self._run(link, run_id)
            for name, value in fields.items():
                link.run(
                    f"UPDATE runs SET {name} = :value WHERE id = :id",
                    {"value": value, "id": run_id},
                )
            self._tell(link, run_id, event, data)
            return self._run(link, run_id)

        return self._db.write(work)


def _entry(task: Task, event: Event, catalogue: Catalogue, at_ms: int) -> dict[str, Any]:
    return {
        "at_ms": at_ms,
        "run_id": task.run_id,
        "task_id": task.id,
        "attempt": task.attempt,
        "event": name_of(event),
        "data": dumps(event_to_data(event, catalogue)),
    }


def _who(row: Fields) -> dict[str, Any]:
    return {"id": row["id"], "epoch": row["epoch"], "holder": row["holder"]}
