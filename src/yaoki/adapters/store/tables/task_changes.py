"""Changes of a task: the holder's record, a person's amendment, a cancellation.  Each public method
is one transaction.

The rule is handed in: `decide` runs inside the transaction, so it sees the row that it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.rows import ROW_READ_ERRORS
from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.tables.accounts import (
    closed_account,
    closed_chain_accounts,
    closes_account,
    open_judge_agents,
    switches_agent,
)
from yaoki.adapters.store.tables.task_loader import (
    TaskLoader,
    fold_task_journal,
    load_run,
    unknown_task,
)
from yaoki.adapters.store.tables.treatments import failed_pattern, load_outcomes
from yaoki.core.lazy_dataclass import replace
from yaoki.core.machine.events import Event
from yaoki.core.machine.race_events import JudgeCalled
from yaoki.core.machine.request_events import Cancelled, CancelRequested
from yaoki.core.model import Lease, RunId, State, Task, TaskId, TaskKind
from yaoki.errors import LeaseLost, NotNow

if TYPE_CHECKING:
    from yaoki.adapters.store.clock import StoreClock
    from yaoki.adapters.store.database import Database, Transaction
    from yaoki.adapters.store.rows import SqlRow
    from yaoki.adapters.store.tables.budget_limits import BudgetLimits
    from yaoki.adapters.store.tables.writes import EventWriter

Decide = Callable[[Task], Sequence[Event]]
Follow = Callable[
    [Task, Sequence[Task], Task, Task | None], Sequence[tuple[TaskId, Sequence[Event]]]
]


class TaskChanges:
    """Record, amend, cancel."""

    def __init__(
        self,
        database: Database,
        clock: StoreClock,
        loader: TaskLoader,
        writer: EventWriter,
        budgets: BudgetLimits,
    ) -> None:
        self._db, self._clock = database, clock
        self._loader, self._writer, self._budgets = loader, writer, budgets

    def record(self, lease: Lease, decide: Decide) -> Task:
        """Write what `decide` makes of the task, or nothing at all.

        A holder that was replaced gets `LeaseLost`; its late result is journalled and changes
        nothing.
        """

        task = self._db.write(lambda tx: self._record(tx, lease, decide), (lease.task_id,))
        if task is None:
            raise LeaseLost(lease.task_id, lease.holder, lease.epoch)
        return task

    def _record(self, tx: Transaction, lease: Lease, decide: Decide) -> Task | None:
        task = self._loader.task(tx, lease.task_id)
        current = task.lease
        if current is None or current.epoch != lease.epoch or current.holder != lease.holder:
            self._journal_refusal(tx, task, lease)
            return None
        events = self._decide(tx, task, decide)
        after = self._writer.write(tx, task, events)
        self._budgets.warn_if_near(tx, task, events, self._clock.row_time())
        return after

    def _decide(self, tx: Transaction, task: Task, decide: Decide) -> Sequence[Event]:
        """Decide; decide again with what the store knows from other tasks if that matters."""
        events = decide(task)
        known = self._with_others(tx, task, events)
        return decide(known) if known else events

    def _with_others(self, tx: Transaction, task: Task, events: Sequence[Event]) -> Task | None:
        """The task with closed accounts and earlier outcomes, if the decision depends on them."""
        now = self._clock.row_time()
        if closes_account(events):
            return replace(
                task,
                closed_account=closed_account(tx, task),
                closed_chain_accounts=closed_chain_accounts(tx, task, now),
            )
        pattern = failed_pattern(task, events)
        if pattern or switches_agent(task, events):
            return replace(
                task,
                treatment_outcomes=load_outcomes(tx, pattern) if pattern else (),
                closed_chain_accounts=closed_chain_accounts(tx, task, now),
            )
        return None

    # -------------------------------------------------------------- candidates of a race

    def record_candidate(
        self, lease: Lease, race_task: TaskId, decide: Decide, follow: Follow
    ) -> list[Task]:
        """As `record`, with what follows for the racing task and its other candidates.

        Returns every task that changed, the candidate first.
        """

        def work(tx: Transaction) -> list[Task] | None:
            # Two candidates that end at once are judged one after the other.
            tx.lock_by_name(f"race {race_task}")
            candidate = self._record(tx, lease, decide)
            return self._follow_race(tx, race_task, candidate, follow) if candidate else None

        tasks = self._db.write(work)
        if tasks is None:
            raise LeaseLost(lease.task_id, lease.holder, lease.epoch)
        return tasks

    def _follow_race(
        self, tx: Transaction, race_task: TaskId, candidate: Task, follow: Follow
    ) -> list[Task]:
        task = self._loader.task(tx, race_task)
        ids = sorted({candidate.id, *task.candidates})
        present = {each: self._loader.task(tx, each) for each in ids}
        candidates = [present[each] for each in task.candidates]
        judge = self._loader.task(tx, task.judge) if task.judge else None
        changes = follow(task, candidates, candidate, judge)
        own = [event for task_id, events in changes if task_id == task.id for event in events]
        if known := self._with_others(tx, task, own) or self._with_obstacle(tx, task, own):
            changes = follow(known, candidates, candidate, judge)
        present[task.id] = task
        changed = {
            task_id: self._writer.write(tx, present[task_id], events) for task_id, events in changes
        }
        return list({candidate.id: candidate, **changed}.values())

    def _with_obstacle(self, tx: Transaction, task: Task, events: Sequence[Event]) -> Task | None:
        """The racing task with the reason why its judge cannot be asked, if there is one."""
        called = next((event for event in events if isinstance(event, JudgeCalled)), None)
        if called is None:
            return None
        catalogue = self._loader.catalogue(tx, task.run_id)
        if open_judge_agents(tx, catalogue, called.agent, self._clock.row_time()):
            return None
        is_known = called.agent in catalogue.agents
        closed, unknown = f"the account of {called.agent} is closed", "the run has no such agent"
        return replace(task, judge_obstacle=closed if is_known else unknown)

    # -------------------------------------------------------------- amend

    def _journal_refusal(self, tx: Transaction, task: Task, lease: Lease) -> None:
        """Once per superseded claim: the same late result three times is one entry."""
        entry = tx.row(
            "SELECT 1 FROM journal WHERE task_id = :id AND event = 'RESULT_REFUSED'"
            " AND data LIKE :claim LIMIT 1",
            {"id": task.id, "claim": f'%"epoch":{lease.epoch},%'},
        )
        if entry is None:
            data = {
                "holder": lease.holder,
                "epoch": lease.epoch,
                "current_epoch": task.epoch,
                "state": task.state.value,
            }
            self._writer.append_event(
                tx, task.run_id, "RESULT_REFUSED", data, task.id, task.attempt
            )

    def amend(self, task_id: TaskId, decide: Decide) -> Task:
        """A person's change: it needs no lease, because `decide` sees a live claim."""

        def work(tx: Transaction) -> Task:
            task = self._loader.task(tx, task_id)
            return self._writer.write(tx, task, decide(task))

        return self._db.write(work)

    def amend_all(self, changes: Sequence[tuple[TaskId, Decide]]) -> list[Task]:
        """Changes of several tasks that belong together: all or none."""

        def work(tx: Transaction) -> list[Task]:
            changed = []
            for task_id, decide in changes:
                task = self._loader.task(tx, task_id)
                events = self._decide(tx, task, decide)
                changed.append(self._writer.write(tx, task, events) if events else task)
            return changed

        return self._db.write(work)

    def amend_from_journal(self, task_id: TaskId, decide: Decide) -> Task:
        """Write what `decide` makes of the task as its journal describes it.

        The row is rebuilt, and the open needs of its dependents are counted again: whoever changed
        the row may have changed those as well.
        """

        def work(tx: Transaction) -> Task:
            row = tx.row(sql.TASK + tx.for_update, {"id": task_id})
            if row is None:
                raise unknown_task(task_id)
            run_id = row["run_id"]
            try:
                catalogue = self._loader.catalogue(tx, run_id)
                before = fold_task_journal(tx, task_id, run_id, catalogue)
            except ROW_READ_ERRORS:
                before = self._loader.from_row(tx, row)
            required = int(before.spec.required and not before.parent)
            tx.run(sql.UPDATE_REQUIRED, {"id": task_id, "required": required})
            after = self._writer.write(tx, before, decide(before))
            tx.flush()
            for dependent in tx.rows(sql.DEPENDENTS, {"id": task_id}):
                tx.run(sql.RECOUNT_OPEN_NEEDS, {"id": dependent["task_id"]})
            return after

        return self._db.write(work)

    def note(
        self,
        run_id: RunId,
        name: str,
        data: Mapping[str, Any],
        task_id: str = "",
        attempt: int = 0,
    ) -> None:
        """A journal entry that changes no row."""
        self._db.write(
            lambda tx: self._writer.append_event(tx, run_id, name, data, task_id, attempt)
        )

    # -------------------------------------------------------------- cancel

    def cancel_run(self, run_id: RunId, why: str) -> list[TaskId]:
        """Store the request, and end at once every task that never began.

        Returns the tasks that a worker runs or ran: their worktrees must be checked before they
        end.
        """

        def work(tx: Transaction) -> list[TaskId]:
            load_run(tx, run_id, lock=True)
            requested = {"cancel_wanted": 1}
            self._writer.update_run(tx, run_id, "CANCEL_REQUESTED", {"why": why}, requested)
            rows = tx.rows(
                "SELECT * FROM tasks WHERE run_id = :id"
                f" AND state IN ('WAITING', 'ACTIVE', 'ESCALATED') ORDER BY n{tx.for_update}",
                {"id": run_id},
            )
            # Every task ends, so no task blocks another.
            tasks = [
                self._cancel(tx, task, why, journal_dependents=False)
                for task in self._current_tasks(tx, rows)
            ]
            return [task.id for task in tasks if not task.state.is_final]

        return self._db.write(work)

    def _current_tasks(self, tx: Transaction, rows: Sequence[SqlRow]) -> Iterator[Task]:
        """The open tasks; a candidate is read again, since its racing task may have ended it."""
        for row in rows:
            task = self._loader.from_row(tx, row)
            task = self._loader.task(tx, task.id) if task.race_task else task
            if not task.state.is_final:
                yield task

    def cancel_task(self, task_id: TaskId, why: str) -> Task:
        def work(tx: Transaction) -> Task:
            task = self._loader.task(tx, task_id)
            if task.race_task and not task.state.is_final:
                is_judge = task.spec.kind is TaskKind.JUDGE
                role = "the judge of" if is_judge else "a candidate in"
                raise NotNow(
                    f"{task.id} is {role} the race of {task.race_task}",
                    hint=f"yaoki cancel {task.race_task}",
                )
            if task.state.is_final:
                raise NotNow(
                    f"{task.id} is already {task.state.value}", hint=f"yaoki why {task.id}"
                )
            return self._cancel(tx, task, why)

        return self._db.write(work)

    def _cancel(
        self, tx: Transaction, task: Task, why: str, *, journal_dependents: bool = True
    ) -> Task:
        request: tuple[Event, ...] = () if task.cancel_requested else (CancelRequested(why),)
        # A task that awaits its re-run cannot be claimed, and its last attempt is recorded.
        was_claimed = task.state is State.WAITING and task.epoch > 0 and not task.awaiting_rerun
        if task.state is State.ACTIVE or was_claimed:
            # An agent may still run, or the work may have landed unrecorded.
            return self._writer.write(tx, task, request)
        events = (*request, Cancelled(why))
        return self._writer.write(tx, task, events, journal_dependents=journal_dependents)
