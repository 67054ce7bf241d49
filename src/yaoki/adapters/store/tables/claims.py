"""Claims: which worker may act on which task, and until when.  Each public method is one
transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from yaoki.adapters.store.database import Database, Transaction, retries_reads
from yaoki.adapters.store.rows import SqlRow, to_ms
from yaoki.adapters.store.tables import accounts
from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.tables.accounts import ClaimFilter
from yaoki.adapters.store.tables.task_loader import TaskLoader, runs_with_ready_tasks
from yaoki.adapters.store.tables.workers import claim_condition
from yaoki.adapters.store.task_rows import REFUSED
from yaoki.core.machine.events import AgentSwitched, Claimed, LeaseExpired
from yaoki.core.model import CompetingTask, Lease, RunId, Stage, Task, TaskId
from yaoki.core.schedule import fair_order, slots_per_run
from yaoki.ports import Claimant, ClaimScope, HeartbeatResult

if TYPE_CHECKING:
    from yaoki.adapters.store.clock import StoreClock
    from yaoki.adapters.store.tables.budget_limits import BudgetLimits
    from yaoki.adapters.store.tables.writes import EventWriter
    from yaoki.core.settings.budget import SpendLeft

CANCELLATIONS_PER_CLAIM = 16


class ClaimQueries:
    """Claims, renewals and expiries.

    `max_in_progress` bounds how long a living holder keeps its task after its lease expired.
    """

    def __init__(
        self,
        database: Database,
        clock: StoreClock,
        loader: TaskLoader,
        writer: EventWriter,
        budgets: BudgetLimits,
        *,
        max_in_progress: timedelta,
    ) -> None:
        self._db, self._clock = database, clock
        self._loader, self._writer, self._budgets = loader, writer, budgets
        self._max_in_progress = max_in_progress

    # -------------------------------------------------------------- claim

    def claim(
        self,
        claimant: Claimant,
        limit: int,
        *,
        runs: Sequence[RunId] = (),
        scope: ClaimScope = ClaimScope.ALL,
    ) -> list[Task]:
        """Claim up to `limit` tasks: expired claims are returned first, then runs take turns."""

        def work(tx: Transaction) -> list[Task]:
            now = self._clock.row_time()
            self._lock_shared_limits(tx, claimant.host if claimant.host_max else "")
            self._return_expired(tx, now, claimant)
            active = tx.rows(sql.ACTIVE_COUNTS)
            room = min(limit, _room_on_host(claimant, active)) if claimant.host_max else limit
            if room <= 0:
                return []
            claim_filter = ClaimFilter.load(tx, now, claimant.tags, claimant.place, scope)
            to_cancel = self._tasks_to_cancel(tx, runs)[:room]
            claimed = [self._take(tx, task, claimant, now) for task in to_cancel]
            picked = self._pick(tx, room - len(to_cancel), runs, active, now, claim_filter)
            return claimed + [
                self._take(tx, task, claimant, now, claim_filter.switch(task)) for task in picked
            ]

        return self._db.write(work)

    def _lock_shared_limits(self, tx: Transaction, host: str) -> None:
        """Only one claim at a time checks a limit that several workers share."""
        if not tx.for_update_skip_locked:
            return
        if host:
            tx.lock_by_name(f"host {host}")
        limits = (
            spec.concurrency
            for run_id in runs_with_ready_tasks(tx)
            for spec in self._loader.catalogue(tx, run_id).agents.values()
        )
        if any(limits) or tx.row(accounts.SELECT) is not None:
            tx.lock_by_name("accounts")

    def _take(
        self,
        tx: Transaction,
        task: Task,
        claimant: Claimant,
        now: datetime,
        switch: AgentSwitched | None = None,
    ) -> Task:
        claimed = Claimed(claimant.holder, task.epoch + 1, now + claimant.lease)
        return self._writer.write(tx, task, (switch, claimed) if switch else (claimed,))

    def _return_expired(self, tx: Transaction, now: datetime, claimant: Claimant) -> None:
        """Return claims whose lease expired.

        A worker never takes a task from itself, and a holder that lives on this machine keeps its
        task for a while: a suspended laptop renews late.
        """
        for row in tx.rows(sql.EXPIRED_LEASES + tx.for_update_skip_locked, {"now": to_ms(now)}):
            late_ms = to_ms(now) - row["lease_ms"]
            late = timedelta(milliseconds=late_ms)
            if row["holder"] == claimant.holder:
                continue
            if claimant.is_alive(row["holder"]) and late < self._max_in_progress:
                continue
            task = self._loader.task(tx, row["id"])
            reason = f"the lease ran out {late_ms} ms ago"
            expired = LeaseExpired(row["holder"], row["epoch"], counted=True, why=reason)
            self._writer.write(tx, task, (expired,))

    # -------------------------------------------------------------- tasks to cancel

    def claim_to_cancel(self, claimant: Claimant, runs: Sequence[RunId]) -> list[Task]:
        """Claim tasks that a person cancelled and no worker holds, whatever they waited for."""

        def work(tx: Transaction) -> list[Task]:
            now = self._clock.row_time()
            return [self._take(tx, task, claimant, now) for task in self._tasks_to_cancel(tx, runs)]

        return self._db.write(work)

    def _tasks_to_cancel(self, tx: Transaction, runs: Sequence[RunId]) -> list[Task]:
        """The first cancelled tasks, of `runs` only if any are named.

        Where the bound cuts the list, tasks of other runs may have filled it; then each run is
        read by itself.
        """
        rows = tx.rows(
            sql.CANCEL_WANTED + tx.for_update_skip_locked, {"limit": CANCELLATIONS_PER_CLAIM}
        )
        if runs and len(rows) == CANCELLATIONS_PER_CLAIM:
            rows = _rows_to_cancel(tx, runs)
        return [self._loader.from_row(tx, row) for row in rows if not runs or row["run_id"] in runs]

    # -------------------------------------------------------------- ready tasks

    def _pick(
        self,
        tx: Transaction,
        room: int,
        runs: Sequence[RunId],
        active: Sequence[SqlRow],
        now: datetime,
        claim_filter: ClaimFilter,
    ) -> list[Task]:
        """Fair between runs; within a run by rank; never past the limits of an account."""
        open_runs = [
            run_id
            for run_id in runs_with_ready_tasks(tx)
            if (not runs or run_id in runs) and self._budgets.allow_start(tx, run_id, now)
        ]
        active_of_run: Counter[str] = Counter()
        active_of_account: Counter[str] = Counter()
        for row in active:
            active_of_run[row["run_id"]] += row["n"]
            active_of_account[row["account"]] += row["n"]
        ready = {}
        for run_id in open_runs:
            most = min(room, self._budgets.starts_left(tx, run_id, now, active))
            ready[run_id] = self._ready(tx, run_id, most, active_of_account, now, claim_filter)
        counts = {run_id: len(tasks) for run_id, tasks in ready.items()}
        order = fair_order(counts, {r: active_of_run[r] for r in open_runs}, room)
        picked = [task for r, n in slots_per_run(order).items() for task in ready[r][:n]]
        allowed = _within_concurrency(picked, active_of_account)
        return [task for task in allowed if claim_filter.admits(task)]

    def _ready(
        self,
        tx: Transaction,
        run_id: RunId,
        limit: int,
        active_of_account: Counter[str],
        now: datetime,
        claim_filter: ClaimFilter,
    ) -> list[Task]:
        """Only a task that would start an agent waits for its account; the judge of a race waits
        only while the account has as many agents as it may have.
        """
        full = [
            spec.billed_account
            for spec in self._loader.catalogue(tx, run_id).agents.values()
            if spec.concurrency and active_of_account[spec.billed_account] >= spec.concurrency
        ]
        closed = sorted({*full, *claim_filter.closed_accounts})
        statement = sql.READY
        params = {"run_id": run_id, "now": to_ms(now), "limit": limit, "place": claim_filter.place}
        if closed:
            names = ", ".join(f":a{i}" for i in range(len(closed)))
            others = sql.other_account_condition(len(closed))
            switches = f"(account IN ({sql.AVOIDED_ACCOUNTS}) AND {others})"
            full_names = ", ".join(f":a{i}" for i, name in enumerate(closed) if name in full)
            waits = f"(kind <> 'judge' OR account IN ({full_names}))" if full else "kind <> 'judge'"
            condition = (
                f"AND NOT (stage = 'PREPARE' AND account IN ({names}) AND {waits}"
                f" AND NOT {switches})"
            )
            statement = statement.replace("ORDER BY", f"{condition} ORDER BY")
            params.update({f"a{i}": name for i, name in enumerate(closed)})
        condition, more = claim_condition(tx, run_id, claim_filter.tags, claim_filter.scope)
        if condition:
            statement = statement.replace("ORDER BY", f"{condition} ORDER BY")
            params.update(more)
        # A row that another claim has locked is as good as taken: do not wait for it.
        rows = tx.rows(statement + tx.for_update_skip_locked, params)
        return [self._loader.from_row(tx, row) for row in rows]

    @retries_reads
    def competing_tasks(self, task: Task) -> list[CompetingTask]:
        """The other active tasks on the same branch."""
        now = to_ms(self._clock.row_time())
        with self._db.read() as tx:
            rows = tx.rows(sql.COMPETING_TASKS, {**_same_branch(task), "now": now})
            return [
                CompetingTask(
                    TaskId(row["id"]),
                    Stage(row["stage"]),
                    bool(row["queued"]),
                    row["queued"] == REFUSED,
                    row["attempt"],
                    self._loader.spec(tx, row),
                )
                for row in rows
            ]

    @retries_reads
    def landing_tasks(self, task: Task) -> list[Task]:
        """The other tasks on the same branch that wait for their landing apart from the queue."""
        with self._db.read() as tx:
            rows = tx.rows(sql.LANDING_TASKS, _same_branch(task))
            return [self._loader.from_row(tx, row) for row in rows]

    @retries_reads
    def has_dependents(self, task_id: TaskId) -> bool:
        with self._db.read() as tx:
            return tx.row(f"{sql.DEPENDENTS} LIMIT 1", {"id": task_id}) is not None

    @retries_reads
    def spend_left(self, run_id: RunId) -> tuple[SpendLeft, ...]:
        with self._db.read() as tx:
            return self._budgets.spend_left(tx, run_id, self._clock.row_time())

    # -------------------------------------------------------------- renew and expire

    def heartbeat(self, leases: Sequence[Lease], lease: timedelta) -> HeartbeatResult:
        """Extend all leases at once; a superseded or cancelled claim is not revived."""

        def work(tx: Transaction) -> HeartbeatResult:
            until = to_ms(self._clock.row_time() + lease)
            lost = {
                each.task_id
                for each in sorted(leases, key=lambda each: each.task_id)
                if not tx.run(sql.EXTEND_LEASE, {**_lease_params(each), "lease_ms": until})
            }
            to_stop = {TaskId(row["id"]) for row in tx.rows(sql.ACTIVE_TO_STOP)}
            held_ids = {each.task_id for each in leases}
            return HeartbeatResult(frozenset(lost), frozenset(to_stop & held_ids - lost))

        return self._db.write(work)

    def expire_claims(
        self, is_dead: Callable[[str], bool], *, counted: bool, runs: Sequence[RunId] = ()
    ) -> list[TaskId]:
        """Return the claims of dead holders at once, without waiting for their leases."""

        def work(tx: Transaction) -> list[TaskId]:
            expired: list[TaskId] = []
            for row in tx.rows(sql.ACTIVE):
                if (runs and row["run_id"] not in runs) or not is_dead(row["holder"]):
                    continue
                task = self._loader.task(tx, row["id"])
                if task.lease is None or task.epoch != row["epoch"]:
                    continue  # another transaction was quicker
                event = LeaseExpired(
                    row["holder"], row["epoch"], counted=counted, why="its holder is dead"
                )
                expired.append(self._writer.write(tx, task, (event,)).id)
            return expired

        return self._db.write(work)


def _rows_to_cancel(tx: Transaction, runs: Sequence[RunId]) -> list[SqlRow]:
    rows: list[SqlRow] = []
    for run_id in runs:
        params = {"run_id": run_id, "limit": CANCELLATIONS_PER_CLAIM - len(rows)}
        rows += tx.rows(sql.CANCEL_WANTED_OF_RUN + tx.for_update_skip_locked, params)
        if len(rows) >= CANCELLATIONS_PER_CLAIM:
            break
    return rows


def _same_branch(task: Task) -> dict[str, str]:
    return {"run_id": task.run_id, "parent": task.parent, "id": task.id}


def _lease_params(lease: Lease) -> dict[str, str | int]:
    return {"id": lease.task_id, "epoch": lease.epoch, "holder": lease.holder}


def _room_on_host(claimant: Claimant, active: Sequence[SqlRow]) -> int:
    """The number of further tasks that the claimant's host may hold."""
    prefix = f"{claimant.host}:"
    count: int = sum(row["n"] for row in active if row["holder"].startswith(prefix))
    return claimant.host_max - count


def _within_concurrency(picked: list[Task], active_of_account: Counter[str]) -> list[Task]:
    """The tasks that fit the concurrency limits of their agents, in order."""
    allowed: list[Task] = []
    for task in picked:
        agent = task.agent
        if agent is not None and agent.concurrency:
            if active_of_account[task.account] >= agent.concurrency:
                continue
            active_of_account[task.account] += 1
        allowed.append(task)
    return allowed
