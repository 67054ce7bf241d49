"""Who serves a store: each worker as it last told of itself."""

from __future__ import annotations

from datetime import datetime

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import TaskId

# Which tasks a claim may take: all; of those not begun none; or only what starts no agent.
ALL, BEGUN, NOTHING_NEW = "all", "begun", "nothing-new"


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What a worker tells of itself.  `runs` is empty when it serves all of them.

    `waits` says why it begins nothing new, `doing` is SERVING or STOPPING.
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
    """A worker that told of itself not long ago, and the tasks it holds."""

    worker: WorkerInfo
    since: datetime
    last_beat: datetime
    tasks: tuple[TaskId, ...] = ()
