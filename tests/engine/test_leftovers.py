"""Worktrees in which nobody goes on, and two who remove the same one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.builders import RUN_ID, HandClock, a_spec
from tests.store.acts import lease_of, opened, submit, take
from yaoki.adapters.store import SqlStore
from yaoki.core.machine.events import Cancelled, CancelRequested
from yaoki.core.model import RunId, Task, TaskId
from yaoki.engine.loop.leftover_worktrees import LeftoverWorktrees
from yaoki.errors import GitFailed
from yaoki.ports import Workspace


class Removed:
    """Where somebody else is at it: the folder goes while git is asked about it, or stays."""

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
    made = opened(tmp_path / "state.db", HandClock())
    yield made
    made.close()


@pytest.mark.spec("8.6", "0.5")
@pytest.mark.parametrize("stays", [False, True])
def test_only_a_worktree_that_stays_is_told(store: SqlStore, stays: bool) -> None:
    (task_id,) = submit(store, a_spec("a"))
    task = take(store)
    over = (CancelRequested("by a person"), Cancelled("by a person"))
    store.record(lease_of(task), lambda _: over)
    place = Removed(task_id, stays=stays)

    LeftoverWorktrees(
        store,
        cast(Workspace, SimpleNamespace(worktrees=place)),
        host="",
        end_processes=lambda _: None,
        on_release=lambda _: None,
        is_archived=lambda _: False,
    ).sweep(RUN_ID)

    told = [e.event for e in store.journal(run_id=RunId(RUN_ID)) if e.event == "WARNING"]
    assert told == (["WARNING"] if stays else [])
