"""What every peer shares: the no-op task itself, and how a script of a peer is called.

`python dbos_peer.py fill|work SQLITE_FILE|URL COUNT|STAMPS_FOLDER`.  Runs in the peers' own
environment, so nothing of yaoki is imported.  Each task writes its instant to a file of its
process: the same microsecond of measuring for everybody.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

_open: list[int] = []


def noop() -> None:
    """The task."""
    os.write(_open[0], struct.pack("d", time.monotonic()))


def main(fill: Callable[[str, int], None], work: Callable[[str], None]) -> None:
    what, where, last = sys.argv[1:]
    if what == "fill":
        began = time.monotonic()
        fill(where, int(last))
        print(json.dumps({"seconds": time.monotonic() - began}))
        return
    file = Path(last) / f"{os.getpid()}.stamps"
    _open.append(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    work(where)


def on_server(where: str) -> bool:
    return where.startswith("postgresql:")


def alchemy(where: str) -> str:
    """The same place in SQLAlchemy's words."""
    if on_server(where):
        return where.replace("postgresql:", "postgresql+psycopg:", 1)
    return f"sqlite:///{where}"


def wal(where: str) -> None:
    """WAL is kept in the file; FULL is SQLite's default, and nobody here lowers it."""
    if not on_server(where):
        import sqlite3

        link = sqlite3.connect(where)
        link.execute("PRAGMA journal_mode = WAL")
        assert link.execute("PRAGMA synchronous").fetchone() == (2,), "SQLite is not at FULL"
        link.close()
