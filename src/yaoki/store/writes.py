"""The one way a task changes: evolve, keep the row, keep the journal, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from yaoki.core.events import Event, name_of
from yaoki.core.machine import evolve
from yaoki.core.model import Catalogue, Reason, State, Task
from yaoki.core.schedule import AGEING, rank
from yaoki.core.wire import event_to_data
from yaoki.ports import Clock
from yaoki.store import statements as sql
from yaoki.store.accounts import learn
from yaoki.store.reads import Reads
from yaoki.store.rows import dumps, ms, task_params
from yaoki.store.sqlite import Link, SqliteDatabase

TOLD_MAX = 100


class Writes(Reads):
    """What every writer shares."""

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
            entries.append(entry_params(after, event, catalogue, ms(now)))
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
        learn(link, before, events, now)
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


def entry_params(task: Task, event: Event, catalogue: Catalogue, at_ms: int) -> dict[str, Any]:
    return {
        "at_ms": at_ms,
        "run_id": task.run_id,
        "task_id": task.id,
        "attempt": task.attempt,
        "event": name_of(event),
        "data": dumps(event_to_data(event, catalogue)),
    }
