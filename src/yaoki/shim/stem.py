"""The shim read once and kept: each line names a folder, and a copy of this process carries it."""

from __future__ import annotations

import ctypes  # noqa: F401 - read here once instead of in each copy
import gc
import json
import os
import signal
import sys

from yaoki.shim.carrying import leave, main

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def serve() -> None:
    """Until nobody asks any more; the copies live on."""
    # Who ignores this signal need not collect its children; each copy sets its own.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.freeze()
    while line := sys.stdin.buffer.readline():
        try:
            told = str(_copied(json.loads(line)))
        except OSError as error:
            told = f"cannot: {error.strerror}"
        sys.stdout.write(told + "\n")
        sys.stdout.flush()


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
        leave(code)
