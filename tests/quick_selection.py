"""`--quick`: each rule is tested once; without it every test runs with all its parameters.

`python3 dev.py test` is quick, `python3 dev.py full` is not, and neither is plain `pytest`.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

VARIABLE = "TESTS_QUICK"


def is_quick() -> bool:
    return VARIABLE in os.environ


def example_count(most: int) -> int:
    """Examples of a property test: a quick run tries a quarter of them."""
    return most // 4 if is_quick() else most


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests marked as `full`, and parameters beyond `quick_cases`."""
    seen: Counter[str] = Counter()
    chosen: list[pytest.Item] = []
    rest: list[pytest.Item] = []
    for item in items:
        function = item.nodeid.partition("[")[0]
        seen[function] += 1
        marked = item.get_closest_marker("quick_cases")
        too_many = marked is not None and seen[function] > marked.args[0]
        (rest if too_many or item.get_closest_marker("full") else chosen).append(item)
    if rest:
        config.hook.pytest_deselected(items=rest)
        items[:] = chosen
