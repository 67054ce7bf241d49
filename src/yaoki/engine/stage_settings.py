"""The values that stages need from the settings and from the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import timedelta
from pathlib import Path

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model.flaky_test import QuarantineEntry
from yaoki.core.text import format_bytes


@dataclass(frozen=True, slots=True)
class StageSettings:
    """Settings as the stages use them."""

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
    # Copy what package managers installed for the same lock file.
    copy_setup: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)
    # The worker's own environment, used to mask its secrets; it is passed to no process.
    worker_environment: Mapping[str, str] = field(default_factory=dict)
    # Variables that every agent gets besides those of its task.
    agent_environment: Mapping[str, str] = field(default_factory=dict)
    # The command of yaoki's MCP server; empty if agents are not given it.
    tool_server: tuple[str, ...] = ()
    # Flaky tests that a person excused until a date.
    quarantine: tuple[QuarantineEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class FreeCapacity:
    """Free bytes on this machine; `fullest_folder` is the folder whose disk has the fewest."""

    disk: int
    memory: int
    fullest_folder: str = ""

    def disk_shortage(self, floor: int) -> str:
        """The shortage and the command that makes room; empty when there is enough."""
        if self.disk >= floor:
            return ""
        at = f" at {self.fullest_folder}; free space (yaoki prune) or lower limits.disk_free_bytes"
        needed = f"disk space is low: {format_bytes(self.disk)} free, {format_bytes(floor)} needed"
        return f"{needed}{at if self.fullest_folder else ''}"

    def memory_shortage(self, floor: int) -> str:
        return f"memory is low: {format_bytes(self.memory)} free, {format_bytes(floor)} needed"
