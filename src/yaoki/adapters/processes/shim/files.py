"""The files of the folder, written atomically and never through a link, and its lock."""

from __future__ import annotations

import fcntl
import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def log_line(line: str) -> None:
    """Append to shim.log; if its disk is full, the line is lost."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:  # contextlib would slow every start
        return


def record(name: str, facts: dict[str, Any], *, durable: bool = True) -> None:
    """Writes a file atomically; `durable` survives a power failure as well."""
    temporary = f"{name}.tmp"
    discard(temporary)
    # Created again, so that no link of the agent is followed.
    with open(temporary, "x", encoding="utf-8") as file:
        json.dump(facts, file)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    os.replace(temporary, name)
    if durable:
        folder = os.open(".", os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def discard(name: str) -> None:
    if os.path.lexists(name):
        os.unlink(name)


def make_temporary_folder(parent: str) -> str:
    """A new folder for one process; empty if none is wanted or possible.

    The path is short: programs put sockets there, whose paths may have about a hundred characters.
    """
    if not parent:
        return ""
    path = os.path.join(parent, f"yaoki-{os.urandom(5).hex()}")
    try:
        os.mkdir(path, 0o700)
    except OSError as error:
        log_line(f"{path}: {error}; the temporary folder is shared")
        return ""
    return path


def delete_folder(path: str) -> None:
    """Delete what a process left in its temporary folder, as far as possible."""
    if not path:
        return
    try:
        os.rmdir(path)
    except OSError:
        import shutil  # slow, and most folders are empty

        shutil.rmtree(path, ignore_errors=True)


def take_lock() -> bool:
    """Locks the folder until this process ends; no child inherits the descriptor."""
    try:
        fcntl.flock(os.open("lock", os.O_RDWR | os.O_CREAT, 0o600), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
