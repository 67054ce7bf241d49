"""The only way a task changes: evolve it, update the rows and append to the journal, in one
transaction.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.rows import dump_json, to_ms
from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.tables.accounts import open_judge_agents
from yaoki.adapters.store.tables.apply_events import EventApplier, update_run_columns
from yaoki.adapters.store.tables.outbox import NOTICE_KINDS, NoticeSelection, enqueue_notices
from yaoki.adapters.store.tables.task_loader import TaskLoader, load_run
from yaoki.core.lazy_dataclass import replace
from yaoki.core.machine.codec import event_to_data
from yaoki.core.machine.events import (
    AttemptStarted,
    CulpritFound,
    Event,
    Planned,
    Replaced,
    Submitted,
    event_name,
)
from yaoki.core.machine.evolution import fold_events
from yaoki.core.machine.race_events import JudgeCalled, RaceStarted
from yaoki.core.machine.request_events import Answered, CancelRequested, UndoRequested
from yaoki.core.model import Catalogue, Reason, Run, State, Task, TaskId, TaskKind, TaskSpec

if TYPE_CHECKING:
    from yaoki.adapters.store.clock import StoreClock
    from yaoki.adapters.store.database import Transaction

LISTED_DEPENDENTS_MAX = 100
RACE_IS_CANCELLED = "its race was cancelled"
BLOCKING_STATES = frozenset({State.ESCALATED, State.CANCELLED})


class EventWriter:
    """Writes events of tasks and runs: rows, journal, notices, and what follows from them."""

    def __init__(
        self,
        loader: TaskLoader,
        applier: EventApplier,
        clock: StoreClock,
        notices: NoticeSelection,
    ) -> None:
        self._loader, self._applier = loader, applier
        self._clock, self._notices = clock, notices

    # -------------------------------------------------------------- tasks

    def write(
        self,
        tx: Transaction,
        before: Task,
        events: Sequence[Event],
        *,
        journal_dependents: bool = True,
    ) -> Task:
        """Apply and journal the events of one task, and all that follows from them."""
        now = self._clock.row_time()
        for event in events:
            if isinstance(event, Planned) and event.specs:
                run = load_run(tx, before.run_id, lock=True)
                self.add_tasks(tx, run, event.specs, event.replaces, by_planner=True)
        if any(isinstance(event, RaceStarted | JudgeCalled) for event in events):
            events = self._add_race_tasks(tx, before, events)
        after = self._applier.apply(tx, before, events, now)
        self._append_entries(tx, self._entries(tx, before, events, to_ms(now)))
        if journal_dependents:
            self._journal_blocked_dependents(tx, before, after)
        self._apply_consequences(tx, after, events)
        return after

    def _apply_consequences(self, tx: Transaction, task: Task, events: Sequence[Event]) -> None:
        """Apply the consequences of a task's events to the run and to other tasks."""
        for event in events:
            match event:
                case Answered() | UndoRequested():
                    self.reopen_run(tx, task.run_id)
                case RaceStarted(candidates=candidates):
                    self._release_candidates(tx, task, candidates)
                case CancelRequested():
                    self._end_candidates(tx, task)
                case CulpritFound(culprit=culprit, failure=failure):
                    guilty = self._loader.task(tx, culprit)
                    if guilty.state is State.DONE:
                        self.write(tx, guilty, (UndoRequested(guilty.landed_commit, failure),))
                case Planned(names=names, pause=pause):
                    brief = task.spec.planning_brief
                    if brief is not None and brief.phase:
                        data = {"phase": brief.phase, "tasks": list(names)}
                        self.append_event(tx, task.run_id, "PHASE_FILLED", data, task.id)
                    if pause:
                        self.pause_run(tx, task.run_id, pause)
                case Replaced(by=by) if task.spec.phase:
                    data = {"phase": task.spec.phase, "replaced": task.id, "by": by}
                    self.append_event(tx, task.run_id, "PHASE_REOPENED", data, task.id)
                case _:
                    pass

    def _journal_blocked_dependents(self, tx: Transaction, before: Task, after: Task) -> None:
        """Write a single entry for all levels of dependents that this task blocks, or no longer
        blocks.
        """
        blocks = after.state in BLOCKING_STATES
        if blocks == (before.state in BLOCKING_STATES):
            return
        # The dependents of a replaced task depend on its replacement by now.
        root = _replacement_of(tx, after) if after.state is State.REPLACED else after.id
        dependents = [row["id"] for row in tx.rows(sql.DOWNSTREAM, {"id": root})]
        data: dict[str, Any] = {
            "dependents": len(dependents),
            "tasks": dependents[:LISTED_DEPENDENTS_MAX],
            "cause": after.id,
        }
        if blocks:
            data["reason"] = after.reason.value if after.reason else after.state.value
            data["dependents_reason"] = Reason.DEPENDENCY_FAILED.value
        self.append_event(
            tx,
            after.run_id,
            "TASK_BLOCKED" if blocks else "TASK_REVIVED",
            data,
            after.id,
            after.attempt,
        )

    # -------------------------------------------------------------- runs

    def update_run(
        self,
        tx: Transaction,
        run_id: str,
        event: str,
        data: Mapping[str, Any],
        fields: Mapping[str, Any],
    ) -> None:
        """Change columns of a run and journal the change."""
        update_run_columns(tx, run_id, fields)
        self.append_event(tx, run_id, event, {**data, "set": fields} if fields else data)

    def pause_run(self, tx: Transaction, run_id: str, reason: str) -> None:
        """Start nothing new; active tasks continue to their end."""
        if not load_run(tx, run_id, lock=True).pause_reason:
            self.update_run(tx, run_id, "RUN_PAUSED", {"why": reason}, {"paused": reason})

    def reopen_run(self, tx: Transaction, run_id: str) -> None:
        """A finished run continues; it gets another summary when it ends again."""
        if load_run(tx, run_id, lock=True).finished_at is not None:
            self.update_run(tx, run_id, "RUN_REOPENED", {}, {"summed_ms": None})

    # -------------------------------------------------------------- new tasks

    def add_tasks(
        self,
        tx: Transaction,
        run: Run,
        specs: Sequence[TaskSpec],
        replaces: Mapping[str, str],
        *,
        by_planner: bool,
    ) -> list[TaskId]:
        """Add tasks; a replacement inherits the lineage and the counts of the task it replaces."""
        old = {name: self._loader.task(tx, task_id) for name, task_id in replaces.items()}
        first = task_count(tx, run.id) + 1
        new_ids = self.submit_tasks(tx, run, specs, first, old, by_planner=by_planner)
        by_name = dict(zip((spec.name for spec in specs), new_ids, strict=True))
        reason = "replaced by the planner" if by_planner else "replaced"
        for name, task in old.items():
            self.write(tx, task, (Replaced(by_name[name], reason),))
        return new_ids

    def submit_tasks(
        self,
        tx: Transaction,
        run: Run,
        specs: Sequence[TaskSpec],
        first: int,
        old: Mapping[str, Task] | None = None,
        *,
        by_planner: bool = False,
    ) -> list[TaskId]:
        """Insert and journal tasks numbered from `first`; `old` are the replaced ones by name."""
        numbered = list(enumerate(specs, start=first))
        groups = {s.name: f"{run.id}-{n}" for n, s in numbered if s.kind is TaskKind.GROUP}
        submitted = [
            _submitted(n, spec, groups.get(spec.group, ""), (old or {}).get(spec.name), by_planner)
            for n, spec in numbered
        ]
        return self._insert(tx, run, submitted)

    def _insert(self, tx: Transaction, run: Run, submitted: Sequence[Submitted]) -> list[TaskId]:
        now = self._clock.row_time()
        tasks = self._applier.insert_tasks(tx, run.id, submitted, now) if submitted else []
        for task, event in zip(tasks, submitted, strict=True):
            tx.enqueue(sql.INSERT_ENTRY, _entry(task, event, run.catalogue, to_ms(now)))
        return [task.id for task in tasks]

    # -------------------------------------------------------------- candidates of a race

    def _add_race_tasks(
        self, tx: Transaction, before: Task, events: Sequence[Event]
    ) -> tuple[Event, ...]:
        """The events, with the ids of the candidates or of the judge that they add."""
        named: list[Event] = []
        for event in events:
            match event:
                case RaceStarted():
                    named.append(self._add_candidates(tx, before))
                case JudgeCalled():
                    named.append(self._add_judge(tx, fold_events(before, named), event))
                case _:
                    named.append(event)
        return tuple(named)

    def _add_judge(self, tx: Transaction, task: Task, called: JudgeCalled) -> JudgeCalled:
        from yaoki.core.decide.race_judge import judge_spec

        run = load_run(tx, task.run_id, lock=True)
        agents = open_judge_agents(tx, run.catalogue, called.agent, self._clock.row_time())
        spec = judge_spec(task, called, agents)
        submitted = Submitted(task_count(tx, run.id) + 1, spec, task.parent, race_task=task.id)
        (judge,) = self._insert(tx, run, [submitted])
        return replace(called, judge=judge)

    def _add_candidates(self, tx: Transaction, task: Task) -> RaceStarted:
        """Add the candidates of the attempt that starts with the same events."""
        from yaoki.core.decide.candidate import candidate_specs

        run = load_run(tx, task.run_id, lock=True)
        specs = candidate_specs(replace(task, attempt=task.attempt + 1))
        submitted = [
            Submitted(n, spec, task.parent, race_task=task.id)
            for n, spec in enumerate(specs, start=task_count(tx, run.id) + 1)
        ]
        return RaceStarted(tuple(self._insert(tx, run, submitted)))

    def _release_candidates(
        self, tx: Transaction, task: Task, candidates: Sequence[TaskId]
    ) -> None:
        from yaoki.core.decide.race import first_releases

        for task_id, events in first_releases(task, candidates):
            self.write(tx, self._loader.task(tx, task_id), events)

    def _end_candidates(self, tx: Transaction, task: Task) -> None:
        """The candidates of a racing task that a person cancelled end as well."""
        from yaoki.core.decide.candidate import end_candidate
        from yaoki.core.decide.race_judge import end_judge

        if not task.awaiting_race:
            return
        for task_id in task.candidates:
            candidate = self._loader.task(tx, task_id)
            if events := end_candidate(candidate, RACE_IS_CANCELLED):
                self.write(tx, candidate, events)
        if task.judge:
            judge = self._loader.task(tx, task.judge)
            if events := end_judge(judge, RACE_IS_CANCELLED):
                self.write(tx, judge, events)

    # -------------------------------------------------------------- journal

    def append_event(
        self,
        tx: Transaction,
        run_id: str,
        name: str,
        data: Mapping[str, Any],
        task_id: str = "",
        attempt: int = 0,
    ) -> None:
        entry = {
            "run_id": run_id,
            "task_id": task_id,
            "attempt": attempt,
            "event": name,
            "at_ms": to_ms(self._clock.row_time()),
            "data": dump_json(dict(data)),
        }
        self._append_entries(tx, [entry])

    def _append_entries(self, tx: Transaction, entries: Sequence[Mapping[str, Any]]) -> None:
        for entry in entries:
            tx.enqueue(sql.INSERT_ENTRY, entry)
        if self._notices.channels and any(e["event"] in NOTICE_KINDS for e in entries):
            enqueue_notices(tx, entries, self._notices)

    def _entries(
        self, tx: Transaction, task: Task, events: Sequence[Event], at_ms: int
    ) -> list[dict[str, Any]]:
        """Each entry has the attempt it belongs to, which an event may start."""
        catalogue, attempt = self._loader.catalogue(tx, task.run_id), task.attempt
        entries = []
        for event in events:
            attempt = event.attempt if isinstance(event, AttemptStarted) else attempt
            entries.append({**_entry(task, event, catalogue, at_ms), "attempt": attempt})
        return entries


def task_count(tx: Transaction, run_id: str) -> int:
    row = tx.row("SELECT tasks_made FROM runs WHERE id = :id", {"id": run_id})
    return int(row["tasks_made"]) if row else 0


def _replacement_of(tx: Transaction, task: Task) -> str:
    row = tx.row(sql.REPLACED_BY, {"id": task.id})
    return str(json.loads(row["data"]).get("by", "")) if row else task.id


def _submitted(
    n: int, spec: TaskSpec, parent: str, old: Task | None, by_planner: bool
) -> Submitted:
    """A replacement continues the lineage of the task it replaces."""
    if old is None or spec.kind in {TaskKind.PLAN, TaskKind.CHECK}:
        return Submitted(n, spec, parent)
    counts = replace(old.counts, replans=old.counts.replans + by_planner)
    return Submitted(n, spec, parent or old.parent, old.lineage or old.id, counts, old.spend)


def _entry(task: Task, event: Event, catalogue: Catalogue, at_ms: int) -> dict[str, Any]:
    return {
        "at_ms": at_ms,
        "run_id": task.run_id,
        "task_id": task.id,
        "attempt": task.attempt,
        "event": event_name(event),
        "data": dump_json(event_to_data(event, catalogue)),
    }
