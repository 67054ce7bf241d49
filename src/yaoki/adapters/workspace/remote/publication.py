"""Kept work, snapshots and task branches at the remote, so that any machine can go on with a task.

What is owed to the remote is noted in a file before the work is kept, and the note goes when the
remote has it: a kill, or a remote that does not answer, delays it and loses nothing.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import IO

from yaoki.adapters.git.refs import (
    REF_COMPONENT,
    SAVED_WORK,
    SNAPSHOTS,
    RefMove,
    Refs,
    ref_component,
    snapshot_ref,
    task_branch_ref,
    work_ref,
)
from yaoki.adapters.system.clock import SystemClock
from yaoki.adapters.workspace.remote.client import PushOutcome, RemoteClient
from yaoki.adapters.workspace.worktrees.snapshots import Snapshot
from yaoki.core.bounded_cache import BoundedCache
from yaoki.core.model import Task
from yaoki.errors import GitFailed, RemoteUnreachable, WorkspaceError

OWED, OVER = b"owed", b"over"
LOCK_TRIES = 40
LOCK_PAUSE = timedelta(milliseconds=50)
CAUGHT_UP_MAX = 50


class RemotePublisher:
    """Pushes what a task left, and brings what it left on other machines."""

    def __init__(
        self, refs: Refs, remote: RemoteClient, folder: Path, warn: Callable[[str], None]
    ) -> None:
        self.remote = remote
        self._refs, self._folder, self._warn = refs, folder, warn
        self._clock, self._told = SystemClock(), BoundedCache[str, None]()

    # -------------------------------------------------------------- from here to the remote

    @contextmanager
    def push_afterwards(self, task_id: str, *, finished: bool = False) -> Iterator[None]:
        """Whatever happens inside is pushed afterwards: now, or at the next touch.

        `over`: the task's worktree goes, and with it its branch at the remote.
        """
        with self._note(task_id) as note:
            _write(note, OVER if finished else OWED)
            yield
            self._settle(task_id, note)

    def push_pending(self) -> None:
        """Push what is still owed, unless somebody is at it."""
        if not self._folder.is_dir():
            return
        owed = [file for file in self._folder.iterdir() if REF_COMPONENT.fullmatch(file.name)]
        for file in [file for file in owed if _size(file)][:CAUGHT_UP_MAX]:
            with suppress(FileNotFoundError), file.open("r+b") as note:
                if _locked(note) and not self._settle(file.name, note):
                    return

    def _settle(self, task_id: str, note: IO[bytes]) -> bool:
        note.seek(0)
        said = note.read()
        if not said:
            return True
        try:
            self._push(task_id, over=said == OVER)
        except WorkspaceError as failed:
            self._tell_once(task_id, failed)
            return False
        self._told.pop(task_id, None)
        _write(note, b"")
        if said == OVER:
            Path(note.name).unlink(missing_ok=True)
        return True

    def _tell_once(self, task_id: str, failed: WorkspaceError) -> None:
        if task_id not in self._told:
            self._told[task_id] = None
            self._warn(f"the work of {task_id} is kept here and not pushed yet: {failed.sentence}")

    @contextmanager
    def _note(self, task_id: str) -> Iterator[IO[bytes]]:
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / ref_component(task_id)).open("a+b") as note:
            for _ in range(LOCK_TRIES):
                if _locked(note):
                    break
                self._clock.sleep(LOCK_PAUSE)
            yield note

    def _push(self, task_id: str, *, over: bool) -> None:
        """All refs of the task; what the remote has already costs nothing.

        The branch is for people to look at, so it goes wherever ours is; the work itself is never
        overwritten: what has another commit under its name there gets a new one.
        """
        names = (f"{SAVED_WORK}/{task_id}", f"{SNAPSHOTS}/{task_id}-*")
        kept = [RefMove(ref.name, ref.commit) for ref in self._refs.list_refs(*names)]
        branch = self._refs.read_commits(task_branch_ref(task_id))[0]
        seen = [RefMove(task_branch_ref(task_id), branch.sha)] if branch else []
        gone = [RefMove(task_branch_ref(task_id), "")] if over and not branch else []
        moves = (*kept, *seen, *gone)
        if not moves:
            return
        first = self.remote.push(*moves, atomic=False, force=[m.ref for m in seen])
        refused = first.refused
        again = [_renamed(task_id, move) for move in kept if move.ref in refused]
        second = self.remote.push(*again, atomic=False) if again else PushOutcome({})
        left = {ref: second.reason_for(ref) for ref in second.refused}
        left |= {m.ref: first.reason_for(m.ref) for m in seen if m.ref in refused}
        for ref, why in left.items():
            raise GitFailed(f"the remote does not take {ref}: {why}", transient=True)

    # -------------------------------------------------------------- from the remote to here

    def fetch_work(self, task: Task) -> bool:
        """Fetch what another machine kept of the task's work; false when it is not there yet."""
        if not task.work.head or self._refs.read_commits(task.work.head)[0]:
            return True
        self.fetch_matching(f"{SAVED_WORK}/{ref_component(task.id)}/*")
        return self._refs.read_commits(task.work.head)[0] is not None

    def require_work(self, task: Task) -> None:
        """Its work must be here; who kept it pushes it as soon as the remote answers."""
        if not self.fetch_work(task):
            raise RemoteUnreachable(
                f"the work of {task.id} was kept on another machine and is not at the remote yet",
                hint=f"let a worker of that machine reach the remote: yaoki why {task.id}",
            )

    def fetch_commits(self, *commits: str) -> None:
        """Commits that somebody named, whichever machine made them."""
        far = [
            c
            for c, here in zip(commits, self._refs.read_commits(*commits), strict=True)
            if not here
        ]
        if far:
            self.remote.fetch_commits(far)

    def fetch_snapshot(self, snapshot_id: str) -> None:
        ref = snapshot_ref(snapshot_id)
        if self._refs.read_commits(ref)[0] is None and (found := self.remote.fetch_refs([ref])):
            self._refs.move_or_fail(RefMove(ref, found[ref]), why="yaoki: from the remote")

    def fetch_all_below(self, *prefixes: str) -> None:
        """Everything that any machine kept; without the remote there is only what is here."""
        try:
            self.fetch_matching(*(f"{prefix}/*" for prefix in prefixes))
        except WorkspaceError as failed:
            self._warn(f"only what this machine has is shown: {failed.sentence}")

    def fetch_matching(self, *patterns: str) -> None:
        """Into refs of the same names; one that holds something else here stays as it is."""
        found = self.remote.fetch_matching(*patterns)
        here = {ref.name: ref.commit for ref in self._refs.list_refs(SAVED_WORK, SNAPSHOTS)}
        new = [RefMove(name, commit, "") for name, commit in found.items() if name not in here]
        aside = [RefMove(n, c) for n, c in found.items() if here.get(n, c) != c]
        moves = [*new, *(move for one in aside for move in self._beside(one, here[one.ref]))]
        if moves:
            self._refs.move_or_fail(*moves, why="yaoki: from the remote")

    def fetch_missing_refs(self, *patterns: str) -> None:
        """Refs that only the remote has; those that are here stay as they are."""
        found = self.remote.fetch_matching(*patterns)
        folders = [pattern.rpartition("/")[0] for pattern in patterns]
        here = {ref.name for ref in self._refs.list_refs(*folders)}
        if new := [RefMove(name, commit, "") for name, commit in found.items() if name not in here]:
            self._refs.move_or_fail(*new, why="yaoki: from the remote")

    def _beside(self, there: RefMove, here: str) -> Iterator[RefMove]:
        """Both have the name; which has more keeps it, and without any the other gets a new one."""
        if self._refs.is_ancestor(here, there.new):
            yield RefMove(there.ref, there.new, here)
        elif not self._refs.is_ancestor(there.new, here):
            yield _renamed(_task_of(there.ref), there)

    def delete_snapshots(self, snapshots: Collection[Snapshot]) -> None:
        """Snapshots that are too old go there as well; one that is left is no harm."""
        moves = [RefMove(snapshot_ref(one.id), "", one.commit) for one in snapshots]
        try:
            self.remote.push(*moves, atomic=False)
        except WorkspaceError as failed:
            self._warn(f"old snapshots stay at the remote: {failed.sentence}")


def _renamed(task_id: str, move: RefMove) -> RefMove:
    """Another name for a commit whose own is taken; the same one however often it is asked for."""
    label = move.ref.rpartition("/")[2]
    if move.ref.startswith(f"{SNAPSHOTS}/"):
        label = f"{label.removeprefix(f'{task_id}-')}-snapshot"
    return RefMove(work_ref(task_id, f"{label}-{move.new[:8]}"), move.new)


def _task_of(ref: str) -> str:
    if ref.startswith(f"{SNAPSHOTS}/"):
        return ref.rpartition("/")[2].rpartition("-")[0]
    return ref.split("/")[3]


def _write(note: IO[bytes], words: bytes) -> None:
    note.seek(0)
    note.truncate(0)
    note.write(words)
    note.flush()


def _size(note: Path) -> int:
    """Zero when another thread has pushed the work and removed the note since it was listed."""
    try:
        return note.stat().st_size
    except FileNotFoundError:
        return 0


def _locked(note: IO[bytes]) -> bool:
    try:
        fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
