"""What a worker remembers of its own tasks before the store knows it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import a_task
from yaoki.core.model import CompetingTask, Stage, Task, TaskId
from yaoki.engine.loop.queue_view import ProofMemory


def seen_at_work(task: Task) -> CompetingTask:
    return CompetingTask(
        id=task.id,
        stage=Stage.WORK,
        is_queued=False,
        was_refused=False,
        attempt=task.attempt,
        spec=task.spec,
    )


def four_tasks() -> list[Task]:
    return [replace(a_task(), id=TaskId(f"r/t{n}"), attempt=1) for n in range(4)]


@pytest.mark.spec("17.7")
def test_tasks_that_end_together_see_what_the_others_chose() -> None:
    memory, tasks = ProofMemory(), four_tasks()
    shown = [seen_at_work(task) for task in tasks]
    choices = [
        memory.choose_entry(task, [one for one in shown if one.id != task.id]) for task in tasks
    ]
    assert [choice.ahead for choice in choices] == [0, 1, 2, 2]
    assert [choice.enters for choice in choices] == [True, True, False, False]


@pytest.mark.spec("17.7")
def test_a_choice_of_an_earlier_attempt_says_nothing_about_the_next_one() -> None:
    memory, (first, second, *_) = ProofMemory(), four_tasks()
    assert memory.choose_entry(first, ()).enters
    again = replace(seen_at_work(first), attempt=2)
    assert memory.choose_entry(second, [again]).ahead == 0


@pytest.mark.spec("17.7")
def test_the_store_decides_as_soon_as_it_shows_the_next_stage() -> None:
    memory, (first, second, *_) = ProofMemory(), four_tasks()
    assert memory.choose_entry(first, ()).enters
    landing = replace(seen_at_work(first), stage=Stage.LAND, is_queued=True)
    assert memory.choose_entry(second, [landing]).ahead == 0
