"""Proof rooms: folders that contain one commit and the output of set-up, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class RoomFolders:
    """The private folders of one check run: each is empty when a check starts."""

    home: Path
    temporary: Path
    reports: Path


class ProofRoom(Protocol):
    """One room, used by one verification.  Its content depends on commit and set-up key alone."""

    @property
    def files(self) -> Path:
        """The folder that holds the commit: the working directory of checks."""

    @property
    def is_ready(self) -> bool:
        """True when set-up has finished here for the room's key."""

    def check_out(self, commit: str) -> None:
        """Make the room contain exactly this commit and the output of set-up."""

    def record_setup_output(self) -> None:
        """Record everything that is not in the commit as the output of set-up."""

    def changed_files(self) -> tuple[str, ...]:
        """The tracked files that differ from the commit that was checked out."""

    def empty_private_folders(self) -> RoomFolders:
        """Empty the private home, temporary folder and report folder."""

    def occupy(self, folder: Path | None) -> None:
        """Record the process folder that uses the room, so that the next holder can end it."""

    @property
    def occupant(self) -> Path | None:
        """The process folder that a killed worker recorded here."""


class ProofRooms(Protocol):
    """The rooms of one repository on this machine."""

    def key(self, commit: str, setup: Sequence[Sequence[str]], inputs: Sequence[str]) -> str:
        """Identify the set-up of a commit: commands, their input files, platform and tools."""

    def acquire(self, key: str, *, fresh: bool = False) -> AbstractContextManager[ProofRoom]:
        """Lock a room for this key; unless `fresh`, one that is set up already is preferred."""
