"""A new store in a file: built beside its place, and moved there when it is complete.

A kill at any instant leaves no store, or one with all its tables and its trust mark.  A file that
is created in place may be left without tables; the next command would make a store without a mark
of it, and `yaoki run` would refuse that as one that was not created here.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from yaoki.adapters.store.migrations import migrate
from yaoki.adapters.store.repair import remove_rebuilt
from yaoki.adapters.store.sqlite.database import (
    SqliteDatabase,
    sync_to_disk,
    translate_sqlite_errors,
)
from yaoki.adapters.store.sqlite.examination import read_table_names

if TYPE_CHECKING:
    from pathlib import Path

    from yaoki.adapters.store.paths import StorePaths

# A file without tables is not longer; a store in one page has its tables in the write-ahead log.
ONE_PAGE_BYTES = 4096


def has_no_tables(path: Path) -> bool:
    """Is the file not a store yet?  A kill, a full disk or a person may have left it."""
    if not path.is_file() or path.stat().st_size > ONE_PAGE_BYTES:
        return False
    return read_table_names(path) == frozenset()


def create_store(paths: StorePaths, *, durable: bool, mark: str) -> None:
    """Create the store with its trust mark, unless another process has created it meanwhile."""
    path = paths.path
    with translate_sqlite_errors(path), paths.lock_writers():
        if path.exists() and not has_no_tables(path):
            return
        remove_rebuilt(paths)
        paths.rebuild.mkdir(parents=True)
        try:
            with closing(SqliteDatabase(paths.rebuild / path.name, durable=durable)) as database:
                migrate(database, mark=mark)
            _move(paths, durable=durable)
        finally:
            remove_rebuilt(paths)


def _move(paths: StorePaths, *, durable: bool) -> None:
    """A log or a rollback journal beside a file without tables would be applied to the new one."""
    path, built = paths.path, paths.rebuild / paths.path.name
    for leftover in (*paths.files[1:], path.with_name(f"{path.name}-journal")):
        leftover.unlink(missing_ok=True)
    if durable:
        sync_to_disk(built)
    built.replace(path)
    if durable:
        sync_to_disk(path.parent)
