"""A file of somebody else's in the place of a store: told before anything is made beside it."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from yaoki.adapters.store.paths import StorePaths
from yaoki.errors import StoreCorrupt

HEAD = b"SQLite format 3\0"
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
OURS = frozenset(("runs", "tasks"))


def refuse_foreign(places: StorePaths) -> None:
    """A store of ours that was damaged has a journal or backups beside it, and is repaired."""
    path = places.path
    if not path.is_file() or path.stat().st_size == 0 or places.was_used():
        return
    with path.open("rb") as held:
        plain = held.read(len(HEAD)) == HEAD
    if plain and _has_our_tables(places):
        return
    raise StoreCorrupt(
        f"{path} is not a yaoki store, and is left as it is",
        hint="let [store] url in yaoki.toml name another file; if it was one, put a copy there: "
        f"backups would be in {places.backups}",
    )


def _has_our_tables(places: StorePaths) -> bool:
    """Read without a lock, and without the files that a reader makes beside it.

    Only where a log lies beside it is that read as well: a store that is just being made, or whose
    maker was killed, has all its tables there.  Without any table it is about to become one.
    """
    log = places.path.with_name(f"{places.path.name}-wal")
    how = "mode=ro" if log.exists() else "mode=ro&immutable=1"
    where = f"{places.path.absolute().as_uri()}?{how}"
    try:
        with closing(sqlite3.connect(where, uri=True)) as held:
            names = {str(name) for (name,) in held.execute(TABLES)}
    except sqlite3.Error:
        # Ours until shown otherwise: whoever looks thoroughly tells what is wrong.
        return True
    return not names or names >= OURS
