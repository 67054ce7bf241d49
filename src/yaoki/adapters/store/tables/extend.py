"""What a run becomes on its way: more tasks, replacements, pauses; what rests for a decision."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from yaoki.adapters.store.database import Transaction, retries_reads
from yaoki.adapters.store.rows import from_ms, to_ms
from yaoki.adapters.store.tables import outbox, totals
from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.tables.claims import ClaimQueries
from yaoki.core.machine.events import Event, Replaced
from yaoki.core.model import Pause, PauseCause, Run, RunId, Spend, State, Task, TaskId, TaskSpec
from yaoki.errors import NotNow, OverLimit
from yaoki.ports import Notice


class RunExtender(ClaimQueries):
    """Each public method is one transaction."""

    def add_tasks(
        self,
        run_id: RunId,
        specs: Sequence[TaskSpec],
        *,
        unless: str = "",
        replaces: Mapping[str, str] | None = None,
        retire: Sequence[TaskId] = (),
        event: str = "",
        data: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> list[TaskId]:
        """More tasks for a run, some in the place of others; all of it or nothing."""

        def work(link: Transaction) -> list[TaskId]:
            run = self._run(link, run_id, lock=True)
            if run.cancel_requested or (unless and self._has_task_named(link, run_id, unless)):
                return []
            if not unless:
                # The run's own proofs and replans are no tasks of the plan, so none is counted.
                self._refuse_more(link, run_id, specs)
            if event:
                told = {**(data or {}), "tasks": [spec.name for spec in specs]}
                self._update_run_with_event(link, run_id, event, told, fields)
            made = self._add_tasks(link, run, specs, replaces or {}, planned=False)
            for old in (self._task(link, one) for one in retire):
                if old.awaiting_rerun or old.state is State.ESCALATED:
                    self._write(link, old, (Replaced(made[0], "what came later takes its place"),))
            return made

        return self._db.write(work)

    def extend(
        self,
        run_id: RunId,
        specs: Sequence[TaskSpec],
        replaces: Mapping[str, str],
        refuse: Callable[[Run], None],
        *,
        by_planner: bool = False,
    ) -> tuple[list[TaskId], int]:
        """The next revision of the plan, with these tasks; all of it or nothing.

        The number and the refusal follow from the run as it is inside the transaction: two that
        extend at once make two revisions.
        """

        def work(link: Transaction) -> tuple[list[TaskId], int]:
            run = self._run(link, run_id, lock=True)
            refuse(run)
            self._refuse_more(link, run_id, specs)
            revision = run.revision + 1
            told = {"replaces": dict(replaces), "revision": revision}
            told["tasks"] = [spec.name for spec in specs]
            self._update_run_with_event(link, run_id, "PLAN_EXTENDED", told, {"revision": revision})
            return self._add_tasks(link, run, specs, replaces, planned=by_planner), revision

        return self._db.write(work)

    def _refuse_more(self, link: Transaction, run_id: RunId, specs: Sequence[TaskSpec]) -> None:
        self._refuse_tasks(self._task_count(link, run_id) + len(specs))
        self._refuse_names(link, run_id, specs)

    def _refuse_names(self, link: Transaction, run_id: RunId, specs: Sequence[TaskSpec]) -> None:
        """Somebody else may have taken a name since it was looked up."""
        taken = self._ids_by_name(link, run_id)
        twice = next((spec.name for spec in specs if spec.name in taken), "")
        if twice:
            words = f"run {run_id} has a task {twice!r} already: {taken[twice]}"
            raise NotNow(words, hint=f"yaoki status {run_id}")

    def _refuse_tasks(self, tasks: int) -> None:
        if tasks > self._pending_tasks_max:
            raise OverLimit(
                "tasks of one run",
                tasks,
                self._pending_tasks_max,
                hint="split the plan, or raise limits.pending_tasks in yaoki.toml",
            )

    def amend_all(
        self, changes: Sequence[tuple[TaskId, Callable[[Task], Sequence[Event]]]]
    ) -> list[Task]:
        """Changes of several tasks that belong together: all or none."""

        def work(link: Transaction) -> list[Task]:
            made = []
            for task_id, decide in changes:
                task = self._task(link, task_id)
                events = decide(task)
                made.append(self._write(link, task, events) if events else task)
            return made

        return self._db.write(work)

    # -------------------------------------------------------------- what rests for a decision

    @retries_reads
    def tasks_awaiting_rerun(self, run_id: RunId) -> list[Task]:
        with self._db.read() as link:
            return [
                self._from_row(link, r) for r in link.rows(sql.AWAITING_RERUN, {"run_id": run_id})
            ]

    @retries_reads
    def tasks_to_undo(self, run_id: RunId) -> list[Task]:
        with self._db.read() as link:
            return [self._from_row(link, r) for r in link.rows(sql.UNDO_WANTED, {"run_id": run_id})]

    @retries_reads
    def open_planning_tasks(self, run_id: RunId) -> list[tuple[Task, datetime]]:
        """Open plan tasks that can start and have a deadline, with the instant it passes."""
        with self._db.read() as link:
            tasks = [
                self._from_row(link, r)
                for r in link.rows(sql.OPEN_PLANNING_TASKS, {"run_id": run_id})
            ]
            found = []
            for task in tasks:
                fill = task.spec.planning_brief
                row = link.row(sql.READY_SINCE, {"id": task.id})
                if fill is not None and fill.deadline > timedelta(0) and row is not None:
                    found.append((task, from_ms(row["at"]) + fill.deadline))
            return found

    # -------------------------------------------------------------- pauses

    def pause(
        self,
        run_id: RunId,
        pause: Pause,
        *,
        event: str = "",
        data: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> None:
        """What led to it is told and kept in the same transaction, or not at all."""

        def work(link: Transaction) -> None:
            run = self._run(link, run_id, lock=True)
            if run.pause_reason or run.finished_at is not None:
                return
            if event:
                self._update_run_with_event(link, run_id, event, data or {}, fields)
            self._pause(link, run_id, str(pause))

        self._db.write(work)

    def _update_run_with_event(
        self,
        link: Transaction,
        run_id: RunId,
        event: str,
        data: Mapping[str, Any],
        fields: Mapping[str, Any],
    ) -> None:
        self._update_run_columns(link, run_id, fields)
        self._append_event(link, run_id, event, {**data, "set": fields} if fields else data)

    def end_iterations(
        self, run_id: RunId, number: int, event: str, data: Mapping[str, Any]
    ) -> None:
        """Why the last iteration was the last one.

        Another worker may have told it, or gone on, since the caller looked at the run.
        """

        def work(link: Transaction) -> None:
            run = self._run(link, run_id, lock=True)
            row = link.row(sql.LAST_ENTRY, {"run_id": run_id, "event": event})
            last = json.loads(row["data"]) if row else {}
            same = all(last.get(key) == data[key] for key in ("iteration", "decision", "reason"))
            if not same and run.finished_at is None and (run.iteration or 1) == number:
                self._append_event(link, run_id, event, data)

        self._db.write(work)

    def unpause(self, run_id: RunId, words: str, how: str = "") -> Run:
        """A person says go: of a budget, as much again is granted."""

        def work(link: Transaction) -> Run:
            run = self._run(link, run_id, lock=True)
            if not run.pause_reason:
                raise NotNow(f"run {run.id} is not paused", hint=f"yaoki status {run.id}")
            fields: dict[str, Any] = {"paused": ""}
            if run.pause_cause is PauseCause.BUDGET:
                fields["grants"] = run.budget_grants + 1
            if run.pause_cause is PauseCause.FAILURE:
                fields |= {"failures_in_row": 0, "acknowledged": run.iteration or 1}
            self._update_run_columns(link, run_id, fields)
            data = {"was": run.pause_reason, "words": words, "set": fields, "how": how}
            self._append_event(link, run_id, "RUN_RESUMED", data)
            return self._run(link, run_id)

        return self._db.write(work)

    # -------------------------------------------------------------- spending

    @retries_reads
    def total_spend(self, run_id: RunId) -> Spend:
        """What the agents of a run used up so far."""
        with self._db.read() as link:
            return totals.spend_from_row(
                link.row(totals.TOTAL, {"name": totals.run_total_name(run_id)})
            )

    # -------------------------------------------------------------- notices

    @retries_reads
    def take_notices(self, limit: int = 20) -> list[Notice]:
        """What is due, marked as being sent."""
        with self._db.read() as link:
            if not link.rows(outbox.DUE, {"now": to_ms(self._now()), "limit": 1}):
                return []
        return self._db.write(lambda link: outbox.take_due(link, self._now(), limit))

    def mark_notice_sent(self, notice: Notice) -> None:
        """Marked once, however often it was sent."""

        def work(link: Transaction) -> None:
            if link.run(outbox.SENT, {"id": notice.id, "now": to_ms(self._now())}):
                data = {"notice": notice.id, "channel": notice.channel, "tells": notice.event}
                self._append_event(link, notice.run_id, "NOTICE_SENT", data, notice.task_id)

        self._db.write(work)

    def mark_notice_failed(
        self, notice: Notice, why: str, *, permanent: bool, retry_after: timedelta | None = None
    ) -> None:
        """Tried again later, as the receiver asked if it did; given up by name after many tries."""

        def work(link: Transaction) -> None:
            now = self._now()
            over = permanent or notice.tries >= outbox.TRIES_MAX
            params = {
                "id": notice.id,
                "error": why[:500],
                "due_ms": to_ms(outbox.next_try_at(notice.tries, now, retry_after)),
                "given_up": -to_ms(now) if over else 0,
            }
            changed = link.run(outbox.FAILED, params)
            if changed and (over or notice.tries == 1):
                data = {"notice": notice.id, "channel": notice.channel, "why": why[:500]}
                data["given_up"] = over
                self._append_event(link, notice.run_id, "NOTICE_FAILED", data, notice.task_id)

        self._db.write(work)

    @retries_reads
    def count_waiting_notices(self) -> int:
        with self._db.read() as link:
            row = link.row(outbox.WAITING)
            return int(row["n"]) if row else 0
