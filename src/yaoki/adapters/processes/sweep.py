"""The last resort for processes whose shim was killed: finds them by their environment."""

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
    """Kills every process with the mark and its descendants; stops all of them first."""
    if not mark:
        return
    deadline = time.monotonic() + SWEEP_S_MAX
    while processes := _find_marked(mark):
        if time.monotonic() > deadline:
            count = format_count(len(processes), "process", "processes")
            raise Fault(f"{count} of a lost agent cannot be ended", transient=True)
        _call(processes, "suspend")
        _call(_find_marked(mark), "kill")
        time.sleep(0.01)


def _find_marked(mark: str) -> set[Process]:
    """Marked processes and their descendants, which may have cleared their environment."""
    import psutil

    processes: set[Process] = set()
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK_VARIABLE) == mark:
                processes |= {process, *process.children(recursive=True)}
        except psutil.Error:
            continue  # gone meanwhile, or of another user
    return {process for process in processes if process.pid != os.getpid() and _is_alive(process)}


def _is_alive(process: Process) -> bool:
    import psutil

    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _call(processes: set[Process], method: str) -> None:
    import psutil

    for process in processes:
        try:
            getattr(process, method)()
        except psutil.Error:
            continue  # the next round shows whether it is alive
