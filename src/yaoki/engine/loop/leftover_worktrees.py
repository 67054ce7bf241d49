"""Worktrees of this clone in which nobody goes on: all they hold is kept on refs, and they go.

Left by a kill after the task was over, or by a machine that was cut off while another took over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from yaoki.core.bounded_cache import BoundedCache
from yaoki.core.model import RunId, Stage, State, Task, TaskId, TaskKind, TaskSpec, Work
from yaoki.errors import Unknown, WorkspaceError
from yaoki.ports import Store, Workspace

NAMED = re.compile(r"([a-z0-9]{8})-(\d+)")
OVER = frozenset({State.DONE, State.CANCELLED, State.REPLACED})
PAGE = 1000


class LeftoverWorktrees:
    """`host` is this machine and its clone; `end` ends what still runs of an attempt here."""

    def __init__(
        self,
        store: Store,
        workspace: Workspace,
        *,
        host: str = "",
        end_processes: Callable[[Task], None] = lambda _: None,
        on_release: Callable[[Task], None] = lambda _: None,
        is_archived: Callable[[str], object] = lambda _: False,
    ) -> None:
        """`archived` says that a run has left this very store."""
        self._store, self._workspace, self._host = store, workspace, host
        self._end, self._released, self._archived = end_processes, on_release, is_archived
        self._before: dict[str, int] = {}
        self._warned: BoundedCache[str, str] = BoundedCache()

    def sweep(self, run_id: str) -> list[str]:
        """Those of one run, at once: for the beginning of a life."""
        return self._remove([task for task in self._found() if task.run_id == run_id])

    def sweep_again(self) -> list[str]:
        """Those of any run, for quiet moments: only what was found the last time as well, because
        whoever ended a task may be about to clean up after it.
        """
        found = {task.id: task for task in self._found()}
        known, self._before = self._before, {task.id: task.epoch for task in found.values()}
        return self._remove([t for t in found.values() if known.get(t.id) == t.epoch])

    def _found(self) -> Iterator[Task]:
        for name in sorted(self._workspace.worktrees.tasks_with_worktree()):
            task = self._task(name)
            if task and (task.state in OVER or self._elsewhere(task)):
                yield task

    def _task(self, name: str) -> Task | None:
        """A run that another machine archived is over.  Of one that the store never knew nothing
        is touched: this clone may be used with another store as well.
        """
        named = NAMED.fullmatch(name)
        if named is None:
            return None
        try:
            return self._store.task(name)
        except Unknown:
            if not self._archived(named[1]):
                return None
        run_id, n = RunId(named[1]), int(named[2])
        return Task(TaskId(name), run_id, n, TaskSpec(name, ""), State.CANCELLED)

    def _elsewhere(self, task: Task) -> bool:
        """Does an agent of another machine work on it?  In any other stage this clone may be the
        one that goes on, whichever made the attempt.
        """
        at_work = task.state is State.ACTIVE and task.stage is Stage.WORK
        return at_work and self._foreign(task)

    def _foreign(self, task: Task) -> bool:
        """Does its newest attempt have its worktree in another place than here?

        The host name says nothing of it: two containers may share a clone, and a machine is
        renamed.  Without a remote all work in one clone, so a worktree found here is the task's.
        """
        here, there = _clone(self._host), _clone(task.work.host)
        return bool(here and there) and here != there

    def _remove(self, tasks: list[Task]) -> list[str]:
        swept: dict[RunId, list[str]] = {}
        for task in tasks:
            try:
                self._release(task)
            except WorkspaceError as warned:
                # Whoever ended the task may have cleaned up after it at the same time.
                if task.id in self._workspace.worktrees.tasks_with_worktree():
                    self._warn_once(task, warned.sentence)
                continue
            swept.setdefault(task.run_id, []).append(task.id)
        for run_id, ids in swept.items():
            data = {"mismatch": "orphan worktree", "tasks": ids, "repair": "kept and removed"}
            self._note(run_id, "RECONCILED", data)
        return [task_id for ids in swept.values() for task_id in ids]

    def _warn_once(self, task: Task, words: str) -> None:
        """It is tried again and again, so it is told once in a life."""
        if self._warned.get(task.id) != words:
            self._warned[task.id] = words
            self._note(task.run_id, "WARNING", {"message": words}, task.id)

    def _note(
        self, run_id: RunId, event: str, data: Mapping[str, object], task_id: str = ""
    ) -> None:
        """Of a run that was archived nothing more is told."""
        with suppress(Unknown):
            self._store.note(self._store.run(run_id).id, event, data, task_id)

    def _release(self, task: Task) -> None:
        if task.state in OVER and task.spec.kind is TaskKind.GROUP:
            self._workspace.groups.close_group_branch(self._store.run(task.run_id), task.id)
        mine = self._as_it_was_here(task) if self._foreign(task) else task
        if mine is not task:
            self._end(mine)
        if task.state in OVER:
            self._workspace.worktrees.remove_worktree(mine)
            self._released(task)
        elif self._store.task(task.id).epoch == task.epoch:
            self._workspace.worktrees.remove_worktree(mine, continued_elsewhere=True)

    def _as_it_was_here(self, task: Task) -> Task:
        """What the worktree holds is of the last attempt that began here, not of the newest."""
        attempt, after = 0, 0
        while page := self._store.journal(task_id=task.id, after=after, limit=PAGE):
            after = page[-1].seq
            began = [e for e in page if e.event == "ATTEMPT_STARTED"]
            mine = [e.attempt for e in began if _clone(e.data.get("host")) == _clone(self._host)]
            attempt = mine[-1] if mine else attempt
        return replace(task, attempt=attempt or task.attempt, work=Work())


def _clone(host: object) -> str:
    """Whose worktrees lie together; empty where there is no remote."""
    return str(host).partition(":")[2]
