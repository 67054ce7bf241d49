"""The current status of a run, from the store."""

from __future__ import annotations

from yaoki.core.model import Run
from yaoki.core.run_status import RunStatus, current_run_status
from yaoki.ports import StatusReads


def load_run_status(store: StatusReads, run: Run) -> RunStatus:
    return current_run_status(run, store.count_by_state(run.id), idle=_is_settled(store, run))


def has_open_work(store: StatusReads, run: Run) -> bool:
    """Has the run not ended?  A merged run is open again after `yaoki undo`."""
    return load_run_status(store, run) not in {RunStatus.DONE, RunStatus.CANCELLED}


def _is_settled(store: StatusReads, run: Run) -> bool:
    """Is the run settled?  Nothing can be claimed, and no task awaits its re-run or its undo."""
    pending = store.tasks_awaiting_rerun(run.id) or store.tasks_to_undo(run.id)
    return store.is_idle(run.id) and not pending
