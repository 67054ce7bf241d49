"""The runs of a store that is not opened: of another checkout, which its own commands repair."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

WAIT_S = 5


def read_run_ids(path: Path) -> frozenset[str] | None:
    """The runs in the file of a store; None if it cannot be read."""
    try:
        address = f"{path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=WAIT_S)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            return frozenset(str(run) for (run,) in connection.execute("SELECT id FROM runs"))
    except (sqlite3.Error, OSError):
        return None
