"""The one Store, in plain SQL.  Every public method is one transaction.

The rules are handed in: `record` gives `decide` the task inside the transaction, so nothing slips
in between the look and the leap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from yaoki.adapters.store.database import Transaction
from yaoki.adapters.store.rows import ROW_READ_ERRORS, dump_json, tally_from_rows, to_ms
from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.tables.extend import RunExtender
from yaoki.adapters.store.tables.leased_ports import PortLeases
from yaoki.adapters.store.tables.reads import fold_task_journal
from yaoki.adapters.store.tables.workers import WorkerRegistry
from yaoki.core.machine.codec import to_data
from yaoki.core.machine.events import Cancelled, CancelRequested, Event
from yaoki.core.model import Finding, Lease, Run, RunId, State, Task, TaskId, TaskSpec
from yaoki.core.run_status import StateCounts
from yaoki.errors import LeaseLost, NotNow, OverLimit, Unknown


class SqlStore(WorkerRegistry, PortLeases, RunExtender):
    """Submitting, recording and cancelling; claims, writes and reads stand on the floors below."""

    # -------------------------------------------------------------- submit

    def submit(
        self, run: Run, specs: Sequence[TaskSpec], request: Mapping[str, Any]
    ) -> list[TaskId]:
        """A run with all its tasks, or nothing at all."""

        def work(link: Transaction) -> list[TaskId]:
            link.lock_by_name("submit")
            self._refuse_runs(link)
            self._refuse_tasks(len(specs))
            self._insert_run(link, run)
            self._append_event(link, run.id, "USER_REQUEST", request)
            told = {"goal": run.goal, "tasks": len(specs), "revision": run.revision}
            # The whole run: the journal alone must be enough to make every row again.
            whole = {**told, "base": run.base, "run": to_data(run)}
            self._append_event(link, run.id, "PLAN_SUBMITTED", whole)
            return self._submit_tasks(link, run, specs, first=1)

        return self._db.write(work)

    def _refuse_runs(self, link: Transaction) -> None:
        row = link.row("SELECT count(*) AS n FROM runs WHERE summed_ms IS NULL")
        pending = int(row["n"]) if row else 0
        if pending >= self._pending_runs_max:
            raise OverLimit(
                "runs that are not finished",
                pending + 1,
                self._pending_runs_max,
                hint="finish or cancel one first: yaoki status --all",
            )

    # -------------------------------------------------------------- record

    def record(self, lease: Lease, decide: Callable[[Task], Sequence[Event]]) -> Task:
        """Write what `decide` makes of the task, or nothing at all.

        A holder that was replaced meanwhile gets `LeaseLost`; its late result is journalled and
        changes nothing.
        """

        def work(link: Transaction) -> Task | None:
            task = self._task(link, lease.task_id)
            held = task.lease
            if held is None or held.epoch != lease.epoch or held.holder != lease.holder:
                self._refused(link, task, lease)
                return None
            events = decide(task)
            after = self._write(link, task, events)
            self._warn_near_budget(link, task, events)
            return after

        task = self._db.write(work, (lease.task_id,))
        if task is None:
            raise LeaseLost(lease.task_id, lease.holder, lease.epoch)
        return task

    def _refused(self, link: Transaction, task: Task, lease: Lease) -> None:
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
            self._append_event(link, task.run_id, "RESULT_REFUSED", data, task.id, task.attempt)

    def amend(self, task_id: TaskId, decide: Callable[[Task], Sequence[Event]]) -> Task:
        """A person's change: no lease, but never on top of a live claim's next step unseen."""
        return self._db.write(
            lambda link: self._write(link, t := self._task(link, task_id), decide(t))
        )

    def amend_from_journal(
        self, task_id: TaskId, decide: Callable[[Task], Sequence[Event]]
    ) -> Task:
        """Write what `decide` makes of the task as its journal has it; the row is made anew.

        Whoever needs the task is counted again: somebody may have changed that as well.
        """

        def work(link: Transaction) -> Task:
            found = link.row(sql.TASK + link.for_update, {"id": task_id})
            if found is None:
                raise Unknown(f"there is no task {task_id}", hint="yaoki status")
            run_id = found["run_id"]
            try:
                before = fold_task_journal(link, task_id, run_id, self._catalogue(link, run_id))
            except ROW_READ_ERRORS:
                before = self._from_row(link, found)
            required = int(before.spec.required and not before.parent)
            link.run(sql.UPDATE_REQUIRED, {"id": task_id, "required": required})
            after = self._write(link, before, decide(before))
            link.flush()
            for row in link.rows(sql.DEPENDENTS, {"id": task_id}):
                link.run(sql.RECOUNT_OPEN_NEEDS, {"id": row["task_id"]})
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
        self._db.write(lambda link: self._append_event(link, run_id, name, data, task_id, attempt))

    # -------------------------------------------------------------- runs

    def cancel_run(self, run_id: RunId, why: str) -> list[TaskId]:
        """The wish, durable before anything acts on it; what never began ends at once.

        Returns the tasks that somebody carries or carried: they must be looked at before they end.
        """

        def work(link: Transaction) -> list[TaskId]:
            self._run(link, run_id, lock=True)
            wish = {"cancel_wanted": 1}
            self._update_run_columns(link, run_id, wish)
            self._append_event(link, run_id, "CANCEL_REQUESTED", {"why": why, "set": wish})
            open_rows = link.rows(
                "SELECT * FROM tasks WHERE run_id = :id"
                f" AND state IN ('WAITING', 'ACTIVE', 'ESCALATED') ORDER BY n{link.for_update}",
                {"id": run_id},
            )
            # Everything ends, so nobody is blocked by anybody.
            tasks = [
                self._cancel(link, self._from_row(link, row), why, tell=False) for row in open_rows
            ]
            return [task.id for task in tasks if not task.state.is_final]

        return self._db.write(work)

    def cancel_task(self, task_id: TaskId, why: str) -> Task:
        def work(link: Transaction) -> Task:
            task = self._task(link, task_id)
            if task.state.is_final:
                raise NotNow(
                    f"{task.id} is already {task.state.value}", hint=f"yaoki why {task.id}"
                )
            return self._cancel(link, task, why)

        return self._db.write(work)

    def _cancel(self, link: Transaction, task: Task, why: str, *, tell: bool = True) -> Task:
        wish: tuple[Event, ...] = () if task.cancel_requested else (CancelRequested(why),)
        # A task that awaits its re-run cannot be claimed, and its last attempt is recorded.
        begun = task.state is State.WAITING and task.epoch > 0 and not task.awaiting_rerun
        if task.state is State.ACTIVE or begun:
            # An agent may still run, or the work may have landed unrecorded.
            return self._write(link, task, wish)
        return self._write(link, task, (*wish, Cancelled(why)), tell=tell)

    def save_baseline(self, commit: str, command: str, finding: Finding) -> None:
        params = {"commit_id": commit, "command": command, "finding": dump_json(to_data(finding))}
        self._db.write(lambda link: link.run(sql.INSERT_BASELINE, params))

    def _goes_on(self, link: Transaction, run: Run) -> bool:
        """Summed up once, by whichever process sees the end first, and only at its end."""
        restless = link.row(sql.UNFINISHED_WORK, {"run_id": run.id}) is not None
        return run.finished_at is not None or restless

    def update_run(self, run_id: RunId, event: str, data: Mapping[str, Any], **fields: Any) -> Run:
        """Tell something of the run and keep it; `fields` are columns that change later."""

        def work(link: Transaction) -> Run:
            run = self._run(link, run_id, lock=True)
            if fields.get("summed_ms") and self._goes_on(link, run):
                return run
            self._update_run_columns(link, run_id, fields)
            self._append_event(link, run_id, event, {**data, "set": fields} if fields else data)
            return self._run(link, run_id)

        return self._db.write(work)

    def summarize_run(
        self, run_id: RunId, summarize: Callable[[StateCounts], Mapping[str, Any] | None]
    ) -> None:
        """The end of a run, told of its tasks as they stand in this very transaction.

        Nothing happens when it goes on, was summed up before, or `tell` says that it is no end.
        """

        def work(link: Transaction) -> None:
            run = self._run(link, run_id, lock=True)
            rows = link.rows(sql.TALLY, {"run_id": run_id})
            data = None if self._goes_on(link, run) else summarize(tally_from_rows(rows))
            if data is not None:
                fields = {"summed_ms": to_ms(self._now())}
                self._update_run_columns(link, run_id, fields)
                self._append_event(link, run_id, "FINAL_SUMMARY", {**data, "set": fields})

        self._db.write(work)
