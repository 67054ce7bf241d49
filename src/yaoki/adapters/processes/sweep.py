"""The last resort against processes whose shim was killed: find them by their environment."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from yaoki.core.text import format_count
from yaoki.errors import Fault

if TYPE_CHECKING:
    from psutil import Process

MARK_VARIABLE = "INVOCATION_ID"
SWEEP_S_MAX = 10.0


def kill_marked_processes(mark: str) -> None:
    """Kill every process that carries the mark, and what those started; stop them all first."""
    if not mark:
        return
    give_up = time.monotonic() + SWEEP_S_MAX
    while found := _family(mark):
        if time.monotonic() > give_up:
            left = format_count(len(found), "process", "processes")
            raise Fault(f"{left} of a lost agent cannot be ended", transient=True)
        _send(found, "suspend")
        _send(_family(mark), "kill")
        time.sleep(0.01)


def _family(mark: str) -> set[Process]:
    """The marked, and their children: those may have cleared their environment."""
    import psutil

    found: set[Process] = set()
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK_VARIABLE) == mark:
                found |= {process, *process.children(recursive=True)}
        except psutil.Error:
            continue  # gone meanwhile, or another user's and so not ours
    return {process for process in found if process.pid != os.getpid() and _lives(process)}


def _lives(process: Process) -> bool:
    import psutil

    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _send(processes: set[Process], what: str) -> None:
    import psutil

    for process in processes:
        try:
            getattr(process, what)()
        except psutil.Error:
            continue  # the next look tells whether it still lives
