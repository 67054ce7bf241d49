"""Backups, checks and the journal file of a store in a SQLite file."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.store.journal_file.journal_file import JournalFile
from yaoki.adapters.store.paths import StorePaths
from yaoki.adapters.store.sqlite import examination
from yaoki.adapters.store.sqlite.database import SqliteDatabase, translate_sqlite_errors

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Transaction
    from yaoki.adapters.store.safety import BackupCopies, StoredLine

BACKUP_PREFIX = "state-"


class FileSafety:
    """`keep` is how many backups stay."""

    journal_name = "the journal file"

    def __init__(self, database: SqliteDatabase, keep: int) -> None:
        self.backups: BackupCopies = Backups(database, keep=keep)
        self._paths, self._database = StorePaths(database.path), database

    def check_integrity(self) -> list[str]:
        paths = self._paths
        with translate_sqlite_errors(paths.path):
            damage = examination.find_damage_thoroughly(paths, JournalFile(paths.journal))
            if damage:
                paths.damage_marker.touch()
        return [damage] if damage else []

    def lines_missing_in_journal_file(self) -> list[int]:
        with translate_sqlite_errors(self._paths.path):
            return examination.find_missing_lines(self._paths, JournalFile(self._paths.journal))

    def journal_file_lines(self, run_id: str, events: Collection[str]) -> Iterator[StoredLine]:
        """Lines that other processes committed but did not write yet are written first."""
        with translate_sqlite_errors(self._paths.path):
            self._database.update_journal_file()
            lines = JournalFile(self._paths.journal).read_lines_of(run_id, events)
            yield from (line for _, line in lines if line is not None)

    def journal_file_differences(self, tx: Transaction, run_id: str) -> list[str]:
        return examination.find_differences(tx, JournalFile(self._paths.journal), run_id)


class Backups:
    """Whole copies next to the store, the newest few kept.

    Copies are named by time, so the order of names is the order of age.
    """

    def __init__(self, database: SqliteDatabase, *, keep: int = 5) -> None:
        self._database = database
        self._folder = StorePaths(database.path).backups
        self._keep = keep

    def list_newest_first(self) -> list[Path]:
        return sorted(self._folder.glob(f"{BACKUP_PREFIX}*.db"), reverse=True)

    def take(self, now: datetime) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        target = self._folder / _backup_name(now)
        self._database.backup(target)
        for old in self.list_newest_first()[self._keep :]:
            old.unlink(missing_ok=True)
        if self._database.journal_file is not None:
            self._database.journal_file.compress_old_segments()
        return target

    def take_if_older(self, now: datetime, age: timedelta) -> Path | None:
        """Taken before a run starts and then every `age`, by whichever process comes first."""
        newest = next(iter(self.list_newest_first()), None)
        if newest is not None and newest.name > _backup_name(now - age):
            return None
        return self.take(now)


def _backup_name(at: datetime) -> str:
    return f"{BACKUP_PREFIX}{at:%Y%m%dT%H%M%S%f}.db"
