"""What binds a carrier to its task, and how it learns that it must let go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.machine.events import Event
from yaoki.ports import QueueMembers


class ClaimSuperseded(Exception):
    """The claim was lost while the stage ran; nothing may be recorded."""


def _nobody() -> None:
    """Without a store behind it no claim is certain."""
    raise ClaimSuperseded


@dataclass(frozen=True, slots=True)
class ClaimContext:
    """Why the carrier of a task must let go: empty, `cancel`, `stop` or `lost`.

    `why` knows what the last heartbeat knew.  `confirm` asks the store itself and comes back only
    while the claim stands: before whatever cannot be taken back.
    `note` writes down what a person may want to know while the stage still runs, `record` what
    the next carrier must know if this one dies.  `yields` says that another task must land first,
    `riders` whose candidates this one may be built on.  While the carrier only waits, `lent` gives
    its slot to another.
    `environment` are the task's own variables.
    """

    stop_reason: Callable[[], str]
    note: Callable[[str, Mapping[str, Any]], None] = lambda _name, _data: None
    record: Callable[[Event], None] = lambda _: None
    confirm_claim: Callable[[], None] = _nobody
    must_yield: Callable[[], bool] = lambda: False
    queue_members: QueueMembers = frozenset
    release_slot: Callable[[], AbstractContextManager[None]] = nullcontext
    environment: Mapping[str, str] = field(default_factory=dict)

    def warn(self, words: str) -> None:
        self.note("WARNING", {"message": words})
