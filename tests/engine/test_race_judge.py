"""A judge whose account was closed after its call is claimed, started by nobody, and ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from tests.adapters.store.store_actions import open_test_store
from tests.adapters.store.test_accounts import limit_account
from tests.adapters.store.test_race_judges import RACING, start_tie
from tests.adapters.store.test_races import RUN, record
from tests.builders import MINUTE, HandClock
from yaoki.adapters.store import SqlStore
from yaoki.core.model import Run, Stage, State, Task
from yaoki.core.model.stage_report import StageDeferred
from yaoki.engine.branch_guard import BranchGuard
from yaoki.engine.claim_context import ClaimContext
from yaoki.engine.loop.worker import Worker
from yaoki.engine.stages.stages import Stages
from yaoki.ports import Claimant

pytestmark = pytest.mark.spec("18.4", "18.6")

ONE = Claimant("host:1", MINUTE)


class CountingStages:
    """Stages that start nothing, and count the tasks that were to be prepared."""

    def __init__(self) -> None:
        self.prepared: list[str] = []
        self.work = self.verify = self.land = self.prepare

    def prepare(self, run: Run, task: Task, claim: ClaimContext) -> Any:
        self.prepared.append(task.spec.name)
        return StageDeferred("enough", timedelta(hours=9))

    def clean_up_race(self, run: Run, task: Task) -> str:
        return ""

    def remove_worktree(self, run: Run, task: Task) -> str:
        return ""


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def store(tmp_path: Path, clock: HandClock) -> Iterator[SqlStore]:
    made = open_test_store(tmp_path / "state.db", clock)
    yield made
    made.close()


def run_judge(store: SqlStore, clock: HandClock) -> CountingStages:
    stages = CountingStages()
    worker = Worker(store, cast(Stages, stages), cast(BranchGuard, None), clock, ONE)
    (judge,) = worker.claim(1, [])
    assert judge.spec.name == "a~1.judge"
    worker.run_task(judge, lambda: None, nullcontext)
    return stages


def tie_with_limit(store: SqlStore, clock: HandClock) -> None:
    start_tie(store)
    first, second, other = store.claim(ONE, 3)
    record(store, first)
    record(store, second)
    limit_account(store, other, clock, timedelta(hours=3))


def test_a_closed_account_ends_the_judge_and_the_race_is_decided_without_it(
    store: SqlStore, clock: HandClock
) -> None:
    tie_with_limit(store, clock)

    stages = run_judge(store, clock)

    assert stages.prepared == []
    assert store.task(RACING).stage is Stage.VERIFY
    (settled,) = (e.data for e in store.journal(run_id=RUN) if e.event == "JUDGE_SETTLED")
    assert settled["message"].startswith("the account careful is closed: ")
    assert store.task(store.task(RACING).judge).state is State.REPLACED


def test_a_judge_may_be_the_task_that_tries_an_account_first(
    store: SqlStore, clock: HandClock
) -> None:
    tie_with_limit(store, clock)
    clock.advance(timedelta(hours=4))

    stages = run_judge(store, clock)

    assert stages.prepared == ["a~1.judge"]
