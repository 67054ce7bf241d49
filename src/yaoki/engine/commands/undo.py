"""Undo: refuses the request, or stores it before the branch moves.

`engine.completion.revert` carries it out once no task of the run can be claimed.
"""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.core.graph import downstream
from yaoki.core.machine.events import Event
from yaoki.core.machine.request_events import RecallRequested, UndoRequested
from yaoki.core.model import Run, State, Task, TaskId, TaskKind
from yaoki.core.text import format_count
from yaoki.engine.branch_guard import BranchGuard
from yaoki.errors import NotNow
from yaoki.ports import Landings, TaskRow, TaskStore


class UndoCommand:
    """Used by `Control`."""

    def __init__(self, store: TaskStore, guard: BranchGuard, landings: Landings) -> None:
        self._store, self._guard, self._landings = store, guard, landings

    def request(
        self, task_id: TaskId, *, cascade: bool = False, how: str = "", to_retry: bool = False
    ) -> Run:
        """Store the request, or refuse it; returns the run of the task.

        `to_retry`: the task is to be done again, which is possible also if it landed nothing.
        """
        task = self._store.task(task_id)
        if task.state is not State.DONE:
            raise NotNow(f"{task.id} has not landed", hint=f"yaoki why {task.id}")
        if task.spec.kind in {TaskKind.PLAN, TaskKind.CHECK}:
            raise NotNow(
                f"{task.id} changes no files, so there is nothing to undo", hint="yaoki status"
            )
        self._refuse_landed_group(task)
        run = self._store.run(task.run_id)
        if run.cancel_requested:
            raise NotNow(
                f"run {run.id} was cancelled and cannot continue",
                hint=f"merge what landed: yaoki merge {run.id} --partial; "
                f"then revert it there: git revert -m1 {task.landed_commit[:12]}",
            )
        dependents = self._dependents(task)
        if dependents and not cascade:
            names = ", ".join(row.name for row in dependents[:5])
            tasks = format_count(len(dependents), "task depends", "tasks depend")
            raise NotNow(
                f"{tasks} on {task.spec.name}: {names}",
                hint=f"undo them as well: yaoki undo {task.id} --cascade",
            )
        landed = [self._store.task(row.id) for row in dependents if row.state is State.DONE]
        if not to_retry and not any(map(has_own_commit, (task, *landed))):
            raise NotNow(
                f"{task.spec.name} landed no commit of its own, so there is nothing to revert",
                hint=f"to have it done again: yaoki retry {task.id}",
            )
        if not task.undo_requested:
            self._guard.refuse_drift(run)
            self._refuse_built_upon(run, task)
        self._record(task, dependents, how)
        return run

    def _refuse_built_upon(self, run: Run, task: Task) -> None:
        """Refuse at once what could only be refused later: while a task runs, undos wait.

        A subtask landed on the branch of its group, so it is checked when its undo is carried out.
        """
        if task.parent:
            return
        below = downstream(task.id, self._store.needs(task.run_id))
        reverted = [*(self._store.task(one) for one in reversed(below)), task]
        landings = {
            one.id: one.landed_commit
            for one in reverted
            if one.state is State.DONE and not one.parent and has_own_commit(one)
        }
        if landings:
            self._landings.refuse_undo(run, landings)

    def _refuse_landed_group(self, task: Task) -> None:
        """A group lands as one merge, which cannot be rebuilt from the same commits."""
        group = self._store.task(task.parent) if task.parent else task
        if group.spec.kind is TaskKind.GROUP and group.state is State.DONE:
            raise NotNow(
                f"{task.id} landed with its group {group.spec.name}, which cannot be undone",
                hint=f"revert it by hand after the merge: git revert -m1 "
                f"{group.landed_commit[:12]}",
            )

    def _record(self, task: Task, dependents: Sequence[TaskRow], how: str) -> None:
        """Active dependents are interrupted, and their work is saved."""
        active = [row.id for row in dependents if row.state is State.ACTIVE]
        reason = f"{task.id}, on which it depends, is undone"

        def recall(now: Task) -> Sequence[Event]:
            return (RecallRequested(reason),) if now.state is State.ACTIVE else ()

        def request(now: Task) -> Sequence[Event]:
            return () if now.undo_requested else (UndoRequested(now.landed_commit, how=how),)

        self._store.amend_all([(task.id, request), *((one, recall) for one in active)])

    def _dependents(self, task: Task) -> list[TaskRow]:
        below = set(downstream(task.id, self._store.needs(task.run_id)))
        states = {State.DONE, State.ACTIVE}
        return [r for r in self._store.rows(task.run_id) if r.id in below and r.state in states]


def has_own_commit(task: Task) -> bool:
    """A task without changes counts as landed at the commit it was verified on."""
    return task.landed_commit != task.work.onto
