"""A person's wish to take landed work back: refused, or durable before the branch moves.

Whoever finds everything at rest acts on it: `undoing`.
"""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.core.graph import downstream
from yaoki.core.machine.events import Event, RecallRequested, UndoRequested
from yaoki.core.model import Run, State, Task, TaskId, TaskKind
from yaoki.core.text import format_count
from yaoki.engine.branch_guard import BranchGuard
from yaoki.errors import NotNow
from yaoki.ports import Store, TaskRow


class UndoCommand:
    """Asked by `Control`."""

    def __init__(self, store: Store, guard: BranchGuard) -> None:
        self._store, self._guard = store, guard

    def request(self, task_id: TaskId, *, cascade: bool = False, how: str = "") -> Run:
        """Record the wish, or refuse it; returns the run of which something is to be taken back."""
        task = self._store.task(task_id)
        if task.state is not State.DONE:
            raise NotNow(f"{task.id} has not landed", hint=f"yaoki why {task.id}")
        if task.spec.kind in {TaskKind.PLAN, TaskKind.CHECK}:
            raise NotNow(f"{task.id} changes no files: nothing to undo", hint="yaoki status")
        self._refuse_whole(task)
        run = self._store.run(task.run_id)
        if run.cancel_requested:
            raise NotNow(f"run {run.id} was cancelled; it goes on no more", hint="yaoki status")
        standing = self._standing(task)
        if standing and not cascade:
            names = ", ".join(row.name for row in standing[:5])
            tasks = format_count(len(standing), "task stands", "tasks stand")
            raise NotNow(
                f"{tasks} on {task.spec.name}: {names}",
                hint=f"take them back as well: yaoki undo {task.id} --cascade",
            )
        if not task.undo_requested:
            self._guard.refuse_drift(run)
        self._record(task, standing, how)
        return run

    def _refuse_whole(self, task: Task) -> None:
        """A group lands as a whole: what it merged cannot be made anew from the same commits."""
        group = self._store.task(task.parent) if task.parent else task
        if group.spec.kind is TaskKind.GROUP and group.state is State.DONE:
            raise NotNow(
                f"{task.id} landed with its group {group.spec.name}, which is not taken back",
                hint=f"revert it by hand after the merge: git revert -m1 "
                f"{group.landed_commit[:12]}",
            )

    def _record(self, task: Task, standing: Sequence[TaskRow], how: str) -> None:
        """Those at work are interrupted, their work is kept."""
        busy = [row.id for row in standing if row.state is State.ACTIVE]
        why = f"{task.id}, on which it stands, is taken back"

        def recall(now: Task) -> Sequence[Event]:
            return (RecallRequested(why),) if now.state is State.ACTIVE else ()

        def wish(now: Task) -> Sequence[Event]:
            return () if now.undo_requested else (UndoRequested(now.landed_commit, how=how),)

        self._store.amend_all([(task.id, wish), *((one, recall) for one in busy)])

    def _standing(self, task: Task) -> list[TaskRow]:
        needs = self._store.needs(task.run_id)
        below = set(downstream(task.id, needs))
        busy = {State.DONE, State.ACTIVE}
        return [r for r in self._store.rows(task.run_id) if r.id in below and r.state in busy]
