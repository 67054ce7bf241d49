"""Removes worktrees of this clone that no worker uses, after saving their work on refs.

They are left by a kill after the task was finished, or by a machine that lost its claim to another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from yaoki.core.bounded_cache import BoundedCache
from yaoki.core.graph import root_causes
from yaoki.core.lazy_dataclass import replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import (
    RunId,
    Stage,
    State,
    StoreMismatch,
    Task,
    TaskId,
    TaskKind,
    TaskSpec,
    Work,
)
from yaoki.errors import Unknown, WorkspaceError
from yaoki.ports import JournalReads, Workspace

TASK_ID = lazy_compile(r"([a-z0-9]{8})-(\d+)")
FINISHED = frozenset({State.DONE, State.CANCELLED, State.REPLACED})
PAGE = 1000


class LeftoverWorktrees:
    """`host` names this machine and its clone; `is_archived` says that a run left this store."""

    def __init__(
        self,
        store: JournalReads,
        workspace: Workspace,
        *,
        host: str,
        end_processes: Callable[[Task], None],
        on_release: Callable[[Task], None],
        is_archived: Callable[[str], object],
    ) -> None:
        self._store, self._workspace, self._host = store, workspace, host
        self._end_processes, self._on_release = end_processes, on_release
        self._is_archived = is_archived
        self._seen_before: dict[str, int] = {}
        self._warned: BoundedCache[str, str] = BoundedCache()

    def sweep(self, run_id: str) -> list[str]:
        """Remove those of one run at once: for the start of a worker.

        The worktrees of its blocked tasks are saved and stay: a replacement may free the tasks.
        """
        self.save_blocked(run_id)
        return self._remove([task for task in self._unused() if task.run_id == run_id])

    def save_blocked(self, run_id: str) -> None:
        """Save the worktrees of waiting tasks whose need was given up: a person may have worked
        there, and no verification follows that would save it.
        """
        names = self._workspace.worktrees.tasks_with_worktree()
        if not any(name.startswith(f"{run_id}-") for name in names):
            return
        for task_id in sorted(self._blocked_tasks(RunId(run_id)).intersection(names)):
            task = self._store.task(task_id)
            try:
                self._workspace.worktrees.save_worktree(task)
            except WorkspaceError as failed:
                self._warn_once(task, failed.sentence)

    def _blocked_tasks(self, run_id: RunId) -> frozenset[TaskId]:
        rows = self._store.rows(run_id)
        given_up = [row.id for row in rows if row.state is State.CANCELLED]
        if not given_up:
            return frozenset()
        waiting = {row.id for row in rows if row.state is State.WAITING}
        return frozenset(root_causes(self._store.needs(run_id), given_up, waiting.__contains__))

    def sweep_again(self) -> list[str]:
        """Remove those of any run that the last sweep saw as well, when a worker is idle.

        A worktree seen for the first time is left: the worker that finished its task may be about
        to remove it.
        """
        unused = {task.id: task for task in self._unused()}
        last = self._seen_before
        self._seen_before = {task.id: task.epoch for task in unused.values()}
        return self._remove([t for t in unused.values() if last.get(t.id) == t.epoch])

    def _unused(self) -> Iterator[Task]:
        for name in sorted(self._workspace.worktrees.tasks_with_worktree()):
            task = self._find_task(name)
            if task and (task.state in FINISHED or self._works_elsewhere(task)):
                yield task

    def _find_task(self, name: str) -> Task | None:
        """The task of a worktree; a task of an archived run counts as finished.

        None for a run that the store never knew: this clone may serve another store as well.
        """
        match = TASK_ID.fullmatch(name)
        if match is None:
            return None
        try:
            return self._store.task(name)
        except Unknown:
            if not self._is_archived(match[1]):
                return None
        run_id, n = RunId(match[1]), int(match[2])
        return Task(TaskId(name), run_id, n, TaskSpec(name, ""), State.CANCELLED)

    def _works_elsewhere(self, task: Task) -> bool:
        """Does an agent of another machine work on the task?

        In any other stage this clone may continue the task, whichever machine made the attempt.
        """
        has_agent = task.state is State.ACTIVE and task.stage is Stage.WORK
        return has_agent and self._is_foreign(task)

    def _is_foreign(self, task: Task) -> bool:
        """Is the worktree of the newest attempt in another clone?

        Host names do not decide that: two containers may share a clone, and a machine may be
        renamed.  Without a remote there is only one clone, so a worktree here is the task's.
        """
        here, there = _clone(self._host), _clone(task.work.host)
        return bool(here and there) and here != there

    def _remove(self, tasks: list[Task]) -> list[str]:
        swept: dict[RunId, list[str]] = {}
        for task in tasks:
            try:
                self._release(task)
            except WorkspaceError as failed:
                # The worker that finished the task may have removed it at the same time.
                if task.id in self._workspace.worktrees.tasks_with_worktree():
                    self._warn_once(task, failed.sentence)
                continue
            swept.setdefault(task.run_id, []).append(task.id)
        for run_id, ids in swept.items():
            data = {
                "mismatch": StoreMismatch.ORPHAN_WORKTREE,
                "tasks": ids,
                "repair": "saved and removed",
            }
            self._note(run_id, "RECONCILED", data)
        return [task_id for ids in swept.values() for task_id in ids]

    def _warn_once(self, task: Task, message: str) -> None:
        """Each sweep tries again, so a process reports the same failure only once."""
        if self._warned.get(task.id) != message:
            self._warned[task.id] = message
            self._note(task.run_id, "WARNING", {"message": message}, task.id)

    def _note(
        self, run_id: RunId, event: str, data: Mapping[str, object], task_id: str = ""
    ) -> None:
        """An archived run gets no more notes."""
        with suppress(Unknown):
            self._store.note(self._store.run(run_id).id, event, data, task_id)

    def _release(self, task: Task) -> None:
        if task.state in FINISHED and task.spec.kind is TaskKind.GROUP:
            self._workspace.groups.close_group_branch(self._store.run(task.run_id), task.id)
        local = self._at_local_attempt(task) if self._is_foreign(task) else task
        if local is not task:
            self._end_processes(local)
        if task.state in FINISHED:
            self._workspace.worktrees.remove_worktree(local)
            self._on_release(task)
        elif self._store.task(task.id).epoch == task.epoch:
            self._workspace.worktrees.remove_worktree(local, continued_elsewhere=True)

    def _at_local_attempt(self, task: Task) -> Task:
        """The task as of the last attempt started here: its worktree belongs to that attempt."""
        attempt, after = 0, 0
        while page := self._store.journal(task_id=task.id, after=after, limit=PAGE):
            after = page[-1].seq
            starts = [e for e in page if e.event == "ATTEMPT_STARTED"]
            local = [e.attempt for e in starts if _clone(e.data.get("host")) == _clone(self._host)]
            attempt = local[-1] if local else attempt
        return replace(task, attempt=attempt or task.attempt, work=Work())


def _clone(host: object) -> str:
    """The part of a host name that names the clone; empty without a remote."""
    return str(host).partition(":")[2]
