"""Where a store keeps what belongs to it: its witness, its copies, and what was set aside."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from yaoki.core.lazy_dataclass import dataclass

USUAL = "state.db"


@dataclass(frozen=True, slots=True)
class StorePaths:
    """Everything around one database file."""

    path: Path

    @property
    def home(self) -> Path:
        """Stores that share a folder share nothing else: another name has a home of its own."""
        own = self.path.with_name(f"{self.path.name}.d")
        return self.path.parent if self.path.name == USUAL else own

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
        """The new database is made here and moved when it is whole."""
        return self.home / "rebuild"

    @property
    def damage_marker(self) -> Path:
        """Left by whoever stumbled over damage; the next opening looks thoroughly."""
        return self.home / "suspect"

    @property
    def lock_file(self) -> Path:
        return self.path.with_suffix(".lock")

    @property
    def files(self) -> tuple[Path, ...]:
        """The database first: once it is gone, the loss of the others is noticed too."""
        return (self.path, *(self.path.with_name(self.path.name + end) for end in ("-wal", "-shm")))

    def was_used(self) -> bool:
        """Was there ever a store here?"""
        folders = (self.journal, self.backups, self.quarantine, self.home / "runs")
        return any(folder.is_dir() and any(folder.iterdir()) for folder in folders)

    @contextmanager
    def lock_writers(self) -> Iterator[None]:
        """The turn that writers take: while we have it nobody writes or checkpoints."""
        fd = os.open(self.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)
