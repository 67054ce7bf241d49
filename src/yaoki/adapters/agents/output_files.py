"""Bounded reads of the files that an agent left in its folder."""

from __future__ import annotations

import os
from pathlib import Path

from yaoki.adapters.system.files import open_plain_file

OUT, ERR = "out.log", "err.log"


def read_tail(file: Path, limit: int) -> str:
    """The last bytes of a log as text; empty if it is not a plain file."""
    with open_plain_file(file) as stream:
        if stream is None:
            return ""
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - limit))
        return stream.read(limit).decode("utf-8", errors="replace")


def log_size(file: Path) -> int:
    """Zero for a missing log."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def list_written_logs(folder: Path) -> tuple[Path, ...]:
    """The logs that are not empty, the newest first."""
    logs = [file for file in (folder / OUT, folder / ERR) if _modified_ns(file)]
    return tuple(sorted(logs, key=_modified_ns, reverse=True))


def list_newest_logs(folder: Path) -> tuple[Path, ...]:
    """The newest log; both if they were written in the same step of the file system's clock."""
    logs = list_written_logs(folder)
    return tuple(file for file in logs if _modified_ns(file) >= _modified_ns(logs[0]))


def last_write_s(folder: Path) -> float:
    """The time of the last write to a log, in seconds since the epoch."""
    return max(_modified_ns(folder / OUT), _modified_ns(folder / ERR)) / 1e9


def _modified_ns(file: Path) -> int:
    """Zero for an empty log: nothing was written to it."""
    try:
        facts = file.stat()
    except FileNotFoundError:
        return 0
    return facts.st_mtime_ns if facts.st_size else 0
