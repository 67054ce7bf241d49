"""The workers of a store, each as its last heartbeat described it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum, unique
from typing import TYPE_CHECKING

from yaoki.core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from yaoki.core.model import TaskId


@unique
class ClaimScope(StrEnum):
    """The tasks that a claim may take: all; no task that needs a new worktree; none that starts an
    agent.
    """

    ALL = "all"
    BEGUN = "begun"
    NOTHING_NEW = "nothing-new"


ALL, BEGUN, NOTHING_NEW = ClaimScope.ALL, ClaimScope.BEGUN, ClaimScope.NOTHING_NEW


def _is_never_alive(_: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Claimant:
    """A worker that claims tasks for the time of its `lease`.

    All workers of `host` together hold at most `host_max` tasks; 0 means no limit.  A holder that
    `is_alive` on this machine keeps its task for a while after its lease expired.  Tasks that need
    more than `tags`, or a person's work that is in another `place`, are left to other workers.
    """

    holder: str
    lease: timedelta
    host: str = ""
    host_max: int = 0
    is_alive: Callable[[str], bool] = _is_never_alive
    tags: frozenset[str] = frozenset()
    place: str = ""


@unique
class WorkerActivity(StrEnum):
    """STOPPING: the worker finishes what it holds and claims nothing more."""

    SERVING = "SERVING"
    STOPPING = "STOPPING"


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker's description of itself.  `runs` is empty when it serves all of them.

    `idle_reason` says why it starts nothing new.
    """

    holder: str
    host: str
    name: str
    slots: int
    tags: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    idle_reason: str = ""
    activity: WorkerActivity = WorkerActivity.SERVING
    background: bool = False


@dataclass(frozen=True, slots=True)
class WorkerSeen:
    """A worker with a recent heartbeat, and the tasks that it holds."""

    worker: WorkerInfo
    since: datetime
    last_beat: datetime
    tasks: tuple[TaskId, ...] = ()
