"""What a store caches of the runs it has read."""

from __future__ import annotations

import gc

import pytest

from tests.adapters.store.store_actions import StoreLocation, open_test_store, submit
from tests.builders import MINUTE, a_spec
from yaoki.core.model import Catalogue, RunId
from yaoki.ports import Claimant

RUNS, CACHED_MAX = 1_100, 1_000


def count_catalogues() -> int:
    gc.collect()
    return sum(type(each) is Catalogue for each in gc.get_objects())


@pytest.mark.full
@pytest.mark.sqlite(why="what a process caches does not depend on the database")
@pytest.mark.spec("15", "0.4")
def test_a_process_caches_the_catalogues_of_the_newest_runs_only(
    store_location: StoreLocation,
) -> None:
    """A daemon once cached the catalogue of every run that it ever served."""
    store = open_test_store(store_location, limits={"pending_runs_max": RUNS})
    before = count_catalogues()

    for n in range(RUNS):
        run = RunId(f"run{n:05}")
        submit(store, a_spec("a"), run=run)
        assert store.claim(Claimant("host:1", MINUTE), 1, runs=[run])

    # The local variable holds one more.
    assert count_catalogues() - before <= CACHED_MAX + 1
    store.close()
