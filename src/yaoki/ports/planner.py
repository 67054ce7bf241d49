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
    """The answer of a planner.  With `defects` it is not used; `impossible` is a message to a
    person.
    """

    specs: tuple[TaskSpec, ...] = ()
    replaces: Mapping[str, str] = field(default_factory=dict)
    defects: tuple[str, ...] = ()
    impossible: str = ""
    done: bool = False


class PlanReader(Protocol):
    def context(self, run: Run) -> str:
        """The names that a planner may use: the present checks, agents and tasks of the run."""

    def read(self, run: Run, task: Task, folder: Path) -> PlannerAnswer:
        """The answer of the planner that worked in `folder`, checked against the present run."""
