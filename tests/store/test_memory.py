"""What a store remembers in memory of the runs it has seen."""

from __future__ import annotations

import gc

import pytest

from tests.builders import MINUTE, a_spec
from tests.store.acts import Where, opened, submit
from yaoki.core.model import Catalogue, RunId

RUNS, REMEMBERED_MAX = 1_100, 1_000


def catalogues() -> int:
    gc.collect()
    return sum(type(one) is Catalogue for one in gc.get_objects())


@pytest.mark.sqlite(why="what a process remembers does not depend on the database")
@pytest.mark.spec("15", "0.4")
def test_a_process_that_saw_many_runs_remembers_only_the_newest(where: Where) -> None:
    """A daemon kept the catalogue of every run that it ever served."""
    store = opened(where, limits={"pending_runs_max": RUNS})
    before = catalogues()

    for n in range(RUNS):
        run = RunId(f"run{n:05}")
        submit(store, a_spec("a"), run=run)
        assert store.claim("host:1", MINUTE, 1, runs=[run])

    # The run in hand is one more.
    assert catalogues() - before <= REMEMBERED_MAX + 1
    store.close()
