"""How a run stands now, as the store knows it."""

from __future__ import annotations

from yaoki.core.model import Run
from yaoki.core.run_status import Status, stands_at
from yaoki.ports import Store


def status_of(store: Store, run: Run) -> Status:
    return stands_at(run, store.tally(run.id), resting=_rests(store, run))


def _rests(store: Store, run: Run) -> bool:
    """Nothing can be claimed, and nothing waits for its re-run or to be taken back."""
    unsettled = store.held(run.id) or store.undo_wanted(run.id)
    return store.resting(run.id) and not unsettled
