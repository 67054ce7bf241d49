"""Recovery of finished or failed attempts for people: snapshots, saved work, archived runs."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from pathlib import Path

from yaoki.adapters.git.ref_names import OWN_BRANCHES, SAVED_WORK, SNAPSHOTS
from yaoki.adapters.git.refs import Refs
from yaoki.adapters.workspace.branches.bundle import RunRefArchive
from yaoki.adapters.workspace.os_errors import translates_os_errors
from yaoki.adapters.workspace.remote.mode import RemoteMode
from yaoki.adapters.workspace.worktrees.saved_refs import SavedRefs
from yaoki.adapters.workspace.worktrees.snapshots import RestoreResult, Snapshot, Snapshots
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import Task
from yaoki.ports import SavedWork

RUN_BRANCH_NAME = lazy_compile(r"yaoki/[a-z0-9]{8}")


class WorkRecovery:
    def __init__(
        self,
        *,
        common_dir: Path,
        root: Path,
        refs: Refs,
        mode: RemoteMode,
        snapshots: Snapshots,
        saved_refs: SavedRefs,
    ) -> None:
        self._common_dir, self._root, self._refs, self._mode = common_dir, root, refs, mode
        self._snapshots, self._saved_refs = snapshots, saved_refs

    @translates_os_errors
    def list_snapshots(self) -> list[Snapshot]:
        self._mode.fetch_all_below(SNAPSHOTS)
        return self._snapshots.list_all()

    @translates_os_errors
    def restore_snapshot(self, snapshot_id: str, task: Task) -> RestoreResult:
        """Restore the task's worktree; its current content is saved first."""
        self._mode.fetch_snapshot(snapshot_id)
        with self._mode.push_afterwards(task.id):
            return self._snapshots.restore(snapshot_id, task)

    @translates_os_errors
    def expire_snapshots(self, older_than: datetime, needed: Collection[str]) -> list[str]:
        """Delete old snapshots that nothing needs; returns their ids."""
        expired = self._snapshots.expire(older_than, needed)
        self._mode.delete_snapshots(expired)
        return [snapshot.id for snapshot in expired]

    @translates_os_errors
    def list_run_branches(self) -> tuple[str, ...]:
        """The run branches of this repository, whether a store knows their runs or not."""
        names = (ref.name.removeprefix("refs/heads/") for ref in self._refs.list_refs(OWN_BRANCHES))
        return tuple(sorted(name for name in names if RUN_BRANCH_NAME.fullmatch(name)))

    @translates_os_errors
    def list_saved_work(self) -> list[SavedWork]:
        self._mode.fetch_all_below(SAVED_WORK, SNAPSHOTS)
        return self._saved_refs.list_saved_work()

    @translates_os_errors
    def recover_to_branch(self, ref: str, branch: str) -> str:
        """Create a new branch at saved work; an existing branch is refused."""
        return self._saved_refs.recover_to_branch(ref, branch)

    @translates_os_errors
    def ref_archive(self) -> RunRefArchive:
        """Archives the refs of finished runs, at the remote as well."""
        return RunRefArchive(self._common_dir, self._root, self._mode)
