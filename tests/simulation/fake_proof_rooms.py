"""`ports.ProofRooms` over the world of dictionaries: rooms that keep what a killed holder left."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.simulation.world import Accesses, World
from yaoki.ports import ProofRoom, RoomFolders, SetupCopy

NOWHERE = RoomFolders(Path("/home"), Path("/tmp"), Path("/reports"))


@dataclass
class DictRoom:
    """One room; the world remembers which commit it contains."""

    world: World
    touch: Accesses
    files: Path
    is_ready: bool = True
    occupant: Path | None = None

    def check_out(self, commit: str) -> None:
        self.touch("room")
        self.world.rooms[str(self.files)] = commit
        self.touch("room filled")

    def keep_only(self, globs: Sequence[str]) -> None:
        raise AssertionError("no check has inputs here")

    def record_setup_output(self, *, is_copy: bool = False) -> None:
        raise AssertionError("there is no set-up here")

    def replace_file(self, path: str, text: str) -> None:
        raise AssertionError("there are no mutants here")

    def changed_files(self) -> tuple[str, ...]:
        return ()

    def empty_private_folders(self) -> RoomFolders:
        return NOWHERE

    def occupy(self, folder: Path | None) -> None:
        self.occupant = folder


class DictRooms:
    """As many as are held at the same time."""

    def __init__(self, world: World, touch: Accesses) -> None:
        self.world, self.touch = world, touch

    def key(self, commit: str, setup: Sequence[Sequence[str]], inputs: Sequence[str]) -> str:
        return "plain"

    def describe_difference(
        self, commit: str, onto: str, setup: Sequence[Sequence[str]], inputs: Sequence[str]
    ) -> str:
        raise AssertionError("there is no set-up here")

    @contextmanager
    def acquire(self, key: str, *, fresh: bool = False) -> Iterator[ProofRoom]:
        held = self.world.rooms_held
        number = next(n for n in range(100) if n not in held)
        held.add(number)
        try:
            yield DictRoom(self.world, self.touch, Path("/rooms") / f"{number}")
        finally:
            held.discard(number)

    def copy_setup_output(self, key: str, target: Path, folders: Collection[str]) -> SetupCopy:
        raise AssertionError("there is no set-up here")

    @contextmanager
    def lock_setup(self, key: str) -> Iterator[bool]:
        yield True
