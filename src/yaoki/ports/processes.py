"""Process trees that outlive their worker."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum, unique
from pathlib import Path
from typing import Protocol

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import EndCause

OUTBOX = "outbox"
# Set for an agent in the sandbox, which cannot reach the store.
SANDBOX_VARIABLE = "YAOKI_SANDBOX"
# The folder beside the worktrees with the private folders of tasks inside the sandbox.
SANDBOX_FOLDERS_NAME = ".lent"


def outbox(folder: Path) -> Path:
    """The part of a process folder that the process itself may write.

    The files that decide (lock, start, exit, lease, end, logs) are beside it; only the shim writes
    them.
    """
    return folder / OUTBOX


@dataclass(frozen=True, slots=True)
class Launch:
    """A command to run in its own session under a shim.

    `env` is the whole environment of the child.  Its stdin is closed unless `stdin` holds text.
    A limit of zero means no limit.  The values in `secrets` are masked in its output once it has
    ended.  In a sandbox it may write to `writable` besides its working directory.  Below
    `temporary`, if set, the child gets a temporary folder of its own, deleted when it has ended.
    Without `network` a sandbox has only its own loopback.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    stdin: str | None = None
    deadline: timedelta = timedelta(0)
    hang: timedelta = timedelta(0)
    lease: timedelta = timedelta(0)
    grace: timedelta = timedelta(seconds=2)
    output_bytes_max: int = 1 << 30
    secrets: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    temporary: str = ""
    network: bool = True


@unique
class ProcessPhase(StrEnum):
    """The phase of a launched process.

    ABSENT: never started.  EXITED: its exit is recorded.  GONE: it was started, but its shim died
    without recording an exit.
    """

    ABSENT = "absent"
    RUNNING = "running"
    EXITED = "exited"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class ProcessState:
    """The state of a launched process, read from its folder."""

    phase: ProcessPhase
    code: int | None = None
    signal: int | None = None
    ended_by: EndCause = EndCause.NONE
    seconds: float = 0.0
    quiet_seconds: float = 0.0
    output_bytes: int = 0
    start_error: str = ""
    start_errno: int = 0
    cwd_not_entered: bool = False


class Processes(Protocol):
    """Process trees that outlive their worker.  Every call names the tree by its folder."""

    def start(self, folder: Path, launch: Launch) -> None:
        """Start the process, at most once per folder, however often this is called."""

    def inspect(self, folder: Path) -> ProcessState: ...

    def pause(self, folder: Path, duration: timedelta) -> None:
        """Sleep for this long, or until the process ends, if that can be noticed."""

    def renew_lease(self, folder: Path) -> None:
        """Tell the shim that a worker still holds the lease."""

    def end(self, folder: Path, why: EndCause) -> ProcessState:
        """End the whole tree, detached grandchildren included, and return its final state."""
