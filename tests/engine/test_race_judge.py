"""The judge of a race: its prompt, and its end when its account was closed after its call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.adapters.store.store_actions import open_test_store
from tests.adapters.store.test_accounts import limit_account
from tests.adapters.store.test_race_judges import RACING, start_tie
from tests.adapters.store.test_races import RUN, record
from tests.builders import MINUTE, HandClock, a_spec, a_task
from yaoki.adapters.store import SqlStore
from yaoki.core.model import (
    ComparedWork,
    JudgingBrief,
    Run,
    Stage,
    State,
    Task,
    TaskId,
    TaskKind,
)
from yaoki.core.model.stage_report import StageDeferred
from yaoki.engine.branch_guard import BranchGuard
from yaoki.engine.claim_context import ClaimContext
from yaoki.engine.loop.worker import Worker
from yaoki.engine.stages.race_judge import RaceJudgeStages
from yaoki.engine.stages.stages import Stages
from yaoki.ports import Claimant, Workspace

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


def test_the_prompt_has_no_name_of_a_commit() -> None:
    """Git's note about a diff that is too long names both; a judge could look them up."""
    works = (ComparedWork(TaskId("r-2"), "x~1.1", "ba5e1", "c0ffee1"),)
    task = a_task(spec=a_spec(kind=TaskKind.JUDGE, judging_brief=JudgingBrief(works)))
    contents = SimpleNamespace(diff=lambda old, new: f"+a\n… 9 more bytes: git diff {old} {new}\n")
    workspace = cast(Workspace, SimpleNamespace(contents=contents))

    prompt = RaceJudgeStages(workspace, lambda _: "").prompt(task)

    assert "+a\n… 9 more bytes" in prompt
    assert not {"ba5e1", "c0ffee1", "r-2", "x~1.1"} & set(prompt.split())


def test_a_judge_may_be_the_task_that_tries_an_account_first(
    store: SqlStore, clock: HandClock
) -> None:
    tie_with_limit(store, clock)
    clock.advance(timedelta(hours=4))

    stages = run_judge(store, clock)

    assert stages.prepared == ["a~1.judge"]
