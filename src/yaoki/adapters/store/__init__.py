"""Opens the transactional store, in a SQLite file or on a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.journal_file.journal_file import JournalFile
from yaoki.adapters.store.migrations import migrate
from yaoki.adapters.store.new_store import create_store, has_no_tables
from yaoki.adapters.store.paths import StorePaths
from yaoki.adapters.store.repair import repair_if_damaged
from yaoki.adapters.store.sql import SqlStore, StoreLimits
from yaoki.adapters.store.sqlite.database import SqliteDatabase
from yaoki.adapters.store.sqlite.examination import refuse_foreign
from yaoki.adapters.store.trust_marks import add_trust_mark, make_trust_mark, read_trust_marks
from yaoki.adapters.system.files import make_private_folder
from yaoki.core.settings.settings import SERVER_URLS
from yaoki.errors import StoreError

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Database
    from yaoki.adapters.store.postgres import PostgresDatabase
    from yaoki.ports import Clock

IGNORE_ALL = """\
# Written by yaoki.  Only your own prompts belong in a commit.
*
!prompts/
!prompts/**
"""


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
    """The store at a path or a URL, migrated and ready.

    `limits` are the fields of `StoreLimits`, `server` options only for a store on a server; a file
    that is created now gets the trust mark `mark`.
    """
    store_limits = StoreLimits(**(limits or {}))
    database: Database
    if isinstance(where, str) and is_server_url(where):
        database = _postgres_class()(
            where, clock, create=create, durable=durable, warn=warn, **server
        )
    else:
        database = _open_sqlite(_path(where), clock, create, durable, store_limits, warn, mark)
    return SqlStore(database, clock, store_limits)


def is_server_url(url: str) -> bool:
    return url.startswith(SERVER_URLS)


def _path(where: Path | str) -> Path:
    return Path(where.removeprefix("sqlite://")) if isinstance(where, str) else where


def _postgres_class() -> type[PostgresDatabase]:
    """Imported late: the driver is large and few users need it."""
    from yaoki.adapters.system.machine import pip_install_command

    try:
        from yaoki.adapters.store.postgres import PostgresDatabase
    except ImportError as missing:
        raise StoreError(
            f"a store on a PostgreSQL server needs a driver, and none is installed: {missing}",
            hint=pip_install_command("psycopg[binary]>=3.3.8,<4"),
        ) from missing
    return PostgresDatabase


def _open_sqlite(
    path: Path,
    clock: Clock,
    create: bool,
    durable: bool,
    limits: StoreLimits,
    warn: Callable[[str], None],
    mark: str,
) -> SqliteDatabase:
    """Open the file; a damaged one is repaired, and `warn` gets a message.

    A missing file whose backups or journal file exist is restored, not created again.
    """
    paths = StorePaths(path)
    refuse_foreign(paths)
    if is_store_known(path):
        repair_if_damaged(paths, clock, limits, warn)
    elif not create:
        raise StoreError("there is no store here yet", hint="yaoki run PLAN")
    else:
        make_home(path.parent)
        create_store(paths, durable=durable, mark=mark)
    database = SqliteDatabase(path, durable=durable)
    try:
        migrate(database, paths.backups)
        database.journal_file = JournalFile(paths.journal, warn)
        database.update_journal_file()
    except BaseException:
        database.close()
        raise
    return database


def is_store_known(where: Path | str) -> bool:
    """Is there a store, or was there one?  A file without tables is none."""
    if isinstance(where, str) and is_server_url(where):
        return _postgres_class().has_store(where)
    path = _path(where)
    return (path.exists() and not has_no_tables(path)) or StorePaths(path).was_used()


def make_home(folder: Path) -> None:
    """Create yaoki's own folder, ignored by git."""
    try:
        if folder.is_symlink():
            raise StoreError(
                f"{folder} is a symbolic link, so its creator would choose where the store is",
                hint=f"rm {folder}, or name another path under [store] url in yaoki.toml",
            )
        make_private_folder(folder)
        ignore = folder / ".gitignore"
        # A full disk may have left an empty one.
        if not ignore.exists() or not ignore.stat().st_size:
            ignore.write_text(IGNORE_ALL)
    except FileExistsError as error:
        raise StoreError(
            f"{folder} cannot be created: there is a file of that name",
            hint=f"move it away: mv {folder} {folder}.old",
        ) from error
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be created: {error.strerror}",
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
