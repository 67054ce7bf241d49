"""The files and folders of a store: database, journal file, backups, quarantine."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

DEFAULT_NAME = "state.db"


@dataclass(frozen=True, slots=True)
class StorePaths:
    """Everything that belongs to one database file."""

    path: Path

    @property
    def home(self) -> Path:
        """Stores in one folder share nothing else: a store of another name has its own home."""
        own = self.path.with_name(f"{self.path.name}.d")
        return self.path.parent if self.path.name == DEFAULT_NAME else own

    @property
    def journal(self) -> Path:
        return self.home / "journal"

    @property
    def backups(self) -> Path:
        return self.home / "backups"

    @property
    def quarantine(self) -> Path:
        return self.home / "quarantine"

    @property
    def rebuild(self) -> Path:
        """A repair builds the new database here and moves it when it is complete."""
        return self.home / "rebuild"

    @property
    def damage_marker(self) -> Path:
        """Created when a command met damage; the next opening checks thoroughly."""
        return self.home / "suspect"

    @property
    def lock_file(self) -> Path:
        return self.path.with_suffix(".lock")

    @property
    def files(self) -> tuple[Path, ...]:
        """The database first: once it is moved, the next opening notices the loss."""
        return (self.path, *(self.path.with_name(self.path.name + end) for end in ("-wal", "-shm")))

    def was_used(self) -> bool:
        """Was there ever a store here?"""
        folders = (self.journal, self.backups, self.quarantine, self.home / "runs")
        return any(folder.is_dir() and any(folder.iterdir()) for folder in folders)

    @contextmanager
    def lock_writers(self) -> Iterator[None]:
        """The writers' lock: inside, no other process writes or checkpoints."""
        fd = os.open(self.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)
