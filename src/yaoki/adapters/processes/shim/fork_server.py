"""The shim read once and kept: each line names a folder, and a copy of this process carries it.

Whatever a killed shim leaves behind becomes a child of this process, whoever it pretends to be, and
is ended when we are asked for that: the line says `null` then.
"""

from __future__ import annotations

import ctypes  # noqa: F401 - read here once instead of in each copy
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
    """Until nobody asks any more; the copies live on."""
    # Who ignores this signal need not collect its children; each copy sets its own.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    become_subreaper()
    gc.freeze()
    shims: dict[int, str] = {}
    while line := sys.stdin.buffer.readline():
        try:
            told = _answer(json.loads(line), shims)
        except OSError as error:
            told = f"cannot: {error.strerror}"
        sys.stdout.write(told + "\n")
        sys.stdout.flush()


def _answer(asked: str | None, shims: dict[int, str]) -> str:
    """`shims` are the copies with their beginnings: a number can be given to another."""
    if asked is None:
        return str(_sweep(shims))
    pid = _copied(asked)
    if PROC:
        shims[pid] = _beginning(pid)
    return str(pid)


def _beginning(pid: int) -> str:
    try:
        return read_stat_fields(pid)[19]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _sweep(shims: dict[int, str]) -> int:
    """End every child that is no shim, and what it started; returns how many there are still."""
    give_up = time.monotonic() + SWEEP_S_MAX
    while orphans := _orphans(shims):
        if time.monotonic() > give_up:
            return len(orphans)
        # What is stopped starts no new processes.
        send_signal(orphans, signal.SIGSTOP)
        send_signal(_orphans(shims), signal.SIGKILL)
        time.sleep(POLL_S_MIN)
    return 0


def _orphans(shims: dict[int, str]) -> set[int]:
    if not PROC:
        return set()
    table, own = read_proc_table(), os.getpid()
    mine = [pid for pid, (parent, _) in table.items() if parent == own]
    for pid in [pid for pid, start in shims.items() if pid not in mine or _beginning(pid) != start]:
        del shims[pid]
    strange = {pid for pid in mine if pid not in shims}
    return strange | {pid for orphan in strange for pid in find_descendants(orphan, table)}


def _copied(folder: str) -> int:
    """Start a copy and tell its number.  What can fail for want of space comes before the fork."""
    log = os.open(f"{folder}/shim.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        if pid := os.fork():
            return pid
        _carry(folder, log)
    finally:
        os.close(log)


def _carry(folder: str, log: int) -> NoReturn:
    """In the copy: as if it had been started alone."""
    code = 1
    try:
        os.setsid()
        for target, descriptor in enumerate((os.open(os.devnull, os.O_RDONLY), log, log)):
            os.dup2(descriptor, target)
        main(folder)
        code = 0
    except BaseException:  # noqa: BLE001 - told in shim.log, and this process ends
        sys.excepthook(*sys.exc_info())
    finally:  # whatever happened, a second stem must not go on from here
        exit_now(code)
