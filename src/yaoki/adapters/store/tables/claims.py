"""Claims: who may act on which task, and until when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta

from yaoki.adapters.store.database import Link, patient
from yaoki.adapters.store.tables import accounts, totals
from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.tables.accounts import Gate, account_of
from yaoki.adapters.store.tables.rows import Fields, ms
from yaoki.adapters.store.tables.workers import narrowed
from yaoki.adapters.store.tables.writes import Writes
from yaoki.core.decide.merge_queue import Contender
from yaoki.core.machine.events import AgentFinished, Claimed, Event, LeaseExpired, PromptSent
from yaoki.core.model import Lease, Run, RunId, Task, TaskId
from yaoki.core.schedule import share, turns
from yaoki.ports import ALL, Beat

UNLIMITED = 1 << 30
WISHED_AT_ONCE = 16


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
        tags: Collection[str] = (),
        place: str = "",
        begin: str = ALL,
    ) -> list[Task]:
        """Claim up to `limit` tasks: expired claims go back first, then each run gets its turn.

        Tasks that need more than `tags`, or a person's work in another `place`, are left to others;
        `begin` says what may be begun.
        """

        def work(link: Link) -> list[Task]:
            now = self._now()
            self._in_turn(link, host if host_max else "")
            self._take_back(link, now, holder, alive)
            busy = link.rows(sql.BUSY)
            room = limit
            if host_max:
                here = sum(row["n"] for row in busy if row["holder"].startswith(f"{host}:"))
                room = min(limit, host_max - here)
            if room <= 0:
                return []
            gate = Gate.read(link, now, frozenset(tags), place, begin)
            wished = self._wished(link, runs)[:room]
            claimed = [self._take(link, task, holder, now + lease) for task in wished]
            picked = self._pick(link, room - len(wished), runs, busy, now, gate)
            return claimed + [self._take(link, task, holder, now + lease) for task in picked]

        return self._db.write(work)

    def _in_turn(self, link: Link, host: str) -> None:
        """A limit that several workers share is looked at by one claim at a time."""
        if not link.skipping:
            return
        if host:
            link.hold(f"host {host}")
        limited = (
            spec.concurrency
            for run_id in self._open_runs(link)
            for spec in self._catalogue(link, run_id).agents.values()
        )
        if any(limited) or link.row(accounts.SELECT) is not None:
            link.hold("accounts")

    def claim_cancelled(self, holder: str, lease: timedelta, runs: Sequence[RunId]) -> list[Task]:
        """What a person wants ended and no worker holds, whatever it waited for."""

        def work(link: Link) -> list[Task]:
            until = self._now() + lease
            return [self._take(link, task, holder, until) for task in self._wished(link, runs)]

        return self._db.write(work)

    def _wished(self, link: Link, runs: Sequence[RunId]) -> list[Task]:
        """The first wishes, of these runs only.

        Where the bound cuts the list, wishes of other runs may have taken the room; then each run
        is asked by itself.
        """
        rows = link.rows(sql.WISHED + link.skipping, {"limit": WISHED_AT_ONCE})
        if runs and len(rows) == WISHED_AT_ONCE:
            rows = self._wished_of(link, runs)
        return [self._from_row(link, row) for row in rows if not runs or row["run_id"] in runs]

    def _wished_of(self, link: Link, runs: Sequence[RunId]) -> list[Fields]:
        rows: list[Fields] = []
        for run_id in runs:
            room = {"run_id": run_id, "limit": WISHED_AT_ONCE - len(rows)}
            rows += link.rows(sql.WISHED_OF_RUN + link.skipping, room)
            if len(rows) >= WISHED_AT_ONCE:
                break
        return rows

    def _take(self, link: Link, task: Task, holder: str, until: datetime) -> Task:
        return self._write(link, task, (Claimed(holder, task.epoch + 1, until),))

    def _take_back(
        self, link: Link, now: datetime, holder: str, alive: Callable[[str], bool]
    ) -> None:
        """Expired claims.  Nobody takes from himself, and a holder that lives on this machine
        keeps its task for a while: a suspended laptop renews late.
        """
        for row in link.rows(sql.EXPIRED + link.skipping, {"now": ms(now)}):
            silent = timedelta(milliseconds=ms(now) - row["lease_ms"])
            mine = row["holder"] == holder
            if mine or (alive(row["holder"]) and silent < self._max_in_progress):
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
        gate: Gate,
    ) -> list[Task]:
        """Fair between runs; within a run by rank; never past the limits of an account."""
        open_runs = [
            r
            for r in self._open_runs(link)
            if (not runs or r in runs) and self._affords(link, r, now)
        ]
        at_work = {r: sum(b["n"] for b in busy if b["run_id"] == r) for r in open_runs}
        used: Counter[str] = Counter()
        for b in busy:
            used[b["account"]] += b["n"]
        ready = {
            r: self._ready(link, r, min(room, self._left(link, r, now, busy)), used, now, gate)
            for r in open_runs
        }
        order = turns({r: len(found) for r, found in ready.items()}, at_work, room)
        picked = [task for r, n in share(order).items() for task in ready[r][:n]]
        return [task for task in _within(picked, used) if gate.lets(task)]

    def _affords(self, link: Link, run_id: RunId, now: datetime) -> bool:
        """Before anything is begun: at a limit the run pauses and asks, close to it it warns.

        What a dead worker's agent has done already is only verified and landed; that is no reason.
        """
        if not self._day_budget and not self._budgeted(link, run_id):
            return True
        if link.row(sql.BEGINS, {"run_id": run_id}) is None:
            return True
        run = self._run(link, run_id)
        for key, weight in totals.weights(link, run, self._day_budget, now):
            if weight.share >= 1:
                self._pause(link, run_id, f"budget: {weight.words}")
                return False
            self._warn(link, run, key, weight)
        return True

    def _warn(self, link: Link, run: Run, key: str, weight: totals.Weight) -> None:
        """Once per grant, as soon as it is seen."""
        granted = run.grants + 1
        if weight.share < totals.WARN_AT or totals.warned(link, key) >= granted:
            return
        if link.run(totals.WARNED, {"name": key, "warned": granted}):
            data = {"message": weight.words, "limit": weight.limit, "used": weight.used}
            self._tell(link, run.id, "BUDGET_WARNING", data)

    def _spent(self, link: Link, task: Task, events: Sequence[Event]) -> None:
        """An agent was started or has ended: people hear at once that a limit is near."""
        counted = any(isinstance(event, AgentFinished | PromptSent) for event in events)
        if not counted or not (self._day_budget or self._budgeted(link, task.run_id)):
            return
        run = self._run(link, task.run_id)
        for key, weight in totals.weights(link, run, self._day_budget, self._now()):
            self._warn(link, run, key, weight)

    def _left(self, link: Link, run_id: RunId, now: datetime, busy: Sequence[Fields]) -> int:
        """How many agents may be begun before a limit of attempts, those at work counted."""
        if not self._day_budget and not self._budgeted(link, run_id):
            return UNLIMITED
        if link.row(sql.BEGINS, {"run_id": run_id}) is None:
            # What is left only waits to be verified and landed.
            return UNLIMITED
        run, left = self._run(link, run_id), [UNLIMITED]
        for _, weight in totals.weights(link, run, self._day_budget, now):
            if weight.name == "attempts":
                mine = (b["n"] for b in busy if weight.whose == "day" or b["run_id"] == run_id)
                left.append(max(0, int(weight.limit - weight.used) - sum(mine)))
        return min(left)

    def _budgeted(self, link: Link, run_id: RunId) -> bool:
        """Given when the run was submitted, so it is looked up once."""
        if run_id not in self._budgets:
            self._budgets[run_id] = bool(self._run(link, run_id).budget)
        return self._budgets[run_id]

    def _ready(
        self,
        link: Link,
        run_id: RunId,
        room: int,
        used: Counter[str],
        now: datetime,
        gate: Gate,
    ) -> list[Task]:
        """Only a task that would start an agent waits for its account."""
        full = [
            spec.account or spec.name
            for spec in self._catalogue(link, run_id).agents.values()
            if spec.concurrency and used[spec.account or spec.name] >= spec.concurrency
        ]
        shut = sorted({*full, *gate.closed})
        statement = sql.READY
        params = {"run_id": run_id, "now": ms(now), "limit": room, "place": gate.place}
        if shut:
            names = ", ".join(f":a{i}" for i in range(len(shut)))
            wait = f"AND NOT (stage = 'PREPARE' AND account IN ({names})) ORDER BY"
            statement = statement.replace("ORDER BY", wait)
            params.update({f"a{i}": name for i, name in enumerate(shut)})
        left, lacking = narrowed(link, run_id, gate.tags, gate.begin)
        if left:
            statement = statement.replace("ORDER BY", f"{left} ORDER BY")
            params.update(lacking)
        # Nobody waits for another who claims: what he looks at is as good as taken.
        found = link.rows(statement + link.skipping, params)
        return [self._from_row(link, row) for row in found]

    @patient
    def contenders(self, task: Task) -> list[Contender]:
        """Other tasks that somebody proves or lands on the same line."""
        asked = {"run_id": task.run_id, "parent": task.parent, "id": task.id}
        with self._db.read() as link:
            found = link.rows(sql.CONTENDERS, {**asked, "now": ms(self._now())})
            return [Contender(TaskId(row["id"]), row["refused"]) for row in found]

    def heartbeat(self, leases: Sequence[Lease], lease: timedelta) -> Beat:
        """Extend all at once.  Fenced: a superseded or cancelled claim is not revived."""

        def work(link: Link) -> Beat:
            until = ms(self._now() + lease)
            lost = {
                held.task_id
                for held in sorted(leases, key=lambda held: held.task_id)
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
                task = self._task(link, row["id"])
                if task.lease is None or task.epoch != row["epoch"]:
                    continue  # somebody else was quicker
                event = LeaseExpired(
                    row["holder"], row["epoch"], counted=counted, why="its holder is dead"
                )
                back.append(self._write(link, task, (event,)).id)
            return back

        return self._db.write(work)


def _within(picked: list[Task], used: Counter[str]) -> list[Task]:
    """Those that their agents' own limits on concurrency let through, in order."""
    kept: list[Task] = []
    for task in picked:
        agent = task.agent
        if agent is not None and agent.concurrency:
            if used[account_of(task)] >= agent.concurrency:
                continue
            used[account_of(task)] += 1
        kept.append(task)
    return kept
