"""One machine or many: what differs for the workspace, at one place.

`Alone` asks nobody.  `Sharing` has a remote on which all machines meet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.refs import BASES, HEADS, RUNS, SNAPSHOTS, WORK, Commit, Move, Refs, run_ref
from yaoki.adapters.git.repository import Repository
from yaoki.adapters.system.machine import own_machine_id
from yaoki.adapters.workspace.remote.address import open_address
from yaoki.adapters.workspace.remote.client import Remote
from yaoki.adapters.workspace.remote.publication import Publishing
from yaoki.adapters.workspace.remote.shared_refs import SharedRefs
from yaoki.adapters.workspace.worktrees.snapshots import Snapshot
from yaoki.core.bounded_cache import Recent
from yaoki.core.model import Task
from yaoki.errors import RemoteAway

BRANCHES = re.compile(r"refs/heads/.+")


class Alone:
    """Only this repository: its refs are the truth, and nothing is owed to anybody."""

    name = shown = away = ""

    def __init__(self, git: Git) -> None:
        self.lines = self.branches = Refs(git)

    def answers(self) -> None:
        """There is nobody to ask."""

    def host(self, machine: str) -> str:
        return machine

    def once(self, _: str, act: Callable[[], None]) -> None:
        act()

    def owing(self, task_id: str, *, over: bool = False) -> AbstractContextManager[None]:
        return nullcontext()

    def catch_up(self) -> None:
        """Nothing is ever behind."""

    def need(self, task: Task) -> None:
        """All work there is, is here."""

    def behind(self, task: Task, head: Commit | None, usable: bool) -> bool:
        return False

    def here(self, commit: str) -> bool:
        return True

    def near(self, *commits: str) -> None:
        """A commit that is not here is nowhere."""

    def bring_snapshot(self, snapshot_id: str) -> None:
        """All snapshots there are, are here."""

    def gather(self, *prefixes: str) -> None:
        """Nobody else has any."""

    def forget(self, snapshots: Collection[Snapshot]) -> None:
        """They are gone already."""

    def bring_run(self, run_id: str) -> None:
        """All of it is here."""

    def drop(self, moves: Sequence[Move]) -> None:
        """They were deleted here, and stood nowhere else."""


class Sharing(Publishing):
    """The run branch and all kept work are the same on all machines."""

    def __init__(self, git: Git, remote: Remote, folder: Path, warn: Callable[[str], None]) -> None:
        super().__init__(Refs(git), remote, folder, warn)
        self.lines = SharedRefs(git, remote)
        self.branches = SharedRefs(git, remote, BRANCHES)
        self.name = remote.address.name
        self._own = folder.with_name(".own")
        self._opened: Recent[str, None] = Recent()

    @property
    def shown(self) -> str:
        return self.remote.address.shown

    @property
    def away(self) -> str:
        return self.remote.away

    def answers(self) -> None:
        self.remote.answers()

    def host(self, machine: str) -> str:
        """Two clones on one machine have worktrees of their own.

        The mark lies beside the worktrees: two containers that share them have the same one, and
        machines made alike, each with its clone at the same path, have not.
        """
        return f"{machine}:{own_machine_id(self._own)[:8]}"

    def once(self, run_id: str, act: Callable[[], None]) -> None:
        """The branch of a run is made once, by whoever comes first; later nobody need look."""
        if run_id not in self._opened:
            act()
            self._opened[run_id] = None

    def behind(self, task: Task, head: Commit | None, usable: bool) -> bool:
        """Does the worktree here lack what was kept of the task, and is that to be had?

        A person's work is where the person is: only that machine has it.
        """
        if task.take_over:
            if task.work.worktree and not usable:
                words = f"a person worked on {task.id} in its worktree on another machine"
                raise RemoteAway(words, hint="let a worker of that machine go on")
            return False
        if not task.work.head or not self.bring(task):
            return False
        return head is None or not self._refs.contains(task.work.head, head.sha)

    def here(self, commit: str) -> bool:
        return self._refs.commits(commit)[0] is not None

    def bring_run(self, run_id: str) -> None:
        """Whatever any machine kept of a run, before all of it is put away."""
        self.lines.commits(run_ref(run_id), f"{RUNS}/{run_id}")
        self.fetch(*(f"{each}/{run_id}-*" for each in (WORK, SNAPSHOTS)))
        self.adopt(*(f"{each}/{run_id}-*" for each in (HEADS, RUNS, BASES)))

    def drop(self, moves: Sequence[Move]) -> None:
        """Delete these there as well; one that somebody moved, or that is not there, stays so."""
        if moves:
            self.remote.push(*moves, atomic=False)


def open_sharing(
    git: Git, repository: Repository, said: str, folder: Path, warn: Callable[[str], None]
) -> Alone | Sharing:
    """As the settings say: nobody, or the remote of this name, URL or path."""
    if not said:
        return Alone(git)
    remote = Remote(git, open_address(git, repository, said))
    return Sharing(git, remote, folder, warn)
