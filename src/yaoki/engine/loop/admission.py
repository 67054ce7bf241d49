"""May this machine begin new work now?  Asked before each claim: nothing waits half begun."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from yaoki.engine.stages.stage_settings import Room
from yaoki.errors import Fault
from yaoki.ports import ALL, BEGUN, NOTHING_NEW


@dataclass(frozen=True, slots=True)
class Admitted:
    """What may be begun, why nothing more, and in one word what is lacking."""

    begin: str = ALL
    why: str = ""
    lacking: str = ""
    # Without: only what a person wants ended is taken.
    claims: bool = True


class Admission:
    """The floors of disk and memory, whether the remote answers, and whether there are ports."""

    def __init__(
        self,
        room: Callable[[], Room],
        *,
        disk_min: int,
        memory_min: int,
        full: Callable[[], str] = lambda: "",
        away: Callable[[], str] = lambda: "",
    ) -> None:
        self._room, self._disk_min, self._memory_min = room, disk_min, memory_min
        self._full, self._away = full, away

    def ask(self) -> Admitted:
        try:
            room = self._room()
        except Fault as fault:
            return Admitted(NOTHING_NEW, fault.sentence, "descriptors")
        if words := room.lacks_disk(self._disk_min):
            return Admitted(NOTHING_NEW, words, "disk")
        if room.memory < self._memory_min:
            words = f"{room.memory} bytes of memory are free, {self._memory_min} are needed"
            return Admitted(NOTHING_NEW, words, "memory")
        if away := self._away():
            # Whatever is claimed here would only be kept from machines that do reach it.
            return Admitted(NOTHING_NEW, away, "remote", claims=False)
        full = self._full()
        return Admitted(BEGUN, full, "ports") if full else Admitted()
