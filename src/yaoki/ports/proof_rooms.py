"""Proof rooms: folders that contain one commit and the output of set-up, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum, unique
from pathlib import Path
from typing import Protocol

from yaoki.core.lazy_dataclass import dataclass

# The file in the process folder of set-up that says why a room is for one commit.
SETUP_REASON = "reason.txt"


@dataclass(frozen=True, slots=True)
class RoomFolders:
    """The private folders of one check: each is empty when the check starts."""

    home: Path
    temporary: Path
    reports: Path


@unique
class SetupCopy(StrEnum):
    """The result of copying the output of set-up.

    ABSENT: no room is ready.  UNUSABLE: the output works only where it was made.  In both cases
    nothing was copied.
    """

    COPIED = "copied"
    ABSENT = "absent"
    UNUSABLE = "unusable"


class ProofRoom(Protocol):
    """A room locked by one verification.  Its content depends only on commit and set-up key."""

    @property
    def files(self) -> Path:
        """The folder with the commit's files: the working directory of checks."""

    @property
    def is_ready(self) -> bool:
        """True when set-up has finished here for the room's key."""

    def check_out(self, commit: str) -> None:
        """Make the room contain exactly this commit and the output of set-up."""

    def keep_only(self, globs: Sequence[str]) -> None:
        """Remove the commit's other files and its history, until the next check-out."""

    def record_setup_output(self, *, is_copy: bool = False) -> None:
        """Record everything besides the commit as the output of set-up.

        `is_copy`: the output was copied from a room with the same key.
        """

    def replace_file(self, path: str, text: str) -> None:
        """Give a tracked file another content until the next checkout."""

    def changed_files(self) -> tuple[str, ...]:
        """The tracked files that differ from the checked out commit."""

    def empty_private_folders(self) -> RoomFolders:
        """Empty the private home, temporary folder and report folder."""

    def occupy(self, folder: Path | None) -> None:
        """Record which process folder uses the room, so that the next user can end the process."""

    @property
    def occupant(self) -> Path | None:
        """The process folder that a killed worker has recorded here."""


class ProofRooms(Protocol):
    """The rooms of one repository on this machine."""

    def key(self, commit: str, setup: Sequence[Sequence[str]], inputs: Sequence[str]) -> str:
        """Identify the set-up of a commit: commands, their input files, platform and tools."""

    def describe_difference(
        self, commit: str, onto: str, setup: Sequence[Sequence[str]], inputs: Sequence[str]
    ) -> str:
        """Why the set-up of a commit has another key than that of `onto`; empty if unknown."""

    def acquire(self, key: str, *, fresh: bool = False) -> AbstractContextManager[ProofRoom]:
        """Lock a room for this key; one that is set up already is preferred unless `fresh`."""

    def copy_setup_output(self, key: str, target: Path, folders: Collection[str]) -> SetupCopy:
        """Copy the output of set-up from a room that is ready for this key to another checkout.

        `folders` are the folders that set-up must have filled.
        """

    def lock_setup(self, key: str) -> AbstractContextManager[bool]:
        """True for the one holder, among all processes, that runs the set-up of this key now."""
