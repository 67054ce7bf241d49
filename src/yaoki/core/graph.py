"""The dependency graph: cycles, levels, and which task blocks which."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

Node = TypeVar("Node", bound=str)


def find_cycle(needs: Mapping[str, Sequence[str]]) -> tuple[str, ...] | None:
    """The path of one cycle, with its first name repeated at the end; None if there is none."""
    from graphlib import CycleError, TopologicalSorter

    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        # graphlib lists each node after the one that needs it; reversed reads `a needs b`.
        return tuple(reversed(error.args[1]))
    return None


def dependents(needs: Mapping[Node, Sequence[Node]]) -> dict[Node, list[Node]]:
    """The dependents of each task."""
    by_need: dict[Node, list[Node]] = {node: [] for node in needs}
    for node, needed in needs.items():
        for need in needed:
            by_need.setdefault(need, []).append(node)
    return by_need


def downstream(start: Node, needs: Mapping[Node, Sequence[Node]]) -> list[Node]:
    """Everything that needs `start`, directly or not, nearest first."""
    waiting = dependents(needs)
    seen: dict[Node, None] = {}
    level: list[Node] = [start]
    while level:
        # Each node once per level: many paths must not multiply the work.
        below = dict.fromkeys(n for node in level for n in waiting.get(node, ()) if n not in seen)
        seen.update(below)
        level = list(below)
    seen.pop(start, None)
    return list(seen)


def root_causes(
    needs: Mapping[Node, Sequence[Node]], failed: Iterable[Node], open_: Callable[[Node], bool]
) -> dict[Node, Node]:
    """The failed task that blocks each open task which cannot start now.

    One walk over the graph, whatever the number of failed tasks.
    """
    waiting = dependents(needs)
    root: dict[Node, Node] = {}
    for cause in failed:
        level: list[Node] = [cause]
        while level:
            following: list[Node] = []
            for node in level:
                for dependent in waiting.get(node, ()):
                    if dependent not in root and open_(dependent):
                        root[dependent] = cause
                        following.append(dependent)
            level = following
    return root
