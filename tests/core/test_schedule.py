"""Which task starts next: priority with ageing, fair between runs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import MINUTE, NOW, SECOND
from yaoki.core.model import RunId
from yaoki.core.schedule import AGEING, fair_order, rank, slots_per_run

A, B, C = RunId("a"), RunId("b"), RunId("c")


@pytest.mark.spec("11.6")
def test_a_higher_priority_starts_first() -> None:
    assert rank(NOW, 1) < rank(NOW, 0) < rank(NOW, -1)


@pytest.mark.spec("11.6")
def test_the_longest_waiting_of_equal_tasks_starts_first() -> None:
    assert rank(NOW, 0) < rank(NOW + SECOND, 0)


@pytest.mark.spec("11.6")
def test_waiting_outweighs_priority() -> None:
    """One step of priority is worth ten minutes of waiting, no more."""
    assert AGEING == 10 * MINUTE
    assert rank(NOW, 0) < rank(NOW + AGEING + SECOND, 1)
    assert rank(NOW, 0) > rank(NOW + AGEING - SECOND, 1)


@pytest.mark.spec("11.6")
@given(
    st.timedeltas(timedelta(0), timedelta(days=9)),
    st.timedeltas(timedelta(0), timedelta(days=9)),
    st.integers(-9, 9),
    st.integers(-9, 9),
    st.timedeltas(timedelta(0), timedelta(days=9)),
)
def test_the_order_of_two_waiting_tasks_never_changes(
    one: timedelta, other: timedelta, high: int, low: int, later: timedelta
) -> None:
    """Aged priority grows for both at the same pace, so an index can hold the order."""

    def aged(ready: timedelta, priority: int, now: timedelta) -> float:
        return priority + (now - ready) / AGEING

    first, second = aged(one, high, later), aged(other, low, later)
    if abs(first - second) > 1e-6:
        assert (first > second) == (rank(NOW + one, high) < rank(NOW + other, low))


@pytest.mark.spec("11.6")
@pytest.mark.parametrize(
    ("waiting", "active", "limit", "order"),
    [
        ({A: 9, B: 9}, {}, 4, [A, B, A, B]),
        ({A: 9, B: 9}, {A: 2}, 3, [B, B, A]),
        ({A: 1, B: 9}, {}, 4, [A, B, B, B]),
        ({A: 2}, {}, 5, [A, A]),
        ({A: 9, B: 0}, {}, 2, [A, A]),
        ({}, {}, 2, []),
        ({A: 9}, {}, 0, []),
        ({A: 9, B: 9, C: 9}, {A: 1, B: 1, C: 1}, 3, [A, B, C]),
    ],
)
def test_the_run_with_the_fewest_active_tasks_is_next(
    waiting: dict[RunId, int], active: dict[RunId, int], limit: int, order: list[RunId]
) -> None:
    assert fair_order(waiting, active, limit) == order


@pytest.mark.spec("11.6")
@given(
    st.dictionaries(st.sampled_from([A, B, C]), st.integers(0, 20)),
    st.dictionaries(st.sampled_from([A, B, C]), st.integers(0, 20)),
    st.integers(0, 40),
)
def test_slots_are_shared_fairly_and_used_completely(
    waiting: dict[RunId, int], active: dict[RunId, int], limit: int
) -> None:
    given_ = slots_per_run(fair_order(waiting, active, limit))

    assert sum(given_.values()) == min(limit, sum(waiting.values()))
    assert all(n <= waiting[run] for run, n in given_.items())
    busy = {run: active.get(run, 0) + given_.get(run, 0) for run in waiting}
    for run in waiting:
        if given_.get(run, 0) < waiting[run]:
            hungry = busy[run]
            assert all(busy[r] <= hungry + 1 for r in waiting if given_.get(r, 0))
