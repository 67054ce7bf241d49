"""Refuses a file that is not a store, before anything is created beside it."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from yaoki.adapters.store.paths import StorePaths
from yaoki.errors import StoreCorrupt

HEADER = b"SQLite format 3\0"
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
OWN_TABLES = frozenset(("runs", "tasks"))


def refuse_foreign(paths: StorePaths) -> None:
    """A damaged store has a journal file or backups beside it, and is repaired instead."""
    path = paths.path
    if not path.is_file() or path.stat().st_size == 0 or paths.was_used():
        return
    with path.open("rb") as file:
        is_sqlite = file.read(len(HEADER)) == HEADER
    if is_sqlite and _has_our_tables(paths):
        return
    raise StoreCorrupt(
        f"{path} is not a yaoki store; it was not changed",
        hint="name another file under [store] url in yaoki.toml; if it was a store, restore a "
        f"copy: backups would be in {paths.backups}",
    )


def _has_our_tables(paths: StorePaths) -> bool:
    """Reads without a lock, and without the files that a reader creates beside the database.

    Only where a write-ahead log is beside it, that is read as well: a store that is just being
    created, or whose creator was killed, has all its tables there.  A file without any table is
    about to become a store.
    """
    log = paths.path.with_name(f"{paths.path.name}-wal")
    mode = "mode=ro" if log.exists() else "mode=ro&immutable=1"
    address = f"{paths.path.absolute().as_uri()}?{mode}"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            names = {str(name) for (name,) in connection.execute(TABLES)}
    except sqlite3.Error:
        # Taken for a store: the examination says what is wrong.
        return True
    return not names or names >= OWN_TABLES
