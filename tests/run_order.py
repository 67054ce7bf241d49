"""The order in which parallel test processes run the tests: those that wait for long come first.

pytest-xdist gives each process an equal part of the tests, in order; a process without tests takes
half of another one's.  A test of a minute that comes last keeps all other processes waiting.
"""

from __future__ import annotations

import pytest

# Real agents and registries answer when they like.
LONG = ("long", "agents", "registries")


def start_long_tests_first(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Every process must see the same order, so it depends on the tests and their number alone."""
    processes = getattr(config, "workerinput", {}).get("workercount", 1)
    long = [item for item in items if _is_long(item)]
    others = [item for item in items if not _is_long(item)]
    size = -(-len(others) // processes)
    ordered: list[pytest.Item] = []
    for number in range(processes):
        ordered += long[number::processes] + others[number * size : (number + 1) * size]
    items[:] = ordered


def _is_long(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in LONG)
