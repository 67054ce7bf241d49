"""`ports.ProofRooms` over the world of dictionaries: rooms that keep what a killed holder left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.simulation.world import Touches, World
from yaoki.ports import ProofRoom, RoomPlaces

NOWHERE = RoomPlaces(Path("/home"), Path("/tmp"), Path("/reports"))


@dataclass
class DictRoom:
    """One room; the world remembers which commit it contains."""

    world: World
    touch: Touches
    files: Path
    ready: bool = True
    occupant: Path | None = None

    def put(self, commit: str) -> None:
        self.touch("room")
        self.world.rooms[str(self.files)] = commit
        self.touch("room filled")

    def seal(self) -> None:
        raise AssertionError("there is no set-up here")

    def changed(self) -> tuple[str, ...]:
        return ()

    def refresh(self) -> RoomPlaces:
        return NOWHERE

    def occupy(self, folder: Path | None) -> None:
        self.occupant = folder


class DictRooms:
    """As many as are held at the same time."""

    def __init__(self, world: World, touch: Touches) -> None:
        self.world, self.touch = world, touch

    def key(self, commit: str, setup: Sequence[Sequence[str]], inputs: Sequence[str]) -> str:
        return "plain"

    @contextmanager
    def taken(self, key: str, *, fresh: bool = False) -> Iterator[ProofRoom]:
        held = self.world.rooms_held
        number = next(n for n in range(100) if n not in held)
        held.add(number)
        try:
            yield DictRoom(self.world, self.touch, Path("/rooms") / f"{number}")
        finally:
            held.discard(number)
