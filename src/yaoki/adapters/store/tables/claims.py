"""Claims: who may act on which task, and until when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta

from yaoki.adapters.store.database import Transaction, retries_reads
from yaoki.adapters.store.rows import SqlRow, to_ms
from yaoki.adapters.store.tables import accounts, totals
from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.tables.accounts import ClaimFilter, account_of
from yaoki.adapters.store.tables.workers import claim_condition
from yaoki.adapters.store.tables.writes import EventWriter
from yaoki.core.decide.merge_queue import CompetingTask
from yaoki.core.machine.events import AgentFinished, Claimed, Event, LeaseExpired, PromptSent
from yaoki.core.model import Lease, Pause, PauseCause, Run, RunId, Task, TaskId
from yaoki.core.schedule import fair_order, slots_per_run
from yaoki.ports import ALL, HeartbeatResult

UNLIMITED = 1 << 30
CANCELLATIONS_PER_CLAIM = 16


class ClaimQueries(EventWriter):
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
        is_alive: Callable[[str], bool] = lambda _: False,
        tags: Collection[str] = (),
        place: str = "",
        scope: str = ALL,
    ) -> list[Task]:
        """Claim up to `limit` tasks: expired claims go back first, then each run gets its turn.

        Tasks that need more than `tags`, or a person's work in another `place`, are left to others;
        `scope` says what may be begun.
        """

        def work(link: Transaction) -> list[Task]:
            now = self._now()
            self._in_turn(link, host if host_max else "")
            self._take_back(link, now, holder, is_alive)
            busy = link.rows(sql.ACTIVE_COUNTS)
            room = limit
            if host_max:
                here = sum(row["n"] for row in busy if row["holder"].startswith(f"{host}:"))
                room = min(limit, host_max - here)
            if room <= 0:
                return []
            gate = ClaimFilter.load(link, now, frozenset(tags), place, scope)
            wished = self._wished(link, runs)[:room]
            claimed = [self._take(link, task, holder, now + lease) for task in wished]
            picked = self._pick(link, room - len(wished), runs, busy, now, gate)
            return claimed + [self._take(link, task, holder, now + lease) for task in picked]

        return self._db.write(work)

    def _in_turn(self, link: Transaction, host: str) -> None:
        """A limit that several workers share is looked at by one claim at a time."""
        if not link.for_update_skip_locked:
            return
        if host:
            link.lock_by_name(f"host {host}")
        limited = (
            spec.concurrency
            for run_id in self._runs_with_ready_tasks(link)
            for spec in self._catalogue(link, run_id).agents.values()
        )
        if any(limited) or link.row(accounts.SELECT) is not None:
            link.lock_by_name("accounts")

    def claim_to_cancel(self, holder: str, lease: timedelta, runs: Sequence[RunId]) -> list[Task]:
        """What a person wants ended and no worker holds, whatever it waited for."""

        def work(link: Transaction) -> list[Task]:
            until = self._now() + lease
            return [self._take(link, task, holder, until) for task in self._wished(link, runs)]

        return self._db.write(work)

    def _wished(self, link: Transaction, runs: Sequence[RunId]) -> list[Task]:
        """The first wishes, of these runs only.

        Where the bound cuts the list, wishes of other runs may have taken the room; then each run
        is asked by itself.
        """
        rows = link.rows(
            sql.CANCEL_WANTED + link.for_update_skip_locked, {"limit": CANCELLATIONS_PER_CLAIM}
        )
        if runs and len(rows) == CANCELLATIONS_PER_CLAIM:
            rows = self._wished_of(link, runs)
        return [self._from_row(link, row) for row in rows if not runs or row["run_id"] in runs]

    def _wished_of(self, link: Transaction, runs: Sequence[RunId]) -> list[SqlRow]:
        rows: list[SqlRow] = []
        for run_id in runs:
            room = {"run_id": run_id, "limit": CANCELLATIONS_PER_CLAIM - len(rows)}
            rows += link.rows(sql.CANCEL_WANTED_OF_RUN + link.for_update_skip_locked, room)
            if len(rows) >= CANCELLATIONS_PER_CLAIM:
                break
        return rows

    def _take(self, link: Transaction, task: Task, holder: str, until: datetime) -> Task:
        return self._write(link, task, (Claimed(holder, task.epoch + 1, until),))

    def _take_back(
        self, link: Transaction, now: datetime, holder: str, is_alive: Callable[[str], bool]
    ) -> None:
        """Expired claims.  Nobody takes from himself, and a holder that lives on this machine
        keeps its task for a while: a suspended laptop renews late.
        """
        for row in link.rows(sql.EXPIRED_LEASES + link.for_update_skip_locked, {"now": to_ms(now)}):
            silent = timedelta(milliseconds=to_ms(now) - row["lease_ms"])
            mine = row["holder"] == holder
            if mine or (is_alive(row["holder"]) and silent < self._max_in_progress):
                continue
            task = self._task(link, row["id"])
            why = f"the lease ran out {to_ms(now) - row['lease_ms']} ms ago"
            expired = LeaseExpired(row["holder"], row["epoch"], counted=True, why=why)
            self._write(link, task, (expired,))

    def _pick(
        self,
        link: Transaction,
        room: int,
        runs: Sequence[RunId],
        busy: Sequence[SqlRow],
        now: datetime,
        gate: ClaimFilter,
    ) -> list[Task]:
        """Fair between runs; within a run by rank; never past the limits of an account."""
        open_runs = [
            r
            for r in self._runs_with_ready_tasks(link)
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
        order = fair_order({r: len(found) for r, found in ready.items()}, at_work, room)
        picked = [task for r, n in slots_per_run(order).items() for task in ready[r][:n]]
        return [task for task in _within(picked, used) if gate.admits(task)]

    def _affords(self, link: Transaction, run_id: RunId, now: datetime) -> bool:
        """Before anything is begun: at a limit the run pauses and asks, close to it it warns.

        What a dead worker's agent has done already is only verified and landed; that is no reason.
        """
        if not self._day_budget and not self._budgeted(link, run_id):
            return True
        if link.row(sql.READY_FOR_AGENT, {"run_id": run_id}) is None:
            return True
        run = self._run(link, run_id)
        for key, weight in totals.read_budget_uses(link, run, self._day_budget, now):
            if weight.share >= 1:
                self._pause(link, run_id, str(Pause(PauseCause.BUDGET, weight.sentence)))
                return False
            self._warn(link, run, key, weight)
        return True

    def _warn(self, link: Transaction, run: Run, key: str, weight: totals.BudgetUse) -> None:
        """Once per grant, as soon as it is seen."""
        granted = run.budget_grants + 1
        if weight.share < totals.WARN_AT or totals.read_warning_level(link, key) >= granted:
            return
        if link.run(totals.RAISE_WARNING_LEVEL, {"name": key, "warned": granted}):
            data = {"message": weight.sentence, "limit": weight.limit, "used": weight.used}
            self._append_event(link, run.id, "BUDGET_WARNING", data)

    def _warn_near_budget(self, link: Transaction, task: Task, events: Sequence[Event]) -> None:
        """An agent was started or has ended: people hear at once that a limit is near."""
        counted = any(isinstance(event, AgentFinished | PromptSent) for event in events)
        if not counted or not (self._day_budget or self._budgeted(link, task.run_id)):
            return
        run = self._run(link, task.run_id)
        for key, weight in totals.read_budget_uses(link, run, self._day_budget, self._now()):
            self._warn(link, run, key, weight)

    def _left(self, link: Transaction, run_id: RunId, now: datetime, busy: Sequence[SqlRow]) -> int:
        """How many agents may be begun before a limit of attempts, those at work counted."""
        if not self._day_budget and not self._budgeted(link, run_id):
            return UNLIMITED
        if link.row(sql.READY_FOR_AGENT, {"run_id": run_id}) is None:
            # What is left only waits to be verified and landed.
            return UNLIMITED
        run, left = self._run(link, run_id), [UNLIMITED]
        for _, weight in totals.read_budget_uses(link, run, self._day_budget, now):
            if weight.name == "attempts":
                mine = (b["n"] for b in busy if weight.scope == "day" or b["run_id"] == run_id)
                left.append(max(0, int(weight.limit - weight.used) - sum(mine)))
        return min(left)

    def _budgeted(self, link: Transaction, run_id: RunId) -> bool:
        """Given when the run was submitted, so it is looked up once."""
        if run_id not in self._budgets:
            self._budgets[run_id] = bool(self._run(link, run_id).budget)
        return self._budgets[run_id]

    def _ready(
        self,
        link: Transaction,
        run_id: RunId,
        room: int,
        used: Counter[str],
        now: datetime,
        gate: ClaimFilter,
    ) -> list[Task]:
        """Only a task that would start an agent waits for its account."""
        full = [
            spec.account or spec.name
            for spec in self._catalogue(link, run_id).agents.values()
            if spec.concurrency and used[spec.account or spec.name] >= spec.concurrency
        ]
        shut = sorted({*full, *gate.closed_accounts})
        statement = sql.READY
        params = {"run_id": run_id, "now": to_ms(now), "limit": room, "place": gate.place}
        if shut:
            names = ", ".join(f":a{i}" for i in range(len(shut)))
            wait = f"AND NOT (stage = 'PREPARE' AND account IN ({names})) ORDER BY"
            statement = statement.replace("ORDER BY", wait)
            params.update({f"a{i}": name for i, name in enumerate(shut)})
        left, lacking = claim_condition(link, run_id, gate.tags, gate.begin)
        if left:
            statement = statement.replace("ORDER BY", f"{left} ORDER BY")
            params.update(lacking)
        # Nobody waits for another who claims: what he looks at is as good as taken.
        found = link.rows(statement + link.for_update_skip_locked, params)
        return [self._from_row(link, row) for row in found]

    @retries_reads
    def competing_tasks(self, task: Task) -> list[CompetingTask]:
        """Other tasks that somebody proves or lands on the same line."""
        asked = {"run_id": task.run_id, "parent": task.parent, "id": task.id}
        with self._db.read() as link:
            found = link.rows(sql.CONTENDERS, {**asked, "now": to_ms(self._now())})
            return [CompetingTask(TaskId(row["id"]), row["refused"]) for row in found]

    def heartbeat(self, leases: Sequence[Lease], lease: timedelta) -> HeartbeatResult:
        """Extend all at once.  Fenced: a superseded or cancelled claim is not revived."""

        def work(link: Transaction) -> HeartbeatResult:
            until = to_ms(self._now() + lease)
            lost = {
                held.task_id
                for held in sorted(leases, key=lambda held: held.task_id)
                if not link.run(
                    sql.EXTEND_LEASE,
                    {
                        "id": held.task_id,
                        "epoch": held.epoch,
                        "holder": held.holder,
                        "lease_ms": until,
                    },
                )
            }
            wanted = {TaskId(row["id"]) for row in link.rows(sql.ACTIVE_TO_STOP)}
            mine = {held.task_id for held in leases}
            return HeartbeatResult(frozenset(lost), frozenset(wanted & mine - lost))

        return self._db.write(work)

    def expire_claims(
        self, dead: Callable[[str], bool], *, counted: bool, runs: Sequence[RunId] = ()
    ) -> list[TaskId]:
        """Take the claims of dead holders back at once, without waiting for their leases."""

        def work(link: Transaction) -> list[TaskId]:
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
