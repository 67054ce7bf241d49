"""Automatic backups: whole copies beside the store, the newest few kept."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from yaoki.adapters.store.paths import StorePaths
from yaoki.adapters.store.sqlite.database import SqliteDatabase

PREFIX = "state-"


class Backups:
    """Copies are named by time, so the order of names is the order of age."""

    def __init__(self, database: SqliteDatabase, *, keep: int = 5) -> None:
        self._database = database
        self._folder = StorePaths(database.path).backups
        self._keep = keep

    def list_newest_first(self) -> list[Path]:
        """Newest first."""
        return sorted(self._folder.glob(f"{PREFIX}*.db"), reverse=True)

    def take(self, now: datetime) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        target = self._folder / _name(now)
        self._database.backup(target)
        for old in self.list_newest_first()[self._keep :]:
            old.unlink(missing_ok=True)
        if self._database.journal_file is not None:
            self._database.journal_file.compress_old_segments()
        return target

    def take_if_older(self, now: datetime, age: timedelta) -> Path | None:
        """Taken before a run starts and then every `age`, by whichever process comes first."""
        newest = next(iter(self.list_newest_first()), None)
        if newest is not None and newest.name > _name(now - age):
            return None
        return self.take(now)


def _name(at: datetime) -> str:
    return f"{PREFIX}{at:%Y%m%dT%H%M%S%f}.db"
