"""What yaoki does for the safety of its own database file; a server's is its operator's."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from yaoki.adapters.store.database import Database, Link
from yaoki.adapters.store.journal_file.journal_file import Witness
from yaoki.adapters.store.paths import Places
from yaoki.adapters.store.sqlite import examination
from yaoki.adapters.store.sqlite.backups import Backups
from yaoki.adapters.store.sqlite.database import SqliteDatabase, told


class Copies(Protocol):
    """Whole copies of the store, where yaoki makes them."""

    def listed(self) -> list[Path]: ...
    def take(self, now: datetime) -> Path: ...
    def take_if_older(self, now: datetime, age: timedelta) -> Path | None: ...


Witnessed = dict[str, Any]


class Safety(Protocol):
    """How whole the store is, and what it could be made again from."""

    @property
    def backups(self) -> Copies: ...

    def integrity(self) -> list[str]: ...
    def unwitnessed(self) -> list[int]: ...
    def witness_of(self, run_id: str, events: Collection[str]) -> Iterator[Witnessed] | None: ...
    def differences(self, link: Link, run_id: str) -> list[str]: ...


class OwnFile:
    """Backups, and the journal file as a witness."""

    def __init__(self, database: SqliteDatabase, keep: int) -> None:
        self.backups: Copies = Backups(database, keep=keep)
        self._places, self._database = Places(database.path), database

    def integrity(self) -> list[str]:
        places = self._places
        with told(places.path):
            wrong = examination.thorough(places, Witness(places.journal))
            if wrong:
                places.suspect.touch()
        return [wrong] if wrong else []

    def unwitnessed(self) -> list[int]:
        with told(self._places.path):
            return examination.unwitnessed(self._places, Witness(self._places.journal))

    def witness_of(self, run_id: str, events: Collection[str]) -> Iterator[Witnessed]:
        """What others committed and have not written yet is written first."""
        with told(self._places.path):
            self._database.catch_up()
            found = Witness(self._places.journal).lines_of(run_id, events)
            yield from (line for _, line in found if line is not None)

    def differences(self, link: Link, run_id: str) -> list[str]:
        return examination.differences(link, Witness(self._places.journal), run_id)


class NoCopies:
    """Of a server that somebody else runs: its operator makes them."""

    def listed(self) -> list[Path]:
        return []

    def take(self, now: datetime) -> Path:
        raise AssertionError("yaoki makes no copies of a server's database")

    def take_if_older(self, now: datetime, age: timedelta) -> Path | None:
        return None


class Server:
    """The server looks after its own pages, and there is no file beside it."""

    def __init__(self) -> None:
        self.backups: Copies = NoCopies()

    def integrity(self) -> list[str]:
        return []

    def unwitnessed(self) -> list[int]:
        return []

    def witness_of(self, run_id: str, events: Collection[str]) -> None:
        return None

    def differences(self, link: Link, run_id: str) -> list[str]:
        return []


def safety_of(database: Database, *, backups_kept: int) -> Safety:
    if isinstance(database, SqliteDatabase):
        return OwnFile(database, backups_kept)
    return Server()
