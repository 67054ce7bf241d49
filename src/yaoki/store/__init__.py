"""`open_store`: the door to the one transactional store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from yaoki.errors import StoreError
from yaoki.ports import Clock
from yaoki.store.migrate import migrate
from yaoki.store.places import Places
from yaoki.store.repair import mend
from yaoki.store.sql import SqlStore
from yaoki.store.sqlite import SqliteDatabase
from yaoki.store.witness import Witness

IGNORE_ALL = """\
# Made by yaoki.  Only prompts of your own belong in a commit.
*
!prompts/
!prompts/**
"""


def open_store(
    path: Path,
    clock: Clock,
    *,
    create: bool = True,
    durable: bool = True,
    limits: Mapping[str, Any] | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> SqlStore:
    """The SQLite store at `path`, migrated and ready; a damaged one is repaired, and `warn` told.

    A store that vanished is no new beginning: what it knew is beside it.
    """
    places = Places(path)
    if store_known(path):
        mend(places, clock, limits or {}, warn)
    elif not create:
        raise StoreError("there is no store here yet", hint="yaoki run PLAN")
    else:
        _make_folder(path.parent)
    database = SqliteDatabase(path, durable=durable)
    try:
        migrate(database, places.backups)
        database.witness = Witness(places.journal, warn)
        database.catch_up()
    except BaseException:
        database.close()
        raise
    return SqlStore(database, clock, **(limits or {}))


def store_known(path: Path) -> bool:
    """Is there a store, or was there one?"""
    return path.exists() or Places(path).used()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        ignore = folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text(IGNORE_ALL)
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be made: {error.strerror}",
            hint="make the repository's directory writable, or set [store] url in yaoki.toml",
        ) from error


__all__ = ["Places", "SqlStore", "open_store", "store_known"]
