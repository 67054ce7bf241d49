"""The one way a task changes: evolve, keep the row, keep the journal, in one transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from yaoki.adapters.store.clock import StoreClock
from yaoki.adapters.store.database import Database, Transaction
from yaoki.adapters.store.rows import dump_json, to_ms
from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.tables.apply_events import EventApplier
from yaoki.adapters.store.tables.outbox import NOTICE_KINDS, NoticeSelection, enqueue_notices
from yaoki.core.bounded_cache import BoundedCache
from yaoki.core.machine.codec import event_to_data
from yaoki.core.machine.events import (
    Answered,
    AttemptStarted,
    CulpritFound,
    Event,
    Planned,
    Replaced,
    Submitted,
    UndoRequested,
    event_name,
)
from yaoki.core.model import Catalogue, Reason, Run, State, Task, TaskId, TaskKind, TaskSpec
from yaoki.core.schedule import AGEING
from yaoki.ports import Clock

TOLD_MAX = 100


class EventWriter(EventApplier):
    """What every writer shares."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        pending_runs_max: int = 20,
        pending_tasks_max: int = 100_000,
        max_in_progress: timedelta = timedelta(minutes=30),
        ageing: timedelta = AGEING,
        backups_kept: int = 5,
        posting: NoticeSelection | None = None,
        day_budget: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(database, backups_kept=backups_kept, ageing=ageing)
        self._posting = posting or NoticeSelection()
        self._day_budget = day_budget or {}
        self._budgets: BoundedCache[str, bool] = BoundedCache()
        # Whoever writes a date that the store compares must take it from here.
        self.clock = StoreClock(clock, database)
        self._pending_runs_max = pending_runs_max
        self._pending_tasks_max = pending_tasks_max
        self._max_in_progress = max_in_progress

    def _now(self) -> datetime:
        """The store's clock, in whole milliseconds, as rows keep it."""
        now = self.clock.now()
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    def _write(
        self, link: Transaction, before: Task, events: Sequence[Event], *, tell: bool = True
    ) -> Task:
        """Stamp the events with the time, keep rows and journal, tell the dependents."""
        now = self._now()
        for event in events:
            if isinstance(event, Planned) and event.specs:
                run = self._run(link, before.run_id, lock=True)
                self._add_tasks(link, run, event.specs, event.replaces, planned=True)
        after = self._apply(link, before, events, now)
        self._append_entries(link, self._entries(link, before, events, to_ms(now)))
        if tell:
            self._journal_blocked_dependents(link, before, after)
        self._apply_consequences(link, after, events)
        return after

    def _append_entries(self, link: Transaction, entries: Sequence[Mapping[str, Any]]) -> None:
        """Lines of the journal, and the notices that tell of them."""
        for entry in entries:
            link.enqueue(sql.INSERT_ENTRY, entry)
        if self._posting.channels and any(e["event"] in NOTICE_KINDS for e in entries):
            enqueue_notices(link, entries, self._posting)

    def _apply_consequences(self, link: Transaction, task: Task, events: Sequence[Event]) -> None:
        """What an event of one task means for the run and for other tasks."""
        for event in events:
            match event:
                case Answered() | UndoRequested():
                    self._reopen(link, task.run_id)
                case CulpritFound(culprit=culprit, failure=failure):
                    guilty = self._task(link, culprit)
                    if guilty.state is State.DONE:
                        self._write(link, guilty, (UndoRequested(guilty.landed_commit, failure),))
                case Planned(names=names, pause=pause):
                    fill = task.spec.planning_brief
                    if fill is not None and fill.phase:
                        data = {"phase": fill.phase, "tasks": list(names)}
                        self._append_event(link, task.run_id, "PHASE_FILLED", data, task.id)
                    if pause:
                        self._pause(link, task.run_id, pause)
                case Replaced(by=by) if task.spec.phase:
                    data = {"phase": task.spec.phase, "replaced": task.id, "by": by}
                    self._append_event(link, task.run_id, "PHASE_REOPENED", data, task.id)
                case _:
                    pass

    def _reopen(self, link: Transaction, run_id: str) -> None:
        """A run that was summed up goes on; it will be summed up again."""
        if self._run(link, run_id, lock=True).finished_at is not None:
            fields = {"summed_ms": None}
            self._update_run_columns(link, run_id, fields)
            self._append_event(link, run_id, "RUN_REOPENED", {"set": fields})

    def _pause(self, link: Transaction, run_id: str, why: str) -> None:
        """Nothing new is begun; what is at work goes on to its end."""
        if self._run(link, run_id, lock=True).pause_reason:
            return
        fields = {"paused": why}
        self._update_run_columns(link, run_id, fields)
        self._append_event(link, run_id, "RUN_PAUSED", {"why": why, "set": fields})

    # -------------------------------------------------------------- new tasks

    def _task_count(self, link: Transaction, run_id: str) -> int:
        row = link.row("SELECT tasks_made FROM runs WHERE id = :id", {"id": run_id})
        return int(row["tasks_made"]) if row else 0

    def _add_tasks(
        self,
        link: Transaction,
        run: Run,
        specs: Sequence[TaskSpec],
        replaces: Mapping[str, str],
        *,
        planned: bool,
    ) -> list[TaskId]:
        """Add tasks; each that takes the place of another inherits its lineage and its counts."""
        old = {name: self._task(link, task_id) for name, task_id in replaces.items()}
        made = self._submit_tasks(
            link, run, specs, self._task_count(link, run.id) + 1, old, planned=planned
        )
        by_name = dict(zip((spec.name for spec in specs), made, strict=True))
        for name, task in old.items():
            why = "replaced by the planner" if planned else "replaced"
            self._write(link, task, (Replaced(by_name[name], why),))
        return made

    def _submit_tasks(
        self,
        link: Transaction,
        run: Run,
        specs: Sequence[TaskSpec],
        first: int,
        old: Mapping[str, Task] | None = None,
        *,
        planned: bool = False,
    ) -> list[TaskId]:
        now = self._now()
        groups = {
            spec.name: f"{run.id}-{n}"
            for n, spec in enumerate(specs, start=first)
            if spec.kind is TaskKind.GROUP
        }
        submitted = [
            _submitted(n, spec, groups.get(spec.group, ""), (old or {}).get(spec.name), planned)
            for n, spec in enumerate(specs, start=first)
        ]
        tasks = self._insert_tasks(link, run.id, submitted, now) if submitted else []
        lines = zip(tasks, submitted, strict=True)
        entries = [entry_columns(task, event, run.catalogue, to_ms(now)) for task, event in lines]
        for entry in entries:
            link.enqueue(sql.INSERT_ENTRY, entry)
        return [task.id for task in tasks]

    def _entries(
        self, link: Transaction, task: Task, events: Sequence[Event], at_ms: int
    ) -> list[dict[str, Any]]:
        """Each line carries the attempt it belongs to, which an event may begin."""
        catalogue, attempt = self._catalogue(link, task.run_id), task.attempt
        entries = []
        for event in events:
            attempt = event.attempt if isinstance(event, AttemptStarted) else attempt
            entries.append({**entry_columns(task, event, catalogue, at_ms), "attempt": attempt})
        return entries

    def _replacement(self, link: Transaction, task: Task) -> str:
        row = link.row(sql.REPLACED_BY, {"id": task.id})
        return str(json.loads(row["data"]).get("by", "")) if row else task.id

    def _journal_blocked_dependents(self, link: Transaction, before: Task, after: Task) -> None:
        """One notice for all levels: they are blocked by this task, or no longer are."""
        stuck = {State.ESCALATED, State.CANCELLED}
        was, now_is = before.state in stuck, after.state in stuck
        if was == now_is:
            return
        # Whoever waited for a replaced task waits for its replacement by now.
        root = self._replacement(link, after) if after.state is State.REPLACED else after.id
        down = [row["id"] for row in link.rows(sql.DOWNSTREAM, {"id": root})]
        told = {"dependents": len(down), "tasks": down[:TOLD_MAX], "cause": after.id}
        if now_is:
            own = after.reason.value if after.reason else after.state.value
            data = {**told, "reason": own, "dependents_reason": Reason.DEPENDENCY_FAILED.value}
            self._append_event(link, after.run_id, "TASK_BLOCKED", data, after.id, after.attempt)
        else:
            self._append_event(link, after.run_id, "TASK_REVIVED", told, after.id, after.attempt)

    def _append_event(
        self,
        link: Transaction,
        run_id: str,
        name: str,
        data: Mapping[str, Any],
        task_id: str = "",
        attempt: int = 0,
    ) -> None:
        entry = {"run_id": run_id, "task_id": task_id, "attempt": attempt, "event": name}
        self._append_entries(
            link, [{**entry, "at_ms": to_ms(self._now()), "data": dump_json(dict(data))}]
        )


def _submitted(n: int, spec: TaskSpec, parent: str, old: Task | None, planned: bool) -> Submitted:
    """A replacement goes on where its lineage stands."""
    if old is None or spec.kind in {TaskKind.PLAN, TaskKind.CHECK}:
        return Submitted(n, spec, parent)
    counts = replace(old.counts, replans=old.counts.replans + planned)
    return Submitted(n, spec, parent or old.parent, old.lineage or old.id, counts, old.spend)


def entry_columns(task: Task, event: Event, catalogue: Catalogue, at_ms: int) -> dict[str, Any]:
    return {
        "at_ms": at_ms,
        "run_id": task.run_id,
        "task_id": task.id,
        "attempt": task.attempt,
        "event": event_name(event),
        "data": dump_json(event_to_data(event, catalogue)),
    }
