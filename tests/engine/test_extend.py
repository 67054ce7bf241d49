"""Extending a run while another process changes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.store.store_actions import open_test_store, submit
from tests.builders import RUN_ID, HandClock, a_spec
from yaoki.adapters.store import SqlStore
from yaoki.engine.commands.extend import ExtendCommand
from yaoki.errors import NotNow


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    made = open_test_store(tmp_path / "state.db", HandClock())
    yield made
    made.close()


@pytest.mark.spec("2.6")
def test_two_concurrent_extensions_of_a_plan_make_two_revisions(store: SqlStore) -> None:
    """Both commands read the run before either wrote, and both used revision 2."""
    submit(store, a_spec("a"))
    command, stale = ExtendCommand(store), store.run(RUN_ID)

    first = command.extend(stale, [a_spec("b")], {})
    second = command.extend(stale, [a_spec("c")], {})

    recorded = [e.data["revision"] for e in store.journal() if e.event == "PLAN_EXTENDED"]
    assert (first.revision, second.revision, store.run(RUN_ID).revision) == (2, 3, 3)
    assert recorded == [2, 3]


@pytest.mark.spec("2.6", "9.5")
def test_a_run_that_is_cancelled_meanwhile_is_not_extended(store: SqlStore) -> None:
    """The stale run was not cancelled yet, and "0 tasks added" was reported as a success."""
    submit(store, a_spec("a"))
    stale = store.run(RUN_ID)
    store.cancel_run(RUN_ID, "by a person")

    with pytest.raises(NotNow, match="was cancelled"):
        ExtendCommand(store).extend(stale, [a_spec("b")], {})

    assert [row.name for row in store.rows(RUN_ID)] == ["a"]


@pytest.mark.spec("2.6")
def test_a_run_that_is_merged_meanwhile_is_not_extended(store: SqlStore) -> None:
    submit(store, a_spec("a"))
    stale = store.run(RUN_ID)
    store.update_run(RUN_ID, "RUN_MERGED", {}, merged="c0ffee")

    with pytest.raises(NotNow, match="is already merged"):
        ExtendCommand(store).extend(stale, [a_spec("b")], {})

    assert [row.name for row in store.rows(RUN_ID)] == ["a"]
