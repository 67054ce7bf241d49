"""Who builds on whose candidate when several tasks land on the same line, and who lands first."""

from __future__ import annotations

import pytest

from tests.builders import an_active_task
from yaoki.core.decide.merge_queue import Contender, gives_way, riders
from yaoki.core.model import Stage, Task, TaskId, Work

REFUSED, FRESH = Contender(TaskId("r-1"), 1), Contender(TaskId("r-2"), 0)


def at(stage: Stage, refused: int, proven: str = "c", onto: str = "b") -> Task:
    return an_active_task(stage, n=5, work=Work(refused=refused, proven=proven, onto=onto))


@pytest.mark.spec("3.4", "13.1")
def test_who_was_refused_rides_with_all_others_who_were() -> None:
    task = at(Stage.VERIFY, 1)

    assert riders(task, [REFUSED, FRESH]) == {task.id, REFUSED.id}


@pytest.mark.spec("3.4", "13.1")
def test_who_was_never_refused_lands_after_those_who_ride() -> None:
    assert gives_way(at(Stage.LAND, 0), [REFUSED])
    assert not gives_way(at(Stage.LAND, 0), [FRESH])
    assert not gives_way(at(Stage.LAND, 1), [REFUSED])
    assert not gives_way(at(Stage.LAND, 0, proven="b"), [REFUSED]), "it moves nothing"
