"""Marks by which a user knows a store again: made here, or trusted once.

Read without opening the store, for opening one that came from elsewhere repairs and migrates it.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from yaoki.adapters.store.database import Database, Transaction
from yaoki.adapters.store.paths import StorePaths

MARK_BYTES = 24
MARKS_MAX = 1000
INSERT_TRUST_MARK = "INSERT INTO trust_marks (mark) VALUES (:mark)"
FORGET = "DELETE FROM trust_marks"


def make_trust_mark() -> str:
    """Nobody guesses it, so a store that holds it was in our hands."""
    return os.urandom(MARK_BYTES).hex()


def read_trust_marks(path: Path) -> frozenset[str] | None:
    """The marks in a store's file; none of one that cannot be read, and None where no store is.

    A file without tables is about to become a store; copies and a journal alone would become one
    as well, with what stands in them.
    """
    if not path.exists():
        return frozenset() if StorePaths(path).was_used() else None
    try:
        there = f"{path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(there, uri=True, timeout=30)) as link:
            link.execute("PRAGMA trusted_schema = OFF")
            names = {str(name) for (name,) in link.execute("SELECT name FROM sqlite_master")}
            if not names:
                return None
            if "trust_marks" not in names:
                return frozenset()
            rows = link.execute("SELECT mark FROM trust_marks LIMIT ?", (MARKS_MAX,))
            return frozenset(str(mark) for (mark,) in rows)
    except (sqlite3.Error, OSError):
        return frozenset()


def add_trust_mark(database: Database, mark: str) -> None:
    database.write(lambda link: link.run(INSERT_TRUST_MARK, {"mark": mark}))


def delete_trust_marks(link: Transaction) -> None:
    """Of a store made again: its copies and its journal may have come from anywhere."""
    link.run(FORGET)
