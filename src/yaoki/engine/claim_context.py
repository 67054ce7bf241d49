"""A worker's claim on a task, as the stages see it: when to stop, and what to report meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.machine.events import Event
from yaoki.ports import QueueMembers


class StopReason(StrEnum):
    """The reason why a worker must stop working on a task before its stage is finished."""

    CANCEL = "cancel"
    STOP = "stop"
    LOST = "lost"


class ClaimSuperseded(Exception):
    """The claim was lost while the stage ran; nothing may be recorded."""


StopCheck = Callable[[], StopReason | None]
SlotRelease = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class ClaimContext:
    """The claim as a stage sees it: its state, and the way to report progress.

    `stop_reason` knows what the last heartbeat knew.  `confirm_claim` asks the store and returns
    only while the claim is valid: call it before anything that cannot be undone.
    `note` writes a journal note for people, `record` an event that the next worker needs if this
    one dies.  `must_yield` says that another task must land first, `queue_members` names the tasks
    on whose candidates this one may be built.  `release_slot` frees the slot while the task only
    waits.  `environment` holds the task's own variables.
    """

    stop_reason: StopCheck
    note: Callable[[str, Mapping[str, Any]], None]
    record: Callable[[Event], None]
    confirm_claim: Callable[[], None]
    must_yield: Callable[[], bool]
    queue_members: QueueMembers
    release_slot: SlotRelease
    environment: Mapping[str, str]

    def warn(self, message: str) -> None:
        self.note("WARNING", {"message": message})


def unclaimed_context() -> ClaimContext:
    """The context for checking a commit without a claim, as merge and undo do.

    It has no store: there is no journal to write to, and it never permits a landing.
    """

    def refuse() -> None:
        raise ClaimSuperseded

    def refuse_event(_: Event) -> None:
        raise ClaimSuperseded

    return ClaimContext(
        stop_reason=lambda: None,
        note=lambda _name, _data: None,
        record=refuse_event,
        confirm_claim=refuse,
        must_yield=lambda: False,
        queue_members=frozenset,
        release_slot=nullcontext,
        environment={},
    )
