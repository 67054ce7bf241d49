"""Tasks that wait for their predecessor in the merge queue: their slot, and how long they wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from tests.builders import HandClock, a_run, a_task
from yaoki.core.model import Run, Stage, Task, Work
from yaoki.core.model.stage_report import StageDeferred
from yaoki.core.text import format_duration
from yaoki.engine.claim_context import unclaimed_context
from yaoki.engine.stages.predecessor_wait import PREDECESSOR_WAIT_MAX, PredecessorWait
from yaoki.ports import Workspace

RUN = a_run()


class Queue:
    """A branch that reaches the wanted commit after this many polls; None for never."""

    def __init__(self, looks: int | None) -> None:
        self._looks = looks

    def is_in_merge_queue(self, run: Run, commit: str, queue_members: object) -> bool:
        if self._looks is None:
            return True
        self._looks -= 1
        return self._looks >= 0

    def branch_contains(self, run: Run, commit: str) -> bool:
        return True


def predecessor_wait(looks: int | None) -> PredecessorWait:
    queue = Queue(looks)
    workspace = SimpleNamespace(branches=queue, landings=queue)
    return PredecessorWait(cast(Workspace, workspace), HandClock())


def queued_task(stage: Stage) -> Task:
    return replace(a_task(), stage=stage, work=Work(landing_refusals=1))


def recording(slots: list[str]) -> Callable[[], AbstractContextManager[None]]:
    @contextmanager
    def release() -> Iterator[None]:
        slots.append("released")
        yield

    return release


@pytest.mark.spec("11.6", "11.5")
def test_a_slot_is_released_only_in_the_stage_that_the_store_does_not_count() -> None:
    """The store counts every task but those in LAND.  A task that waited in VERIFY released its
    slot in the pool and was still counted by the store: two rules for one slot.
    """
    slots: list[str] = []
    claim = replace(unclaimed_context(lambda _name, _data: None), release_slot=recording(slots))

    predecessor_wait(2).discard_if_predecessor_failed(
        RUN, queued_task(Stage.VERIFY), "c0ffee", claim
    )
    in_verify = list(slots)
    predecessor_wait(2).wait_for_predecessor(RUN, queued_task(Stage.LAND), "c0ffee", claim)

    assert in_verify == []
    assert slots == ["released"]


@pytest.mark.spec("0.4")
def test_the_wait_for_a_predecessor_ends() -> None:
    """A queue that never moves must not block a thread for ever: the task is claimed again."""
    claim = unclaimed_context(lambda _name, _data: None)

    report = predecessor_wait(None).wait_for_predecessor(
        RUN, queued_task(Stage.LAND), "c0ffee", claim
    )

    assert isinstance(report, StageDeferred)
    assert format_duration(PREDECESSOR_WAIT_MAX.total_seconds()) in report.reason
