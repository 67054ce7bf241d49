"""Snapshots: a worktree's whole content under a ref, and the way back to it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.commits import Commits
from yaoki.adapters.git.refs import SNAPSHOTS, GitCommit, Ref, RefMove, Refs, snapshot_ref
from yaoki.adapters.git.trees import TreeBuilder, printable_path
from yaoki.adapters.workspace.worktrees.allocation import Worktrees
from yaoki.adapters.workspace.worktrees.saved_work import WorkSaver
from yaoki.adapters.workspace.worktrees.worktree import Worktree
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Task
from yaoki.errors import NotNow, Unknown


@dataclass(frozen=True, slots=True)
class Snapshot:
    id: str
    task_id: str
    attempt: int
    commit: str
    at: datetime


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """What putting a worktree back changed in it."""

    restored: tuple[str, ...]
    deleted: tuple[str, ...]


class Snapshots:
    def __init__(
        self,
        git: Git,
        refs: Refs,
        commits: Commits,
        content: TreeBuilder,
        worktrees: Worktrees,
        keeping: WorkSaver,
    ) -> None:
        self._git, self._refs, self._commits = git, refs, commits
        self._content, self._worktrees, self._keeping = content, worktrees, keeping

    def take(self, task: Task, attempt: int, *, untouched: bool = False) -> str:
        """Its first parent is the HEAD it was taken on, its tree all the files."""
        found = self._worktrees.require(task.id)
        snapshot_id = f"{task.id}-{attempt}"
        head = self._refs.require_commit(found.head, f"the HEAD of {task.id}")
        plain = untouched or self._worktrees.is_clean(found)
        tree = head.tree if plain else self._tree(task, found)
        words = self._commits.compose_task_message(f"snapshot {snapshot_id}", task)
        commit = self._commits.make(tree, [head.sha], words)
        self._refs.move_or_fail(RefMove(snapshot_ref(snapshot_id), commit))
        return snapshot_id

    def _tree(self, task: Task, found: Worktree) -> str:
        whole = self._keeping.snapshot_commit(task, found)
        return self._refs.require_commit(whole, f"the content of {task.id}").tree

    def list_all(self) -> list[Snapshot]:
        """All of them, oldest first."""
        found = [_snapshot(ref) for ref in self._refs.list_refs(SNAPSHOTS)]
        return sorted(found, key=lambda snapshot: (snapshot.at, snapshot.id))

    def restore(self, snapshot_id: str, task: Task) -> RestoreResult:
        """Put the worktree back, HEAD included; what it holds now is kept first."""
        snapshot = self._refs.read_commits(snapshot_ref(snapshot_id))[0]
        if snapshot is None:
            raise Unknown(f"there is no snapshot {snapshot_id!r}", hint="yaoki snapshots")
        if snapshot_id.rpartition("-")[0] != task.id:
            raise NotNow(f"{snapshot_id} is no snapshot of {task.id}", hint="yaoki snapshots")
        found = self._worktrees.require(task.id)
        now = self._keeping.snapshot_commit(task, found)
        self._keeping.save_everything(task, "before-restore")
        self._put_back(found, snapshot)
        changes = self._content.diff_trees(now, snapshot.sha)
        return RestoreResult(
            tuple(printable_path(change.path) for change in changes if change.status != "D"),
            tuple(printable_path(change.path) for change in changes if change.status == "D"),
        )

    def _put_back(self, found: Worktree, snapshot: GitCommit) -> None:
        """Files from the snapshot, index from the HEAD of then: untracked is untracked again."""
        self._worktrees.check_out(found, snapshot.sha)
        self._git.run("reset", "-q", "--mixed", snapshot.parents[0], at=found.location)

    def expire(self, older_than: datetime, needed: Collection[str]) -> list[Snapshot]:
        """Delete old snapshots, never one that something needs."""
        old = [s for s in self.list_all() if s.at < older_than and s.id not in needed]
        moves = [RefMove(snapshot_ref(snapshot.id), "", snapshot.commit) for snapshot in old]
        if moves and not self._refs.move(*moves):
            return []
        return old


def _snapshot(ref: Ref) -> Snapshot:
    name = ref.name.removeprefix(f"{SNAPSHOTS}/")
    task_id, _, attempt = name.rpartition("-")
    return Snapshot(name, task_id, int(attempt) if attempt.isdecimal() else 0, ref.commit, ref.at)
