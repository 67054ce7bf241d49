"""Snapshots: a worktree's whole content under a ref, to be restored later."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.commits import Commits
from yaoki.adapters.git.ref_names import SNAPSHOTS, snapshot_ref
from yaoki.adapters.git.refs import (
    GitCommit,
    Ref,
    RefMove,
    Refs,
    move_or_fail,
    require_commit,
)
from yaoki.adapters.git.tree_diff import ChangeStatus, printable_path
from yaoki.adapters.git.trees import TreeBuilder
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
    """The paths that restoring a snapshot changed in the worktree."""

    restored: tuple[str, ...]
    deleted: tuple[str, ...]


class Snapshots:
    def __init__(
        self,
        *,
        git: Git,
        refs: Refs,
        commits: Commits,
        trees: TreeBuilder,
        worktrees: Worktrees,
        saver: WorkSaver,
    ) -> None:
        self._git, self._refs, self._commits = git, refs, commits
        self._trees, self._worktrees, self._saver = trees, worktrees, saver

    def take(self, task: Task, attempt: int, *, untouched: bool = False) -> str:
        """Commit all files of the worktree as a child of its HEAD; returns the snapshot's id."""
        worktree = self._worktrees.require(task.id)
        snapshot_id = f"{task.id}-{attempt}"
        head = require_commit(self._refs, worktree.head, f"the HEAD of {task.id}")
        is_clean = untouched or self._worktrees.is_clean(worktree)
        tree = head.tree if is_clean else self._read_tree(task, worktree)
        message = self._commits.compose_task_message(f"snapshot {snapshot_id}", task)
        commit = self._commits.make(tree, [head.sha], message)
        move_or_fail(self._refs, RefMove(snapshot_ref(snapshot_id), commit))
        return snapshot_id

    def _read_tree(self, task: Task, worktree: Worktree) -> str:
        commit = self._saver.snapshot_commit(task, worktree)
        return require_commit(self._refs, commit, f"the content of {task.id}").tree

    def list_all(self) -> list[Snapshot]:
        """All snapshots, oldest first."""
        snapshots = [_parse(ref) for ref in self._refs.list_refs(SNAPSHOTS)]
        return sorted(snapshots, key=lambda snapshot: (snapshot.at, snapshot.id))

    def restore(self, snapshot_id: str, task: Task) -> RestoreResult:
        """Restore the worktree, HEAD included; its current content is saved first."""
        snapshot = self._refs.read_commits(snapshot_ref(snapshot_id))[0]
        if snapshot is None:
            raise Unknown(f"there is no snapshot {snapshot_id!r}", hint="yaoki snapshots")
        if snapshot_id.rpartition("-")[0] != task.id:
            raise NotNow(f"{snapshot_id} is not a snapshot of {task.id}", hint="yaoki snapshots")
        worktree = self._worktrees.require(task.id)
        before = self._saver.snapshot_commit(task, worktree)
        self._saver.save_everything(task, "before-restore")
        self._check_out(worktree, snapshot)
        changes = self._trees.diff_trees(before, snapshot.sha)
        return RestoreResult(
            tuple(
                printable_path(change.path)
                for change in changes
                if change.status is not ChangeStatus.DELETED
            ),
            tuple(
                printable_path(change.path)
                for change in changes
                if change.status is ChangeStatus.DELETED
            ),
        )

    def _check_out(self, worktree: Worktree, snapshot: GitCommit) -> None:
        """Files of the snapshot, index of its HEAD: untracked files are untracked again."""
        self._worktrees.check_out(worktree, snapshot.sha)
        self._git.run("reset", "-q", "--mixed", snapshot.parents[0], at=worktree.location)

    def expire(self, older_than: datetime, needed: Collection[str]) -> list[Snapshot]:
        """Delete old snapshots, never one that is needed."""
        old = [s for s in self.list_all() if s.at < older_than and s.id not in needed]
        moves = [RefMove(snapshot_ref(snapshot.id), "", snapshot.commit) for snapshot in old]
        if moves and not self._refs.move(*moves):
            return []
        return old


def _parse(ref: Ref) -> Snapshot:
    name = ref.name.removeprefix(f"{SNAPSHOTS}/")
    task_id, _, attempt = name.rpartition("-")
    return Snapshot(name, task_id, int(attempt) if attempt.isdecimal() else 0, ref.commit, ref.at)
