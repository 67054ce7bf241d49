"""A planner's answer as tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Protocol

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Run, Task, TaskSpec


@dataclass(frozen=True, slots=True)
class PlannerAnswer:
    """With `defects` nothing of it counts.  `impossible` is the planner's own word for a person."""

    specs: tuple[TaskSpec, ...] = ()
    replaces: Mapping[str, str] = field(default_factory=dict)
    defects: tuple[str, ...] = ()
    impossible: str = ""
    done: bool = False


class PlanReader(Protocol):
    def context(self, run: Run) -> str:
        """What a planner may name: the run's checks, agents and tasks as they stand."""

    def read(self, run: Run, task: Task, folder: Path) -> PlannerAnswer:
        """What the planner that worked in `folder` answered, held against the run as it stands."""
