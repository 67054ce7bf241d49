"""The worker when a stage raises an unexpected error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from tests.adapters.store.store_actions import open_test_store, submit
from tests.builders import RUN_ID, HandClock, a_spec
from yaoki.adapters.store import SqlStore
from yaoki.core.model import Run, State, Task
from yaoki.engine.branch_guard import BranchGuard
from yaoki.engine.claim_context import ClaimContext
from yaoki.engine.loop.worker import TRACEBACK_CHARS_MAX, Worker
from yaoki.engine.stages.stages import Stages
from yaoki.ports import Claimant


class Broken:
    """Stages with a bug in the first one."""

    def __init__(self, depth: int = 0) -> None:
        self._depth = depth
        self.work = self.verify = self.land = self.prepare

    def prepare(self, run: Run, task: Task, claim: ClaimContext) -> Any:
        return self._sink(self._depth)

    def _sink(self, depth: int) -> Any:
        empty: dict[str, Any] = {}
        return self._sink(depth - 1) if depth else empty["the missing key"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    made = open_test_store(tmp_path / "state.db", HandClock())
    yield made
    made.close()


def a_worker(store: SqlStore, stages: Broken) -> Worker:
    return Worker(
        store,
        cast(Stages, stages),
        cast(BranchGuard, None),
        HandClock(),
        Claimant("host:1", timedelta(minutes=1), "host", host_max=1, is_alive=lambda _: True),
    )


def run_one_task(store: SqlStore, stages: Broken) -> Task:
    submit(store, a_spec("a"))
    worker = a_worker(store, stages)
    (task,) = worker.claim(1, [])
    done = worker.run_task(task, lambda: None, nullcontext)
    assert done is not None
    return done


@pytest.mark.spec("0.5", "4.8")
def test_an_internal_error_names_its_file_and_leaves_its_traceback(store: SqlStore) -> None:
    """A bug report said `internal error: KeyError('x') (get:12)`, without file or caller, and no
    log had more.
    """
    task = run_one_task(store, Broken())

    (warning,) = [e for e in store.journal(run_id=RUN_ID) if e.event == "WARNING"]
    assert task.state is State.WAITING
    assert task.failure is not None
    assert "internal error in PREPARE: KeyError('the missing key')" in task.failure.message
    assert "test_worker.py:" in task.failure.message
    assert f"yaoki trace {task.id}" in task.failure.message
    assert warning.task_id == task.id
    assert "in _sink" in warning.data["traceback"]
    assert warning.data["traceback"].rstrip().endswith("KeyError: 'the missing key'")


@pytest.mark.spec("0.4")
def test_a_traceback_in_the_journal_is_bounded(store: SqlStore) -> None:
    run_one_task(store, Broken(depth=400))

    (warning,) = [e for e in store.journal(run_id=RUN_ID) if e.event == "WARNING"]
    assert len(warning.data["traceback"]) <= TRACEBACK_CHARS_MAX
    assert warning.data["traceback"].rstrip().endswith("KeyError: 'the missing key'")
