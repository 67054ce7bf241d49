"""Notices to people: written with the change they tell of, sent later, at least once."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from yaoki.core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing a person should hear of, for one channel.

    `event` is the journal's name of what happened; `body` is at most a few hundred characters and
    ends with the next command.  `id` stays the same however often it is sent, so that a receiver
    can drop what it has already.
    """

    id: int
    channel: str
    at: datetime
    run_id: str
    task_id: str
    event: str
    subject: str
    body: str
    tries: int = 0


class Channel(Protocol):
    """One way to reach a person."""

    def send(self, notice: Notice) -> None:
        """Deliver it or raise `NoticeFailed`; never silently drop it."""
