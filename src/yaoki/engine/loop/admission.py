"""May this machine begin new work now?  Asked before each claim: nothing waits half begun."""

from __future__ import annotations

from collections.abc import Callable

from yaoki.core.lazy_dataclass import dataclass
from yaoki.engine.stage_settings import FreeCapacity
from yaoki.errors import Fault
from yaoki.ports import ALL, BEGUN, NOTHING_NEW


@dataclass(frozen=True, slots=True)
class AdmissionDecision:
    """What may be begun, why nothing more, and in one word what is lacking."""

    scope: str = ALL
    reason: str = ""
    shortage: str = ""
    # Without: only what a person wants ended is taken.
    may_claim: bool = True


class Admission:
    """The floors of disk and memory, whether the remote answers, and whether there are ports."""

    def __init__(
        self,
        room: Callable[[], FreeCapacity],
        *,
        disk_min: int,
        memory_min: int,
        ports_exhausted: Callable[[], str] = lambda: "",
        remote_unreachable: Callable[[], str] = lambda: "",
    ) -> None:
        self._room, self._disk_min, self._memory_min = room, disk_min, memory_min
        self._full, self._away = ports_exhausted, remote_unreachable

    def decide(self) -> AdmissionDecision:
        try:
            room = self._room()
        except Fault as fault:
            return AdmissionDecision(NOTHING_NEW, fault.sentence, "descriptors")
        if words := room.disk_shortage(self._disk_min):
            return AdmissionDecision(NOTHING_NEW, words, "disk")
        if room.memory < self._memory_min:
            words = f"{room.memory} bytes of memory are free, {self._memory_min} are needed"
            return AdmissionDecision(NOTHING_NEW, words, "memory")
        if away := self._away():
            # Whatever is claimed here would only be kept from machines that do reach it.
            return AdmissionDecision(NOTHING_NEW, away, "remote", may_claim=False)
        full = self._full()
        return AdmissionDecision(BEGUN, full, "ports") if full else AdmissionDecision()
