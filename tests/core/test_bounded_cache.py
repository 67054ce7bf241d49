"""A bounded cache."""

from __future__ import annotations

import pytest

from yaoki.core.bounded_cache import BoundedCache

pytestmark = pytest.mark.spec("0.4")


def test_a_bounded_cache_keeps_the_newest_entries() -> None:
    """A worker that serves runs for months kept a line of each of them for ever."""
    seen: BoundedCache[int, str] = BoundedCache(most=3)

    for n in range(1_000):
        seen[n] = str(n)

    assert dict(seen) == {997: "997", 998: "998", 999: "999"}


def test_an_entry_set_again_counts_as_new() -> None:
    seen: BoundedCache[str, int] = BoundedCache(most=2)
    seen["old"], seen["other"] = 1, 1

    seen["old"] = 2
    seen["new"] = 3

    assert dict(seen) == {"old": 2, "new": 3}
