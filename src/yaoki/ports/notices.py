"""Notices to people: stored with the change they report, sent later, at least once."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from yaoki.core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Notice:
    """A message to a person through one channel.

    `event` is the name of the event in the journal; `body` has at most a few hundred characters and
    ends with the next command.  `id` is the same each time the notice is sent, so that a receiver
    can drop duplicates.
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
    """A way to reach a person."""

    def send(self, notice: Notice) -> None:
        """Deliver the notice or raise `NoticeFailed`; never drop it silently."""
