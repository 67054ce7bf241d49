"""Process trees that outlive their worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from yaoki.core.model import EndCause

OUTBOX = "outbox"
# Set for an agent in the sandbox: the store is out of its reach.
SANDBOX_VARIABLE = "YAOKI_SANDBOX"
# Beside the worktrees: what the commands of a task have for themselves inside the sandbox.
SANDBOX_FOLDERS_NAME = ".lent"


def outbox(folder: Path) -> Path:
    """The part of a process folder that the process itself may write.

    Beside it lies what decides: lock, start, exit, lease, end and logs, written by its shim alone.
    """
    return folder / OUTBOX


@dataclass(frozen=True, slots=True)
class Launch:
    """A command to run in its own session under a shim.

    `env` is the whole environment the child gets.  Its stdin is closed unless
    `stdin` holds text.  Zero for a limit means none.  `secrets` are values that nobody finds
    in what it said, once it has ended.  In a sandbox it may write to `writable` besides where it
    works.
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


@dataclass(frozen=True, slots=True)
class ProcessState:
    """How a launched process stands, seen from its folder.

    `phase` is absent (never started), running, exited (exit facts present) or gone (started,
    but its shim died without recording an exit).
    """

    phase: str
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
        """Start it, at most once per folder however often this is called."""

    def inspect(self, folder: Path) -> ProcessState: ...

    def renew_lease(self, folder: Path) -> None:
        """Tell the shim that somebody still holds the lease."""

    def end(self, folder: Path, why: EndCause) -> ProcessState:
        """End the whole tree, detached grandchildren included, and say how it stands then."""
