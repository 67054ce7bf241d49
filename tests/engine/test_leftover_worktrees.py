"""Unused worktrees, and two workers that remove the same one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.adapters.store.store_actions import claim_one, lease_of, open_test_store, submit
from tests.builders import RUN_ID, HandClock, a_spec
from yaoki.adapters.store import SqlStore
from yaoki.core.machine.request_events import Cancelled, CancelRequested
from yaoki.core.model import RunId, Task, TaskId
from yaoki.engine.loop.leftover_worktrees import LeftoverWorktrees
from yaoki.errors import GitFailed
from yaoki.ports import Workspace


class RacingWorkspace:
    """Another worker removes the worktree while git runs, or it stays."""

    def __init__(self, task_id: TaskId, *, stays: bool) -> None:
        self.left = {task_id}
        self._stays = stays

    def tasks_with_worktree(self) -> frozenset[TaskId]:
        return frozenset(self.left)

    def remove_worktree(self, task: Task) -> None:
        if not self._stays:
            self.left.discard(task.id)
        raise GitFailed("cannot run git: there is no folder")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    made = open_test_store(tmp_path / "state.db", HandClock())
    yield made
    made.close()


@pytest.mark.spec("8.6", "0.5")
@pytest.mark.parametrize("stays", [False, True])
def test_only_a_remaining_worktree_is_reported(store: SqlStore, stays: bool) -> None:
    (task_id,) = submit(store, a_spec("a"))
    task = claim_one(store)
    over = (CancelRequested("by a person"), Cancelled("by a person"))
    store.record(lease_of(task), lambda _: over)
    workspace = RacingWorkspace(task_id, stays=stays)

    LeftoverWorktrees(
        store,
        cast(Workspace, SimpleNamespace(worktrees=workspace)),
        host="",
        end_processes=lambda _: None,
        on_release=lambda _: None,
        is_archived=lambda _: False,
    ).sweep(RUN_ID)

    warnings = [e.event for e in store.journal(run_id=RunId(RUN_ID)) if e.event == "WARNING"]
    assert warnings == (["WARNING"] if stays else [])
