"""What yaoki does for the safety of its own database file; a server's is its operator's."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from yaoki.adapters.store.database import Database, Transaction
from yaoki.adapters.store.journal_file.journal_file import JournalFile
from yaoki.adapters.store.paths import StorePaths
from yaoki.adapters.store.sqlite import examination
from yaoki.adapters.store.sqlite.backups import Backups
from yaoki.adapters.store.sqlite.database import SqliteDatabase, translate_sqlite_errors


class BackupCopies(Protocol):
    """Whole copies of the store, where yaoki makes them."""

    def list_newest_first(self) -> list[Path]: ...
    def take(self, now: datetime) -> Path: ...
    def take_if_older(self, now: datetime, age: timedelta) -> Path | None: ...


StoredLine = dict[str, Any]


class StoreSafety(Protocol):
    """How whole the store is, and what it could be made again from."""

    @property
    def backups(self) -> BackupCopies: ...

    def check_integrity(self) -> list[str]: ...
    def lines_missing_in_journal_file(self) -> list[int]: ...
    def journal_file_lines(
        self, run_id: str, events: Collection[str]
    ) -> Iterator[StoredLine] | None: ...
    def journal_file_differences(self, link: Transaction, run_id: str) -> list[str]: ...


class FileSafety:
    """Backups, and the journal file as a witness."""

    def __init__(self, database: SqliteDatabase, keep: int) -> None:
        self.backups: BackupCopies = Backups(database, keep=keep)
        self._places, self._database = StorePaths(database.path), database

    def check_integrity(self) -> list[str]:
        places = self._places
        with translate_sqlite_errors(places.path):
            wrong = examination.find_damage_thoroughly(places, JournalFile(places.journal))
            if wrong:
                places.damage_marker.touch()
        return [wrong] if wrong else []

    def lines_missing_in_journal_file(self) -> list[int]:
        with translate_sqlite_errors(self._places.path):
            return examination.find_missing_lines(self._places, JournalFile(self._places.journal))

    def journal_file_lines(self, run_id: str, events: Collection[str]) -> Iterator[StoredLine]:
        """What others committed and have not written yet is written first."""
        with translate_sqlite_errors(self._places.path):
            self._database.update_journal_file()
            found = JournalFile(self._places.journal).read_lines_of(run_id, events)
            yield from (line for _, line in found if line is not None)

    def journal_file_differences(self, link: Transaction, run_id: str) -> list[str]:
        return examination.find_differences(link, JournalFile(self._places.journal), run_id)


class NoBackups:
    """Of a server that somebody else runs: its operator makes them."""

    def list_newest_first(self) -> list[Path]:
        return []

    def take(self, now: datetime) -> Path:
        raise AssertionError("yaoki makes no copies of a server's database")

    def take_if_older(self, now: datetime, age: timedelta) -> Path | None:
        return None


class ServerSafety:
    """The server looks after its own pages, and there is no file beside it."""

    def __init__(self) -> None:
        self.backups: BackupCopies = NoBackups()

    def check_integrity(self) -> list[str]:
        return []

    def lines_missing_in_journal_file(self) -> list[int]:
        return []

    def journal_file_lines(self, run_id: str, events: Collection[str]) -> None:
        return None

    def journal_file_differences(self, link: Transaction, run_id: str) -> list[str]:
        return []


def choose_safety(database: Database, *, backups_kept: int) -> StoreSafety:
    if isinstance(database, SqliteDatabase):
        return FileSafety(database, backups_kept)
    return ServerSafety()
