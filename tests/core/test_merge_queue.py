"""The merge queue: which tasks are queued, and which one lands first."""

from __future__ import annotations

import pytest

from tests.builders import an_active_task
from yaoki.core.decide.merge_queue import CompetingTask, must_yield, queue_members
from yaoki.core.model import Stage, Task, TaskId, Work

REFUSED, FRESH = CompetingTask(TaskId("r-1"), 1), CompetingTask(TaskId("r-2"), 0)


def at(stage: Stage, refused: int, proven: str = "c", onto: str = "b") -> Task:
    return an_active_task(
        stage, n=5, work=Work(landing_refusals=refused, verified_commit=proven, onto=onto)
    )


@pytest.mark.spec("3.4", "13.1")
def test_a_task_with_a_refused_landing_is_queued_with_the_others() -> None:
    task = at(Stage.VERIFY, 1)

    assert queue_members(task, [REFUSED, FRESH]) == {task.id, REFUSED.id}


@pytest.mark.spec("3.4", "13.1")
def test_a_task_without_a_refused_landing_lands_after_the_queue_members() -> None:
    assert must_yield(at(Stage.LAND, 0), [REFUSED])
    assert not must_yield(at(Stage.LAND, 0), [FRESH])
    assert not must_yield(at(Stage.LAND, 1), [REFUSED])
    assert not must_yield(at(Stage.LAND, 0, proven="b"), [REFUSED]), "it moves nothing"
    assert not must_yield(at(Stage.VERIFY, 0), [REFUSED]), "it is not about to land"
    assert must_yield(at(Stage.LAND, 0), [FRESH, REFUSED]), "one of many is enough"
