"""A worker's claim on a task, as the stages see it: when to stop, and what to report meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from enum import StrEnum
from typing import Any, Protocol

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.machine.events import Event
from yaoki.core.model import QueueChoice, Task, TaskId
from yaoki.core.settings.budget import SpendLeft


class StopReason(StrEnum):
    """The reason why a worker must stop working on a task before its stage is finished."""

    CANCEL = "cancel"
    # The worker was asked to stop.
    STOP = "stop"
    # The worker itself failed; its agents end as if nobody renewed their leases.
    WORKER_FAILED = "lease"
    LOST = "lost"

    @property
    def ends_worker(self) -> bool:
        return self in {StopReason.STOP, StopReason.WORKER_FAILED}


class ClaimSuperseded(Exception):
    """The claim was lost while the stage ran; nothing may be recorded."""


StopCheck = Callable[[], StopReason | None]
SlotRelease = Callable[[], AbstractContextManager[None]]


class QueueView(Protocol):
    """The merge queue as one task sees it; every call reads the store."""

    def members(self) -> Collection[TaskId]:
        """The tasks on whose candidates this one may be built."""

    def companions(self) -> Sequence[Task]:
        """The tasks whose verified work may be joined with this one's."""

    def must_yield(self) -> bool:
        """Must a queued task land before this one?"""

    def must_lead(self, waited: timedelta) -> bool:
        """Must this task, which waits to be taken along, enter the queue itself?"""

    def choose_entry(self) -> QueueChoice | None:
        """The place of the next candidate: in the queue, or on the branch as it is."""

    def are_waiting(self, parts: Mapping[TaskId, str]) -> bool:
        """Do these tasks still wait for the landing of these commits?"""


class EmptyQueue:
    """The queue of a commit that no task made."""

    def members(self) -> Collection[TaskId]:
        return frozenset()

    def companions(self) -> Sequence[Task]:
        return ()

    def must_yield(self) -> bool:
        return False

    def must_lead(self, waited: timedelta) -> bool:
        return True

    def choose_entry(self) -> QueueChoice | None:
        return None

    def are_waiting(self, parts: Mapping[TaskId, str]) -> bool:
        return not parts


@dataclass(frozen=True, slots=True)
class ClaimContext:
    """The claim as a stage sees it: its state, and the way to report progress.

    `stop_reason` knows what the last heartbeat knew.  `confirm_claim` asks the store and returns
    only while the claim is valid: call it before anything that cannot be undone.
    `note` writes a journal note for people, `record` an event that the next worker needs if this
    one dies.  `release_slot` frees the slot while the task only waits.  `queue` is the merge queue
    of its branch.  `spend_left` is the rest of each budget of the run and the day, without what
    running agents use.  `environment` holds the task's own variables.
    """

    stop_reason: StopCheck
    note: Callable[[str, Mapping[str, Any]], None]
    record: Callable[[Event], None]
    confirm_claim: Callable[[], None]
    queue: QueueView
    release_slot: SlotRelease
    spend_left: Callable[[], tuple[SpendLeft, ...]]
    environment: Mapping[str, str]

    def warn(self, message: str) -> None:
        self.note("WARNING", {"message": message})


WriteNote = Callable[[str, Mapping[str, Any]], None]


def unclaimed_context(note: WriteNote) -> ClaimContext:
    """The context for checking a commit without a claim, as merge and undo do.

    `note` writes to the journal of the run.  It never permits a landing.
    """

    def refuse() -> None:
        raise ClaimSuperseded

    def refuse_event(_: Event) -> None:
        raise ClaimSuperseded

    return ClaimContext(
        stop_reason=lambda: None,
        note=note,
        record=refuse_event,
        confirm_claim=refuse,
        queue=EmptyQueue(),
        release_slot=nullcontext,
        spend_left=tuple,
        environment={},
    )
