"""The one Store, in plain SQL.  Every public method is one transaction.

The rules are handed in: `record` gives `decide` the task inside the transaction, so nothing slips
in between the look and the leap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from yaoki.core.events import (
    Cancelled,
    CancelRequested,
    Event,
    Submitted,
)
from yaoki.core.machine import create
from yaoki.core.model import Finding, Lease, Run, RunId, Spec, State, Task, TaskId
from yaoki.core.schedule import rank
from yaoki.core.wire import to_data
from yaoki.errors import LeaseLost, NotNow, OverLimit
from yaoki.store import statements as sql
from yaoki.store.claims import Claims
from yaoki.store.rows import dumps, ms, new_task_params, run_params
from yaoki.store.sqlite import Link
from yaoki.store.writes import entry_params


class SqlStore(Claims):
    """Submitting, recording and cancelling; claims, writes and reads stand on the floors below."""

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
            if run.cancel_wanted or (unless and self._named(link, run_id, unless)):
                return []
            row = link.row("SELECT tasks_made FROM runs WHERE id = :id", {"id": run_id})
            made = int(row["tasks_made"]) if row else 0
            if not unless:
                # The run's own last proof is no task of the plan, so it is not counted as one.
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
            [entry_params(t, Submitted(t.n, t.spec), run.catalogue, ms(now)) for t in tasks],
        )
        link.run(
            "UPDATE runs SET tasks_made = :n, summed_ms = NULL WHERE id = :id",
            {"n": first + len(specs) - 1, "id": run.id},
        )
        return [task.id for task in tasks]

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

    def note(
        self,
        run_id: RunId,
        name: str,
        data: Mapping[str, Any],
        task_id: str = "",
        attempt: int = 0,
    ) -> None:
        self._db.write(lambda link: self._tell(link, run_id, name, data, task_id, attempt))

    # -------------------------------------------------------------- runs

    def cancel_run(self, run_id: RunId, why: str) -> list[TaskId]:
        """The wish, durable before anything acts on it; what never began ends at once.

        Returns the tasks that somebody carries or carried: they must be looked at before they end.
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
            return [task.id for task in tasks if not task.state.final]

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
        begun = task.state is State.WAITING and task.epoch > 0
        if task.state is State.ACTIVE or begun:
            # An agent may still run, or the work may have landed unrecorded.
            return self._write(link, task, wish)
        return self._write(link, task, (*wish, Cancelled(why)), tell=tell)

    def keep_baseline(self, commit: str, command: str, finding: Finding) -> None:
        params = {"commit_id": commit, "command": command, "finding": dumps(to_data(finding))}
        self._db.write(lambda link: link.run(sql.KEEP_BASELINE, params))

    def update_run(self, run_id: RunId, event: str, data: Mapping[str, Any], **fields: Any) -> Run:
        """Tell something of the run and keep it; `fields` are merged and summed_ms only."""
        assert set(fields) <= {"merged", "summed_ms"}, fields

        def work(link: Link) -> Run:
            self._run(link, run_id)
            for name, value in fields.items():
                # Summed up once, by whichever process sees the end first.
                once = " AND summed_ms IS NULL" if name == "summed_ms" and value else ""
                changed = link.run(
                    f"UPDATE runs SET {name} = :value WHERE id = :id{once}",
                    {"value": value, "id": run_id},
                )
                if not changed:
                    return self._run(link, run_id)
            self._tell(link, run_id, event, data)
            return self._run(link, run_id)

        return self._db.write(work)
