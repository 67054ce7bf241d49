"""Decides before each claim whether this machine may start new work."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum, unique

from yaoki.core.lazy_dataclass import dataclass
from yaoki.engine.stage_settings import FreeCapacity
from yaoki.errors import Fault
from yaoki.ports import ALL, BEGUN, NOTHING_NEW, ClaimScope


@unique
class Shortage(StrEnum):
    """The resource that this machine lacks; each is reported once."""

    NONE = ""
    DESCRIPTORS = "descriptors"
    DISK = "disk"
    MEMORY = "memory"
    REMOTE = "remote"
    PORTS = "ports"
    # The settings name hours in which nothing new is started.
    HOURS = "hours"


@dataclass(frozen=True, slots=True)
class AdmissionDecision:
    """The scope of a claim, the reason for a restriction, and the missing resource."""

    scope: ClaimScope = ALL
    reason: str = ""
    shortage: Shortage = Shortage.NONE
    # When false, only tasks that a person cancelled are claimed.
    may_claim: bool = True


class Admission:
    """Checks the hours of the day, free disk and memory, the remote, and free ports."""

    def __init__(
        self,
        free_capacity: Callable[[], FreeCapacity],
        *,
        disk_min: int,
        memory_min: int,
        ports_exhausted: Callable[[], str],
        quiet_reason: Callable[[], str],
        remote_unreachable: Callable[[], str],
    ) -> None:
        self._free_capacity = free_capacity
        self._disk_min, self._memory_min = disk_min, memory_min
        self._ports_exhausted, self._remote_unreachable = ports_exhausted, remote_unreachable
        self._quiet_reason = quiet_reason

    def decide(self) -> AdmissionDecision:
        if quiet := self._quiet_reason():
            return AdmissionDecision(NOTHING_NEW, quiet, Shortage.HOURS)
        try:
            free = self._free_capacity()
        except Fault as fault:
            return AdmissionDecision(NOTHING_NEW, fault.sentence, Shortage.DESCRIPTORS)
        if shortage := free.disk_shortage(self._disk_min):
            return AdmissionDecision(NOTHING_NEW, shortage, Shortage.DISK)
        if free.memory < self._memory_min:
            shortage = free.memory_shortage(self._memory_min)
            return AdmissionDecision(NOTHING_NEW, shortage, Shortage.MEMORY)
        if unreachable := self._remote_unreachable():
            # Claiming now would only block machines that can reach the remote.
            return AdmissionDecision(NOTHING_NEW, unreachable, Shortage.REMOTE, may_claim=False)
        exhausted = self._ports_exhausted()
        return (
            AdmissionDecision(BEGUN, exhausted, Shortage.PORTS)
            if exhausted
            else AdmissionDecision()
        )
