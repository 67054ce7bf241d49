"""`open_store`: the door to the one transactional store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.database import Database
from yaoki.adapters.store.journal_file.journal_file import JournalFile
from yaoki.adapters.store.migrations import migrate
from yaoki.adapters.store.paths import StorePaths
from yaoki.adapters.store.repair import repair_if_damaged
from yaoki.adapters.store.sql import SqlStore, StoreLimits
from yaoki.adapters.store.sqlite.database import SqliteDatabase
from yaoki.adapters.store.sqlite.foreign_file import refuse_foreign
from yaoki.adapters.store.trust_marks import add_trust_mark, make_trust_mark, read_trust_marks
from yaoki.adapters.system.files import make_private_folder
from yaoki.adapters.system.machine import pip_install_command
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
    store_limits = StoreLimits(**(limits or {}))
    opened: Database
    if isinstance(where, str) and is_server_url(where):
        opened = _postgres()(where, clock, create=create, durable=durable, warn=warn, **server)
    else:
        opened = _sqlite(_path(where), clock, create, durable, store_limits, warn, mark)
    return SqlStore(opened, clock, store_limits)


def is_server_url(url: str) -> bool:
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
            hint=pip_install_command("psycopg[binary]>=3.3.8,<4"),
        ) from missing
    return PostgresDatabase


def _sqlite(
    path: Path,
    clock: Clock,
    create: bool,
    durable: bool,
    limits: StoreLimits,
    warn: Callable[[str], None],
    mark: str,
) -> SqliteDatabase:
    """A damaged one is repaired, and `warn` told.

    A store that vanished is no new beginning: what it knew is beside it.
    """
    places = StorePaths(path)
    refuse_foreign(places)
    if is_store_known(path):
        repair_if_damaged(places, clock, limits, warn)
    elif not create:
        raise StoreError("there is no store here yet", hint="yaoki run PLAN")
    else:
        make_home(path.parent)
    database = SqliteDatabase(path, durable=durable)
    try:
        migrate(database, places.backups, mark=mark)
        database.journal_file = JournalFile(places.journal, warn)
        database.update_journal_file()
    except BaseException:
        database.close()
        raise
    return database


def is_store_known(where: Path | str) -> bool:
    """Is there a store, or was there one?"""
    if isinstance(where, str) and is_server_url(where):
        return _postgres().has_store(where)
    path = _path(where)
    return path.exists() or StorePaths(path).was_used()


def make_home(folder: Path) -> None:
    """Where yaoki keeps what is its own; git does not see it."""
    try:
        if folder.is_symlink():
            raise StoreError(
                f"{folder} is a link, and whoever made it chose where the store would be",
                hint=f"rm {folder}, or name another place: [store] url in yaoki.toml",
            )
        make_private_folder(folder)
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
    "SqlStore",
    "StorePaths",
    "add_trust_mark",
    "is_server_url",
    "is_store_known",
    "make_home",
    "make_trust_mark",
    "open_store",
    "read_trust_marks",
]
