"""The dependency graph of a run as screens draw it, computed once per version of the run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from yaoki.core.graph import dependents
from yaoki.core.model import TaskId

NeedsByTask = Mapping[TaskId, tuple[TaskId, ...]]


class DependencyGraph:
    """The needs of every task of one run."""

    def __init__(self, needs: NeedsByTask) -> None:
        self.needs = needs

    @cached_property
    def dependents(self) -> dict[TaskId, list[TaskId]]:
        """The reverse of `needs`: the tasks that wait for each task."""
        return dependents(self.needs)

    @cached_property
    def layers(self) -> dict[TaskId, int]:
        """The longest path from a task without needs; the order of the tasks does not matter."""
        layers: dict[TaskId, int] = {}
        for first in self.needs:
            stack = [first]
            while stack:
                task_id = stack[-1]
                wanted = self.needs[task_id]
                open_ = [need for need in wanted if need in self.needs and need not in layers]
                if open_ and task_id not in layers:
                    stack += open_
                    continue
                stack.pop()
                below = [layers[need] for need in wanted if need in layers]
                layers.setdefault(task_id, max(below, default=-1) + 1)
        return layers

    def count_dependents(self, task_id: TaskId) -> int:
        """The number of tasks that depend on this one, directly or not."""
        reached: set[TaskId] = {task_id}
        level = [task_id]
        while level:
            level = [n for n in dict.fromkeys(self._after(level)) if n not in reached]
            reached.update(level)
        return len(reached) - 1

    def _after(self, level: list[TaskId]) -> list[TaskId]:
        return [one for node in level for one in self.dependents.get(node, ())]
