"""Saved work, snapshots and task branches at the remote, so that any machine can continue a task.

A file records that a task has something to push before the work is saved, and the record goes when
the remote has it: a kill, or a remote that does not answer, delays the push and loses nothing.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import IO

from yaoki.adapters.git.ref_names import (
    REF_COMPONENT,
    SAVED_WORK,
    SNAPSHOTS,
    ref_component,
    snapshot_ref,
    task_branch_ref,
    work_ref,
)
from yaoki.adapters.git.refs import RefMove, Refs, move_or_fail
from yaoki.adapters.system.clock import SystemClock
from yaoki.adapters.workspace.remote.client import PushOutcome, RemoteClient
from yaoki.adapters.workspace.worktrees.snapshots import Snapshot
from yaoki.core.bounded_cache import BoundedCache
from yaoki.core.model import Task
from yaoki.errors import GitFailed, RemoteUnreachable, WorkspaceError

PENDING, FINISHED = b"owed", b"over"
LOCK_TRIES = 40
LOCK_PAUSE = timedelta(milliseconds=50)
PENDING_TASKS_MAX = 50
FETCH_REASON = "yaoki: from the remote"


class RemotePublisher:
    """Pushes the refs of a task, and fetches those that other machines pushed."""

    def __init__(
        self, refs: Refs, remote: RemoteClient, folder: Path, warn: Callable[[str], None]
    ) -> None:
        self._refs, self._remote, self._folder, self._warn = refs, remote, folder, warn
        self._clock, self._warned_tasks = SystemClock(), BoundedCache[str, None]()

    # -------------------------------------------------------------- push

    @contextmanager
    def push_afterwards(self, task_id: str, *, finished: bool = False) -> Iterator[None]:
        """Push the refs of the task when the block ends, or at the next `push_pending`.

        `finished`: the task's worktree is removed, and with it its branch at the remote.
        """
        with self._open_record(task_id) as record:
            _write(record, FINISHED if finished else PENDING)
            yield
            self._push_recorded(task_id, record)

    def push_pending(self) -> None:
        """Push what is recorded as pending, except tasks that another thread is pushing."""
        if not self._folder.is_dir():
            return
        files = [file for file in self._folder.iterdir() if REF_COMPONENT.fullmatch(file.name)]
        for file in [file for file in files if _size(file)][:PENDING_TASKS_MAX]:
            with suppress(FileNotFoundError), file.open("r+b") as record:
                if _try_lock(record) and not self._push_recorded(file.name, record):
                    return

    def _push_recorded(self, task_id: str, record: IO[bytes]) -> bool:
        record.seek(0)
        state = record.read()
        if not state:
            return True
        try:
            self._push(task_id, finished=state == FINISHED)
        except WorkspaceError as error:
            self._warn_once(task_id, error)
            return False
        self._warned_tasks.pop(task_id, None)
        _write(record, b"")
        if state == FINISHED:
            Path(record.name).unlink(missing_ok=True)
        return True

    def _warn_once(self, task_id: str, error: WorkspaceError) -> None:
        if task_id not in self._warned_tasks:
            self._warned_tasks[task_id] = None
            self._warn(f"the work of {task_id} is saved here but not pushed yet: {error.sentence}")

    @contextmanager
    def _open_record(self, task_id: str) -> Iterator[IO[bytes]]:
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / ref_component(task_id)).open("a+b") as record:
            for _ in range(LOCK_TRIES):
                if _try_lock(record):
                    break
                self._clock.sleep(LOCK_PAUSE)
            yield record

    def _push(self, task_id: str, *, finished: bool) -> None:
        """Push all refs of the task; refs that the remote has already cost nothing.

        The task branch is for people to read, so it is forced.  Saved work is never overwritten: a
        ref that has another commit at the remote is pushed under a new name.
        """
        names = (f"{SAVED_WORK}/{task_id}", f"{SNAPSHOTS}/{task_id}-*")
        saved = [RefMove(ref.name, ref.commit) for ref in self._refs.list_refs(*names)]
        head = self._refs.read_commits(task_branch_ref(task_id))[0]
        branch = [RefMove(task_branch_ref(task_id), head.sha)] if head else []
        deletion = [RefMove(task_branch_ref(task_id), "")] if finished and not head else []
        moves = (*saved, *branch, *deletion)
        if not moves:
            return
        first = self._remote.push(*moves, atomic=False, force=[move.ref for move in branch])
        renamed = [_rename(task_id, move) for move in saved if move.ref in first.refused]
        second = self._remote.push(*renamed, atomic=False) if renamed else PushOutcome({})
        reasons = {ref: second.reason_for(ref) for ref in second.refused}
        reasons |= {m.ref: first.reason_for(m.ref) for m in branch if m.ref in first.refused}
        for ref, reason in reasons.items():
            raise GitFailed(f"the remote rejects {ref}: {reason}", transient=True)

    # -------------------------------------------------------------- fetch

    def fetch_work(self, task: Task) -> bool:
        """Fetch the task's work that another machine saved; false when it is not pushed yet."""
        if not task.work.head or self._refs.read_commits(task.work.head)[0]:
            return True
        # The work of a racing task was saved by the candidate that made it.
        self.fetch_matching(f"{SAVED_WORK}/{ref_component(task.work.candidate or task.id)}/*")
        return self._refs.read_commits(task.work.head)[0] is not None

    def require_work(self, task: Task) -> None:
        """The other machine pushes its work as soon as it reaches the remote."""
        if not self.fetch_work(task):
            raise RemoteUnreachable(
                f"the work of {task.id} was saved on another machine and is not at the remote yet",
                hint=f"let a worker of that machine reach the remote: yaoki why {task.id}",
            )

    def fetch_commits(self, *commits: str) -> None:
        present = self._refs.read_commits(*commits)
        missing = [c for c, here in zip(commits, present, strict=True) if not here]
        if missing:
            self._remote.fetch_commits(missing)

    def fetch_snapshot(self, snapshot_id: str) -> None:
        ref = snapshot_ref(snapshot_id)
        if self._refs.read_commits(ref)[0] is None and (heads := self._remote.fetch_refs([ref])):
            move_or_fail(self._refs, RefMove(ref, heads[ref]), reason=FETCH_REASON)

    def fetch_all_below(self, *prefixes: str) -> None:
        """Fetch what any machine saved; an unreachable remote is a warning."""
        try:
            self.fetch_matching(*(f"{prefix}/*" for prefix in prefixes))
        except WorkspaceError as error:
            self._warn(f"only the saved work of this machine is shown: {error.sentence}")

    def fetch_matching(self, *patterns: str) -> None:
        """Fetch into refs of the same names; a local ref with another commit is not lost."""
        remote = self._remote.fetch_matching(*patterns)
        local = {ref.name: ref.commit for ref in self._refs.list_refs(SAVED_WORK, SNAPSHOTS)}
        new = [RefMove(name, commit, "") for name, commit in remote.items() if name not in local]
        different = [RefMove(n, c) for n, c in remote.items() if local.get(n, c) != c]
        moves = [*new, *(m for each in different for m in self._merge(each, local[each.ref]))]
        if moves:
            move_or_fail(self._refs, *moves, reason=FETCH_REASON)

    def fetch_missing_refs(self, *patterns: str) -> None:
        """Create refs that only the remote has; local refs stay as they are."""
        remote = self._remote.fetch_matching(*patterns)
        folders = [pattern.rpartition("/")[0] for pattern in patterns]
        local = {ref.name for ref in self._refs.list_refs(*folders)}
        moves = [RefMove(name, commit, "") for name, commit in remote.items() if name not in local]
        if moves:
            move_or_fail(self._refs, *moves, reason=FETCH_REASON)

    def _merge(self, remote: RefMove, local: str) -> Iterator[RefMove]:
        """The descendant keeps the name; of diverged commits the remote's gets a new name."""
        if self._refs.is_ancestor(local, remote.new):
            yield RefMove(remote.ref, remote.new, local)
        elif not self._refs.is_ancestor(remote.new, local):
            yield _rename(_task_of(remote.ref), remote)

    def delete_snapshots(self, snapshots: Collection[Snapshot]) -> None:
        """Delete expired snapshots at the remote; a failure does no harm."""
        moves = [RefMove(snapshot_ref(each.id), "", each.commit) for each in snapshots]
        try:
            self._remote.push(*moves, atomic=False)
        except WorkspaceError as error:
            self._warn(f"old snapshots stay at the remote: {error.sentence}")


def _rename(task_id: str, move: RefMove) -> RefMove:
    """Another ref name for the commit, always the same one for the same commit."""
    label = move.ref.rpartition("/")[2]
    if move.ref.startswith(f"{SNAPSHOTS}/"):
        label = f"{label.removeprefix(f'{task_id}-')}-snapshot"
    return RefMove(work_ref(task_id, f"{label}-{move.new[:8]}"), move.new)


def _task_of(ref: str) -> str:
    if ref.startswith(f"{SNAPSHOTS}/"):
        return ref.rpartition("/")[2].rpartition("-")[0]
    return ref.split("/")[3]


def _write(record: IO[bytes], state: bytes) -> None:
    record.seek(0)
    record.truncate(0)
    record.write(state)
    record.flush()


def _size(record: Path) -> int:
    """Zero when another thread has pushed the work and removed the record since it was listed."""
    try:
        return record.stat().st_size
    except FileNotFoundError:
        return 0


def _try_lock(record: IO[bytes]) -> bool:
    try:
        fcntl.flock(record, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
