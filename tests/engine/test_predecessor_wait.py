"""Tasks that wait for those they are built on: which slot they keep, and for how long."""

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
from yaoki.engine.claim_context import ClaimContext
from yaoki.engine.stages.predecessor_wait import PREDECESSOR_WAIT_MAX, PredecessorWait
from yaoki.ports import Workspace

RUN = a_run()


class Queue:
    """A branch that comes to the wanted commit after so many looks; None for never."""

    def __init__(self, looks: int | None) -> None:
        self._looks = looks

    def is_in_merge_queue(self, run: Run, commit: str, queue_members: object) -> bool:
        if self._looks is None:
            return True
        self._looks -= 1
        return self._looks >= 0

    def branch_contains(self, run: Run, commit: str) -> bool:
        return True


def riding(looks: int | None) -> PredecessorWait:
    queue = Queue(looks)
    workspace = SimpleNamespace(branches=queue, landings=queue)
    return PredecessorWait(cast(Workspace, workspace), HandClock())


def waiting(stage: Stage) -> Task:
    return replace(a_task(), stage=stage, work=Work(landing_refusals=1))


def lending(slots: list[str]) -> Callable[[], AbstractContextManager[None]]:
    @contextmanager
    def lent() -> Iterator[None]:
        slots.append("lent")
        yield

    return lent


@pytest.mark.spec("11.6", "11.5")
def test_a_slot_is_lent_only_in_the_stage_that_the_store_does_not_count() -> None:
    """The store counts every task but those that land.  A task that waited in verify lent its slot
    in the pool and was counted by the store: two rules for one slot.
    """
    slots: list[str] = []
    hold = replace(ClaimContext(stop_reason=lambda: ""), release_slot=lending(slots))

    riding(2).discard_if_predecessor_failed(RUN, waiting(Stage.VERIFY), "c0ffee", hold)
    in_verify = list(slots)
    riding(2).wait_for_predecessor(RUN, waiting(Stage.LAND), "c0ffee", hold)

    assert in_verify == []
    assert slots == ["lent"]


@pytest.mark.spec("0.4")
def test_a_wait_for_others_in_the_queue_ends() -> None:
    """A queue that never moves must not hold a thread for ever: the task is claimed again later."""
    hold = ClaimContext(stop_reason=lambda: "")

    told = riding(None).wait_for_predecessor(RUN, waiting(Stage.LAND), "c0ffee", hold)

    assert isinstance(told, StageDeferred)
    assert f"{PREDECESSOR_WAIT_MAX.total_seconds():.0f} s" in told.reason
