"""`open_store`: the door to the one transactional store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.database import Database
from yaoki.adapters.store.journal_file.journal_file import Witness
from yaoki.adapters.store.migrations import migrate
from yaoki.adapters.store.paths import Places
from yaoki.adapters.store.sql import SqlStore
from yaoki.adapters.store.sqlite.database import SqliteDatabase
from yaoki.adapters.store.sqlite.foreign_file import refuse_foreign
from yaoki.adapters.store.sqlite.repair import mend
from yaoki.adapters.store.tables.store_marks import add_mark, marks_at, new_mark
from yaoki.adapters.system.files import make_private
from yaoki.adapters.system.machine import pip_install
from yaoki.errors import StoreError
from yaoki.ports import Clock

if TYPE_CHECKING:
    from yaoki.adapters.store.postgres import PostgresDatabase

IGNORE_ALL = """\
# Made by yaoki.  Only prompts of your own belong in a commit.
*
!prompts/
!prompts/**
"""


SERVERS = ("postgresql://", "postgres://")


def open_store(
    where: Path | str,
    clock: Clock,
    *,
    create: bool = True,
    durable: bool = True,
    limits: Mapping[str, Any] | None = None,
    warn: Callable[[str], None] = lambda _: None,
    mark: str = "",
    **server: Any,
) -> SqlStore:
    """The store at a path or a URL, migrated and ready.  `server` is only for one at a server;
    `mark` is left in a file that is made now.
    """
    opened: Database
    if isinstance(where, str) and on_server(where):
        opened = _postgres()(where, clock, create=create, durable=durable, warn=warn, **server)
    else:
        opened = _sqlite(_path(where), clock, create, durable, limits or {}, warn, mark)
    return SqlStore(opened, clock, **(limits or {}))


def on_server(url: str) -> bool:
    return url.startswith(SERVERS)


def _path(where: Path | str) -> Path:
    return Path(where.removeprefix("sqlite://")) if isinstance(where, str) else where


def _postgres() -> type[PostgresDatabase]:
    """The driver is large and few need it."""
    try:
        from yaoki.adapters.store.postgres import PostgresDatabase
    except ImportError as missing:
        raise StoreError(
            f"a store on a PostgreSQL server needs a driver, and there is none: {missing}",
            hint=pip_install("psycopg[binary]>=3.3.8,<4"),
        ) from missing
    return PostgresDatabase


def _sqlite(
    path: Path,
    clock: Clock,
    create: bool,
    durable: bool,
    limits: Mapping[str, Any],
    warn: Callable[[str], None],
    mark: str,
) -> SqliteDatabase:
    """A damaged one is repaired, and `warn` told.

    A store that vanished is no new beginning: what it knew is beside it.
    """
    places = Places(path)
    refuse_foreign(places)
    if store_known(path):
        mend(places, clock, limits, warn)
    elif not create:
        raise StoreError("there is no store here yet", hint="yaoki run PLAN")
    else:
        make_home(path.parent)
    database = SqliteDatabase(path, durable=durable)
    try:
        migrate(database, places.backups, mark=mark)
        database.witness = Witness(places.journal, warn)
        database.catch_up()
    except BaseException:
        database.close()
        raise
    return database


def store_known(where: Path | str) -> bool:
    """Is there a store, or was there one?"""
    if isinstance(where, str) and on_server(where):
        return _postgres().known(where)
    path = _path(where)
    return path.exists() or Places(path).used()


def make_home(folder: Path) -> None:
    """Where yaoki keeps what is its own; git does not see it."""
    try:
        if folder.is_symlink():
            raise StoreError(
                f"{folder} is a link, and whoever made it chose where the store would be",
                hint=f"rm {folder}, or name another place: [store] url in yaoki.toml",
            )
        make_private(folder)
        ignore = folder / ".gitignore"
        # One that a full disk left empty is written again.
        if not ignore.exists() or not ignore.stat().st_size:
            ignore.write_text(IGNORE_ALL)
    except FileExistsError as error:
        raise StoreError(
            f"{folder} cannot be made: a file stands in its place",
            hint=f"move it away: mv {folder} {folder}.old",
        ) from error
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be made: {error.strerror}",
            hint="make the repository's directory writable, or set [store] url in yaoki.toml",
        ) from error


__all__ = [
    "Places",
    "SqlStore",
    "add_mark",
    "make_home",
    "marks_at",
    "new_mark",
    "on_server",
    "open_store",
    "store_known",
]
