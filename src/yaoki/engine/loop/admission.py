"""Decides before each claim whether this machine may start new work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from yaoki.engine.stage_settings import FreeCapacity
from yaoki.errors import Fault
from yaoki.ports import ALL, BEGUN, NOTHING_NEW


@dataclass(frozen=True, slots=True)
class AdmissionDecision:
    """What may be claimed, the reason for a restriction, and the missing resource in one word."""

    scope: str = ALL
    reason: str = ""
    shortage: str = ""
    # When false, only tasks that a person cancelled are claimed.
    may_claim: bool = True


class Admission:
    """Checks free disk and memory, the remote, and free ports."""

    def __init__(
        self,
        free_capacity: Callable[[], FreeCapacity],
        *,
        disk_min: int,
        memory_min: int,
        ports_exhausted: Callable[[], str],
        remote_unreachable: Callable[[], str],
    ) -> None:
        self._free_capacity = free_capacity
        self._disk_min, self._memory_min = disk_min, memory_min
        self._ports_exhausted, self._remote_unreachable = ports_exhausted, remote_unreachable

    def decide(self) -> AdmissionDecision:
        try:
            free = self._free_capacity()
        except Fault as fault:
            return AdmissionDecision(NOTHING_NEW, fault.sentence, "descriptors")
        if shortage := free.disk_shortage(self._disk_min):
            return AdmissionDecision(NOTHING_NEW, shortage, "disk")
        if free.memory < self._memory_min:
            shortage = f"{free.memory} bytes of memory are free, {self._memory_min} are needed"
            return AdmissionDecision(NOTHING_NEW, shortage, "memory")
        if unreachable := self._remote_unreachable():
            # Claiming now would only block machines that can reach the remote.
            return AdmissionDecision(NOTHING_NEW, unreachable, "remote", may_claim=False)
        exhausted = self._ports_exhausted()
        return AdmissionDecision(BEGUN, exhausted, "ports") if exhausted else AdmissionDecision()
