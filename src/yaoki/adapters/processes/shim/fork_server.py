"""The fork server: loads the shim once; each input line names a folder, for which it forks a shim.

Processes that a killed shim leaves behind become children of this process, whatever environment
they have.  The line `null` requests to end them.
"""

from __future__ import annotations

import ctypes  # noqa: F401 - loaded here once instead of in each fork
import gc
import json
import os
import signal
import sys
import time

from yaoki.adapters.processes.shim.main import exit_now, main
from yaoki.adapters.processes.shim.process_table import (
    PROC,
    become_subreaper,
    find_descendants,
    read_proc_table,
    read_stat_fields,
)
from yaoki.adapters.processes.shim.signals import POLL_S_MIN, send_signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

SWEEP_S_MAX = 10.0


def serve() -> None:
    """Runs until the input closes; the forked shims live on."""
    # With this signal ignored, children need not be reaped; each fork sets its own handler.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    become_subreaper()
    gc.freeze()
    shims: dict[int, str] = {}
    while line := sys.stdin.buffer.readline():
        try:
            reply = _answer(json.loads(line), shims)
        except OSError as error:
            reply = f"cannot: {error.strerror}"
        sys.stdout.write(reply + "\n")
        sys.stdout.flush()


def _answer(folder: str | None, shims: dict[int, str]) -> str:
    """`shims`: process ids with their start times, because a process id can be reused."""
    if folder is None:
        return str(_sweep(shims))
    pid = _fork_shim(folder)
    if PROC:
        shims[pid] = _start_time(pid)
    return str(pid)


def _start_time(pid: int) -> str:
    try:
        return read_stat_fields(pid)[19]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _sweep(shims: dict[int, str]) -> int:
    """Ends every child that is no shim, with its descendants; returns how many remain."""
    deadline = time.monotonic() + SWEEP_S_MAX
    while orphans := _orphans(shims):
        if time.monotonic() > deadline:
            return len(orphans)
        # A stopped process starts no new processes.
        send_signal(orphans, signal.SIGSTOP)
        send_signal(_orphans(shims), signal.SIGKILL)
        time.sleep(POLL_S_MIN)
    return 0


def _orphans(shims: dict[int, str]) -> set[int]:
    if not PROC:
        return set()
    table, own = read_proc_table(), os.getpid()
    children = [pid for pid, (parent, _) in table.items() if parent == own]
    for pid in [
        pid for pid, start in shims.items() if pid not in children or _start_time(pid) != start
    ]:
        del shims[pid]
    unknown = {pid for pid in children if pid not in shims}
    return unknown | {pid for orphan in unknown for pid in find_descendants(orphan, table)}


def _fork_shim(folder: str) -> int:
    """Opens the log before the fork, because that can fail on a full disk."""
    log = os.open(f"{folder}/shim.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        if pid := os.fork():
            return pid
        _run_shim(folder, log)
    finally:
        os.close(log)


def _run_shim(folder: str, log: int) -> NoReturn:
    """Run in the fork as if started alone."""
    code = 1
    try:
        os.setsid()
        for target, descriptor in enumerate((os.open(os.devnull, os.O_RDONLY), log, log)):
            os.dup2(descriptor, target)
        main(folder)
        code = 0
    except BaseException:  # noqa: BLE001 - logged in shim.log, and this process ends
        sys.excepthook(*sys.exc_info())
    finally:  # in any case: a second fork server must not continue from here
        exit_now(code)
