"""The order in which parallel workers get the tests, and the chunks in which they get them.

Tests of one file come together, because they share fixtures; a long test comes alone, and first.
Tests that only compute come last: they are short and keep every core busy to the end.  Those of the
page come late, because a browser may have to be installed first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import pytest

# Real agents and registries answer when they like.
LONG = ("long", "agents", "registries")
COMPUTING = (
    *("tests/architecture/", "tests/core/", "tests/formats/", "tests/report/", "tests/views/"),
    "tests/adapters/agents/corpus/",
)
# Each worker is asked this often at least, so that none works on its last chunk for long.
ROUNDS = 8


def chunks(items: Sequence[pytest.Item], workers: int) -> list[list[int]]:
    """The indices of all items, those of a chunk in the order of the items."""
    files = groupby(range(len(items)), key=lambda index: (_rank(items[index]), items[index].path))
    most = len(items) // (workers * ROUNDS) + 1
    ranked = [
        (rank, part)
        for (rank, _), indices in files
        for part in _parts(list(indices), 1 if rank == 0 else most)
    ]
    return [part for _, part in sorted(ranked, key=lambda one: one[0])]


def _rank(item: pytest.Item) -> int:
    if item.get_closest_marker("browser"):
        return 2
    if any(item.get_closest_marker(name) for name in LONG):
        return 0
    return 3 if item.nodeid.startswith(COMPUTING) else 1


def _parts(indices: list[int], most: int) -> Iterator[list[int]]:
    for start in range(0, len(indices), most):
        yield indices[start : start + most]
