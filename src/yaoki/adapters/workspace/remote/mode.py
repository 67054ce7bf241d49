"""Everything that depends on whether several machines share a git remote.

`LocalOnly` works in this repository alone; `SharedRemote` has a remote that all machines use.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TypeAlias

from yaoki.adapters.git.checkout_update import CheckoutUpdate
from yaoki.adapters.git.command import Git
from yaoki.adapters.git.ref_names import (
    GROUP_BASES,
    OWN_BRANCHES,
    RECORDED_HEADS,
    SAVED_WORK,
    SNAPSHOTS,
    run_branch_ref,
)
from yaoki.adapters.git.refs import BranchRefs, GitCommit, RefMove, Refs
from yaoki.adapters.git.repository import GitRepository
from yaoki.adapters.system.machine import load_or_create_machine_id
from yaoki.adapters.workspace.os_errors import translates_os_errors
from yaoki.adapters.workspace.remote.address import open_remote_address
from yaoki.adapters.workspace.remote.client import RemoteClient
from yaoki.adapters.workspace.remote.publication import RemotePublisher
from yaoki.adapters.workspace.remote.shared_refs import SharedRefs
from yaoki.adapters.workspace.worktrees.snapshots import Snapshot
from yaoki.core.bounded_cache import BoundedCache
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import Task
from yaoki.errors import RemoteUnreachable

ALL_BRANCHES = lazy_compile(r"refs/heads/.+")


class LocalOnly:
    """No remote: every ref and commit is in this repository, and nothing has to be pushed."""

    name = display_name = problem = ""

    def __init__(self, git: Git) -> None:
        self.run_refs: BranchRefs = Refs(git)
        self.branch_refs: BranchRefs = self.run_refs
        self.checkout_update: CheckoutUpdate | None = CheckoutUpdate(git)

    def check_reachable(self) -> None:
        """Succeed: there is no remote to reach."""

    def worktree_host(self, machine: str) -> str:
        return machine

    def run_once(self, _run_id: str, act: Callable[[], None]) -> None:
        act()

    def unshared_run_refs(self, _run_id: str) -> list[RefMove]:
        """No refs: without a remote none is shared, and none is missing there."""
        return []

    def fetch_landed(self, *commits: str) -> None:
        """Every landed commit is here."""

    def push_afterwards(
        self, _task_id: str, *, finished: bool = False
    ) -> AbstractContextManager[None]:
        return nullcontext()

    def push_pending(self) -> None:
        """Do nothing: there is no remote to push to."""

    def require_work(self, task: Task) -> None:
        """All saved work is here."""

    def lacks_saved_work(self, _task: Task, _head: GitCommit | None, _usable: bool) -> bool:
        return False

    def has_commit(self, _commit: str) -> bool:
        return True

    def fetch_commits(self, *commits: str) -> None:
        """Do nothing: there is no remote to fetch from."""

    def fetch_snapshot(self, snapshot_id: str) -> None:
        """All snapshots are here."""

    def fetch_all_below(self, *prefixes: str) -> None:
        """All saved work is here."""

    def delete_snapshots(self, snapshots: Collection[Snapshot]) -> None:
        """Snapshots exist only here and are deleted already."""

    def fetch_run(self, run_id: str) -> None:
        """All refs of the run are here."""

    def delete_refs(self, moves: Sequence[RefMove]) -> None:
        """The refs exist only here and are deleted already."""


class SharedRemote:
    """A remote through which run branches and saved work are the same on all machines."""

    def __init__(
        self, git: Git, remote: RemoteClient, folder: Path, warn: Callable[[str], None]
    ) -> None:
        self._remote, self._local = remote, Refs(git)
        self._publisher = RemotePublisher(self._local, remote, folder, warn)
        self._shared = SharedRefs(git, remote)
        self.run_refs: BranchRefs = self._shared
        self.branch_refs: BranchRefs = SharedRefs(git, remote, ALL_BRANCHES)
        # The branch on the remote moves first, and a checkout here would not follow it.
        self.checkout_update: CheckoutUpdate | None = None
        self.name = remote.address.name
        self._clone_id_file = folder.with_name(".own")
        self._opened_runs: BoundedCache[str, None] = BoundedCache()

    @property
    def display_name(self) -> str:
        return self._remote.address.display_name

    @property
    def problem(self) -> str:
        return self._remote.problem

    def check_reachable(self) -> None:
        self._remote.check_reachable()

    def worktree_host(self, machine: str) -> str:
        """The machine and the clone: two clones on one machine have separate worktrees.

        The id file is beside the worktrees.  So two containers that share the worktrees have the
        same id, and cloned machines with their repository at the same path have different ids.
        """
        return f"{machine}:{load_or_create_machine_id(self._clone_id_file)[:8]}"

    def run_once(self, run_id: str, act: Callable[[], None]) -> None:
        """Open the branch of a run once per process: later calls need not ask the remote."""
        if run_id not in self._opened_runs:
            act()
            self._opened_runs[run_id] = None

    def unshared_run_refs(self, run_id: str) -> list[RefMove]:
        return self._shared.unshared_run_refs(run_id)

    def fetch_landed(self, *commits: str) -> None:
        """Fetch landed commits, each on its own: the remote may have lost some of them."""
        self._shared.fetch_commits(*commits)

    def push_afterwards(
        self, task_id: str, *, finished: bool = False
    ) -> AbstractContextManager[None]:
        return self._publisher.push_afterwards(task_id, finished=finished)

    def push_pending(self) -> None:
        self._publisher.push_pending()

    def require_work(self, task: Task) -> None:
        self._publisher.require_work(task)

    def lacks_saved_work(self, task: Task, head: GitCommit | None, usable: bool) -> bool:
        """True when the worktree lacks saved work of the task that the remote has.

        Work of a person who took over is only on that person's machine.
        """
        if task.taken_over:
            if task.work.worktree and not usable:
                sentence = f"a person worked on {task.id} in its worktree on another machine"
                raise RemoteUnreachable(sentence, hint="start a worker on that machine")
            return False
        if not task.work.head or not self._publisher.fetch_work(task):
            return False
        return head is None or not self._local.is_ancestor(task.work.head, head.sha)

    def has_commit(self, commit: str) -> bool:
        return self._local.read_commits(commit)[0] is not None

    def fetch_commits(self, *commits: str) -> None:
        self._publisher.fetch_commits(*commits)

    def fetch_snapshot(self, snapshot_id: str) -> None:
        self._publisher.fetch_snapshot(snapshot_id)

    def fetch_all_below(self, *prefixes: str) -> None:
        self._publisher.fetch_all_below(*prefixes)

    def delete_snapshots(self, snapshots: Collection[Snapshot]) -> None:
        self._publisher.delete_snapshots(snapshots)

    def fetch_run(self, run_id: str) -> None:
        """Fetch everything that any machine saved of a run, before the run is archived."""
        self._shared.read_commits(run_branch_ref(run_id), f"{RECORDED_HEADS}/{run_id}")
        self._publisher.fetch_matching(*(f"{each}/{run_id}-*" for each in (SAVED_WORK, SNAPSHOTS)))
        self._publisher.fetch_missing_refs(
            *(f"{each}/{run_id}-*" for each in (OWN_BRANCHES, RECORDED_HEADS, GROUP_BASES))
        )

    def delete_refs(self, moves: Sequence[RefMove]) -> None:
        """Delete refs at the remote; one that has moved, or does not exist, is skipped."""
        if moves:
            self._remote.push(*moves, atomic=False)


RemoteMode: TypeAlias = LocalOnly | SharedRemote


def open_remote_mode(
    git: Git, repository: GitRepository, setting: str, folder: Path, warn: Callable[[str], None]
) -> RemoteMode:
    """`setting` is the name, URL or path of the remote; empty for none."""
    if not setting:
        return LocalOnly(git)
    remote = RemoteClient(git, open_remote_address(git, repository, setting))
    return SharedRemote(git, remote, folder, warn)


class RemoteStatus:
    def __init__(self, mode: RemoteMode) -> None:
        self._mode = mode

    @property
    def name(self) -> str:
        """The name of the remote in git's settings; empty without one."""
        return self._mode.name

    @translates_os_errors
    def catch_up_with_remote(self) -> None:
        """Ask an unreachable remote again, and push what is pending."""
        if self._mode.problem:
            self._mode.check_reachable()
        self._mode.push_pending()

    @translates_os_errors
    def remote_problem(self) -> str:
        """A sentence when the remote did not answer the last call; else empty."""
        return self._mode.problem

    @translates_os_errors
    def check_remote(self) -> str:
        """Ask the remote; returns its name for people, empty without a remote."""
        self._mode.check_reachable()
        return self._mode.display_name

    @translates_os_errors
    def worktree_host(self, machine: str) -> str:
        """Identifies where a worktree is: the machine, and the clone if several share a remote."""
        return self._mode.worktree_host(machine)
