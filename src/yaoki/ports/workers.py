"""The workers of a store, as each last reported itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from yaoki.core.model import TaskId

# Which tasks a claim may take: all; only those already begun; or only those that start no agent.
ALL, BEGUN, NOTHING_NEW = "all", "begun", "nothing-new"


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What a worker reports about itself.  `runs` is empty when it serves all runs.

    `idle_reason` says why it starts nothing new; `activity` is SERVING or STOPPING.
    """

    holder: str
    host: str
    name: str
    slots: int
    tags: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    idle_reason: str = ""
    activity: str = "SERVING"
    background: bool = False


@dataclass(frozen=True, slots=True)
class WorkerSeen:
    """A worker that reported itself recently, and the tasks it holds."""

    worker: WorkerInfo
    since: datetime
    last_beat: datetime
    tasks: tuple[TaskId, ...] = ()
