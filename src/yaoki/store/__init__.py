"""`open_store`: the door to the one transactional store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yaoki.errors import StoreBroken, StoreError
from yaoki.ports import Clock
from yaoki.store.migrate import migrate
from yaoki.store.sql import SqlStore
from yaoki.store.sqlite import SqliteDatabase

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
) -> SqlStore:
    """The SQLite store at `path`, migrated and ready."""
    _refuse_loss(path)
    if not path.exists():
        if not create:
            raise StoreError("there is no store here yet", hint="yaoki run PLAN")
        _make_folder(path.parent)
    database = SqliteDatabase(path, durable=durable)
    try:
        migrate(database, path.parent / "backups")
    except BaseException:
        database.close()
        raise
    return SqlStore(database, clock, **(limits or {}))


def _refuse_loss(path: Path) -> None:
    """A store that vanished is no new beginning: what it knew is beside it, and is named."""
    if path.exists() and path.stat().st_size > 0:
        return
    backups = sorted((path.parent / "backups").glob("*.db"), reverse=True)
    runs = path.parent / "runs"
    if not backups and not (runs.is_dir() and any(runs.iterdir())):
        return
    remedy = f"cp {backups[0]} {path}" if backups else f"move {path.parent} away to begin anew"
    raise StoreBroken(f"the store {path} is gone or empty, but its runs are not", hint=remedy)


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


__all__ = ["SqlStore", "open_store"]
