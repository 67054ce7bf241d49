"""One machine or many: what differs for the workspace, at one place.

`LocalOnly` asks nobody.  `SharedRemote` has a remote on which all machines meet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.refs import (
    GROUP_BASES,
    OWN_BRANCHES,
    RECORDED_HEADS,
    SAVED_WORK,
    SNAPSHOTS,
    GitCommit,
    RefMove,
    Refs,
    run_branch_ref,
)
from yaoki.adapters.git.repository import GitRepository
from yaoki.adapters.system.machine import load_or_create_machine_id
from yaoki.adapters.workspace.remote.address import open_remote_address
from yaoki.adapters.workspace.remote.client import RemoteClient
from yaoki.adapters.workspace.remote.publication import RemotePublisher
from yaoki.adapters.workspace.remote.shared_refs import SharedRefs
from yaoki.adapters.workspace.worktrees.snapshots import Snapshot
from yaoki.core.bounded_cache import BoundedCache
from yaoki.core.model import Task
from yaoki.errors import RemoteUnreachable

BRANCHES = re.compile(r"refs/heads/.+")


class LocalOnly:
    """Only this repository: its refs are the truth, and nothing is owed to anybody."""

    name = display_name = problem = ""

    def __init__(self, git: Git) -> None:
        self.run_refs = self.branch_refs = Refs(git)

    def check_reachable(self) -> None:
        """There is nobody to ask."""

    def worktree_host(self, machine: str) -> str:
        return machine

    def run_once(self, _: str, act: Callable[[], None]) -> None:
        act()

    def push_afterwards(
        self, task_id: str, *, finished: bool = False
    ) -> AbstractContextManager[None]:
        return nullcontext()

    def push_pending(self) -> None:
        """Nothing is ever behind."""

    def require_work(self, task: Task) -> None:
        """All work there is, is here."""

    def lacks_saved_work(self, task: Task, head: GitCommit | None, usable: bool) -> bool:
        return False

    def has_commit(self, commit: str) -> bool:
        return True

    def fetch_commits(self, *commits: str) -> None:
        """A commit that is not here is nowhere."""

    def fetch_snapshot(self, snapshot_id: str) -> None:
        """All snapshots there are, are here."""

    def fetch_all_below(self, *prefixes: str) -> None:
        """Nobody else has any."""

    def delete_snapshots(self, snapshots: Collection[Snapshot]) -> None:
        """They are gone already."""

    def fetch_run(self, run_id: str) -> None:
        """All of it is here."""

    def delete_refs(self, moves: Sequence[RefMove]) -> None:
        """They were deleted here, and stood nowhere else."""


class SharedRemote(RemotePublisher):
    """The run branch and all kept work are the same on all machines."""

    def __init__(
        self, git: Git, remote: RemoteClient, folder: Path, warn: Callable[[str], None]
    ) -> None:
        super().__init__(Refs(git), remote, folder, warn)
        self.run_refs = SharedRefs(git, remote)
        self.branch_refs = SharedRefs(git, remote, BRANCHES)
        self.name = remote.address.name
        self._own = folder.with_name(".own")
        self._opened: BoundedCache[str, None] = BoundedCache()

    @property
    def display_name(self) -> str:
        return self.remote.address.display_name

    @property
    def problem(self) -> str:
        return self.remote.problem

    def check_reachable(self) -> None:
        self.remote.check_reachable()

    def worktree_host(self, machine: str) -> str:
        """Two clones on one machine have worktrees of their own.

        The mark lies beside the worktrees: two containers that share them have the same one, and
        machines made alike, each with its clone at the same path, have not.
        """
        return f"{machine}:{load_or_create_machine_id(self._own)[:8]}"

    def run_once(self, run_id: str, act: Callable[[], None]) -> None:
        """The branch of a run is made once, by whoever comes first; later nobody need look."""
        if run_id not in self._opened:
            act()
            self._opened[run_id] = None

    def lacks_saved_work(self, task: Task, head: GitCommit | None, usable: bool) -> bool:
        """Does the worktree here lack what was kept of the task, and is that to be had?

        A person's work is where the person is: only that machine has it.
        """
        if task.taken_over:
            if task.work.worktree and not usable:
                words = f"a person worked on {task.id} in its worktree on another machine"
                raise RemoteUnreachable(words, hint="let a worker of that machine go on")
            return False
        if not task.work.head or not self.fetch_work(task):
            return False
        return head is None or not self._refs.is_ancestor(task.work.head, head.sha)

    def has_commit(self, commit: str) -> bool:
        return self._refs.read_commits(commit)[0] is not None

    def fetch_run(self, run_id: str) -> None:
        """Whatever any machine kept of a run, before all of it is put away."""
        self.run_refs.read_commits(run_branch_ref(run_id), f"{RECORDED_HEADS}/{run_id}")
        self.fetch_matching(*(f"{each}/{run_id}-*" for each in (SAVED_WORK, SNAPSHOTS)))
        self.fetch_missing_refs(
            *(f"{each}/{run_id}-*" for each in (OWN_BRANCHES, RECORDED_HEADS, GROUP_BASES))
        )

    def delete_refs(self, moves: Sequence[RefMove]) -> None:
        """Delete these there as well; one that somebody moved, or that is not there, stays so."""
        if moves:
            self.remote.push(*moves, atomic=False)


def open_remote_mode(
    git: Git, repository: GitRepository, said: str, folder: Path, warn: Callable[[str], None]
) -> LocalOnly | SharedRemote:
    """As the settings say: nobody, or the remote of this name, URL or path."""
    if not said:
        return LocalOnly(git)
    remote = RemoteClient(git, open_remote_address(git, repository, said))
    return SharedRemote(git, remote, folder, warn)
