"""The dependency graph: cycles, root causes and dependents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaoki.core.graph import dependents, downstream, find_cycle, root_causes
from yaoki.errors import NeedsCircle

DIAMOND = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}
CHAIN = {"a": [], "b": ["a"], "c": ["b"], "d": ["c"]}


def layers(depth: int, width: int) -> dict[str, list[str]]:
    """Every node of a layer needs every node of the layer before: many paths, few nodes."""
    needs: dict[str, list[str]] = {}
    for level in range(depth):
        for n in range(width):
            needs[f"{level}.{n}"] = [f"{level - 1}.{m}" for m in range(width)] if level else []
    return needs


@pytest.mark.spec("2.2")
@pytest.mark.parametrize("needs", [{}, {"a": []}, DIAMOND, CHAIN, layers(4, 3)])
def test_an_acyclic_graph_has_no_cycle(needs: dict[str, list[str]]) -> None:
    assert find_cycle(needs) is None


@pytest.mark.spec("2.2")
@pytest.mark.parametrize(
    ("needs", "length"),
    [
        ({"a": ["a"]}, 1),
        ({"a": ["b"], "b": ["a"]}, 2),
        ({"x": [], "a": ["b", "x"], "b": ["c"], "c": ["a"], "y": ["a"]}, 3),
    ],
)
def test_a_cycle_is_a_path_along_the_needs(needs: dict[str, list[str]], length: int) -> None:
    path = find_cycle(needs)

    assert path is not None
    assert path[0] == path[-1]
    assert len(path) == length + 1
    assert all(need in needs[node] for node, need in pairwise(path))


@pytest.mark.spec("2.2", "0.6")
def test_a_cycle_names_an_edge_that_can_be_removed() -> None:
    error = NeedsCircle(find_cycle({"login": ["session"], "session": ["login"]}) or ())

    assert "needs" in error.sentence
    assert "drop" in error.hint


@pytest.mark.spec("8.5")
def test_dependents_are_the_reversed_needs() -> None:
    assert dependents(DIAMOND) == {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}


@pytest.mark.spec("8.5")
@pytest.mark.parametrize(
    ("start", "needs", "below"),
    [
        ("a", CHAIN, ["b", "c", "d"]),
        ("a", DIAMOND, ["b", "c", "d"]),
        ("b", DIAMOND, ["d"]),
        ("d", DIAMOND, []),
    ],
)
def test_dependents_of_all_levels_are_listed_nearest_first(
    start: str, needs: dict[str, list[str]], below: list[str]
) -> None:
    assert downstream(start, needs) == below


@pytest.mark.spec("8.5", "0.4")
def test_many_paths_do_not_multiply_the_traversal() -> None:
    """Forty layers of three have 3**39 paths; each node is still visited once."""
    needs = layers(40, 3)

    assert len(downstream("0.0", needs)) == 39 * 3
    assert len(root_causes(needs, ["0.0"], lambda _: True)) == 39 * 3


@pytest.mark.spec("8.5", "1.3")
def test_every_level_of_dependents_is_blocked_by_the_root_cause() -> None:
    blocked = root_causes(CHAIN, ["a"], lambda node: node != "a")

    assert blocked == {"b": "a", "c": "a", "d": "a"}


@pytest.mark.spec("8.5", "1.3")
def test_a_task_behind_two_failures_shows_one_cause() -> None:
    failed = {"b", "c"}

    assert root_causes(DIAMOND, ["b", "c"], lambda node: node not in failed) == {"d": "b"}


@pytest.mark.spec("8.5")
def test_a_finished_task_is_not_blocked() -> None:
    """`c` is done, so nothing behind it waits because of `a`."""
    assert root_causes(CHAIN, ["a"], lambda node: node == "b" or node == "d") == {"b": "a"}


@st.composite
def acyclic(draw: st.DrawFn) -> dict[str, list[str]]:
    size = draw(st.integers(1, 12))
    return {
        str(n): [str(m) for m in sorted(draw(st.sets(st.integers(0, n - 1))))] if n else []
        for n in range(size)
    }


def reached(start: str, needs: Mapping[str, Sequence[str]]) -> set[str]:
    found: set[str] = set()
    for node in needs:
        if start in needs[node] or found & set(needs[node]):
            found.add(node)
    return found


@pytest.mark.spec("8.5", "2.2")
@given(acyclic())
def test_every_reachable_dependent_is_listed_once(needs: dict[str, list[str]]) -> None:
    below = downstream("0", needs)

    assert find_cycle(needs) is None
    assert len(below) == len(set(below))
    assert set(below) == reached("0", needs)
