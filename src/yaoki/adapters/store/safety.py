"""The safety of a store: backups and a second copy of the journal.

`sqlite/safety.py` does it for the database file; a server is its operator's responsibility.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Transaction

StoredLine = dict[str, Any]


class BackupCopies(Protocol):
    """Whole copies of the store, where yaoki makes them."""

    def list_newest_first(self) -> list[Path]: ...
    def take(self, now: datetime) -> Path: ...
    def take_if_older(self, now: datetime, age: timedelta) -> Path | None: ...


class StoreSafety(Protocol):
    """Is the store intact, and what could it be rebuilt from?"""

    @property
    def journal_name(self) -> str:
        """The name of the source of `read_journal_source` in messages."""

    @property
    def backups(self) -> BackupCopies: ...

    def check_integrity(self) -> list[str]: ...
    def lines_missing_in_journal_file(self) -> list[int]: ...
    def journal_file_lines(
        self, run_id: str, events: Collection[str]
    ) -> Iterator[StoredLine] | None:
        """Lines of the journal file; None where there is none."""

    def journal_file_differences(self, tx: Transaction, run_id: str) -> list[str]: ...


class NoBackups:
    """A server's backups are made by its operator."""

    def list_newest_first(self) -> list[Path]:
        return []

    def take(self, now: datetime) -> Path:
        raise AssertionError("yaoki makes no copies of a server's database")

    def take_if_older(self, now: datetime, age: timedelta) -> Path | None:
        return None


class ServerSafety:
    """The server checks its own pages, and there is no journal file."""

    journal_name = "the journal"

    def __init__(self) -> None:
        self.backups: BackupCopies = NoBackups()

    def check_integrity(self) -> list[str]:
        return []

    def lines_missing_in_journal_file(self) -> list[int]:
        return []

    def journal_file_lines(self, run_id: str, events: Collection[str]) -> None:
        return None

    def journal_file_differences(self, tx: Transaction, run_id: str) -> list[str]:
        return []
