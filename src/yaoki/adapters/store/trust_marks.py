"""Trust marks: secrets in a store by which its user recognises it as made or trusted here.

They are read without opening the store, because opening a foreign one would repair and migrate it.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.store.paths import StorePaths

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Database, Transaction

MARK_BYTES = 24
MARKS_MAX = 1000
INSERT_TRUST_MARK = "INSERT INTO trust_marks (mark) VALUES (:mark)"
DELETE_TRUST_MARKS = "DELETE FROM trust_marks"


def make_trust_mark() -> str:
    """Make a mark that cannot be guessed, so a store that contains it was made or trusted by this
    user.
    """
    return os.urandom(MARK_BYTES).hex()


def read_trust_marks(path: Path) -> frozenset[str] | None:
    """The marks in a store's file: none if it cannot be read, None where there is no store.

    A file without tables is no store yet.  Backups and a journal file without a
    database would be restored to a store, so they count as one without marks.
    """
    if not path.exists():
        return frozenset() if StorePaths(path).was_used() else None
    try:
        address = f"{path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=30)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            names = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            if not names:
                return None
            if "trust_marks" not in names:
                return frozenset()
            rows = connection.execute("SELECT mark FROM trust_marks LIMIT ?", (MARKS_MAX,))
            return frozenset(str(mark) for (mark,) in rows)
    except (sqlite3.Error, OSError):
        return frozenset()


def add_trust_mark(database: Database, mark: str) -> None:
    database.write(lambda tx: tx.run(INSERT_TRUST_MARK, {"mark": mark}))


def delete_trust_marks(tx: Transaction) -> None:
    """Delete the marks of a rebuilt store: its backups and its journal may have come
    from anywhere.
    """
    tx.run(DELETE_TRUST_MARKS)
