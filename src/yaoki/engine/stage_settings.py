"""What the stages need to know of the settings and of the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import timedelta
from pathlib import Path

from yaoki.core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class StageSettings:
    """What the stages need to know of the settings."""

    folder: Path
    host: str
    lease: timedelta
    adopt: bool = True
    snapshots: bool = True
    disk_free_min: int = 0
    memory_free_min: int = 0
    output_bytes_max: int = 1 << 30
    prompt_bytes_max: int = 120_000
    agent_wait: timedelta = timedelta(minutes=2)
    hang_warning: timedelta = timedelta(minutes=5)
    setup_timeout: timedelta = timedelta(minutes=10)
    environment: Mapping[str, str] = field(default_factory=dict)
    # All that the worker itself knows: secrets in it are masked, and nobody is given it.
    worker_environment: Mapping[str, str] = field(default_factory=dict)
    # What every agent is told besides who it is.
    agent_environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FreeCapacity:
    """How many bytes this machine has left; `place` is the folder whose disk has the fewest."""

    disk: int
    memory: int
    fullest_folder: str = ""

    def disk_shortage(self, floor: int) -> str:
        """What is wrong with the disk, and the command that makes room; empty when nothing is."""
        if self.disk >= floor:
            return ""
        at = f" at {self.fullest_folder}; make room (yaoki prune), or lower limits.disk_free_bytes"
        return (
            f"{self.disk} bytes of disk are free, {floor} are "
            f"needed{at if self.fullest_folder else ''}"
        )
