"""The status of a run, derived from its tasks and never stored."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum, unique

from yaoki.core.model import PauseCause, Run, State


@unique
class RunStatus(StrEnum):
    """The status of a run."""

    ACTIVE = "ACTIVE"
    DONE = "DONE"
    ESCALATED = "ESCALATED"
    PAUSED = "PAUSED"
    CANCELLED = "CANCELLED"


StateCounts = Mapping[tuple[State, bool], int]

EXIT_CODES: Mapping[RunStatus, int] = {
    RunStatus.DONE: 0,
    RunStatus.CANCELLED: 3,
    RunStatus.ESCALATED: 4,
    RunStatus.PAUSED: 5,
    RunStatus.ACTIVE: 5,
}


def final_check_requested(run: Run) -> bool:
    """Does the run have a `done_when`?  The final check is a task that is added at the end."""
    return not run.done_when or run.finished_at is not None


def awaits_revised_checks(run: Run) -> bool:
    """Were the checks of a run revised that has not ended since?  Its head is not proven by them,
    even if all of its tasks are done.
    """
    return run.revision > 1 and run.finished_at is None


def derive_run_status(tally: StateCounts, *, idle: bool, proven: bool = True) -> RunStatus:
    """A failed optional task does not fail the run; with all tasks landed it is not yet proven."""
    required = {state: n for (state, needed), n in tally.items() if needed}
    if not idle or has_active_tasks(tally):
        return RunStatus.ACTIVE
    if required.get(State.ESCALATED):
        return RunStatus.ESCALATED
    if required.get(State.CANCELLED):
        return RunStatus.CANCELLED
    if required.get(State.WAITING):
        # Idle with waiting tasks: an optional task that they need is escalated.
        escalated = tally.get((State.ESCALATED, False), 0)
        return RunStatus.ESCALATED if escalated else RunStatus.CANCELLED
    return RunStatus.DONE if proven else RunStatus.ACTIVE


def has_active_tasks(tally: StateCounts) -> bool:
    """Tasks are counted before the store is asked for idleness; the last may land in between."""
    return any(n for (state, _), n in tally.items() if state is State.ACTIVE)


def current_run_status(run: Run, tally: StateCounts, *, idle: bool) -> RunStatus:
    """The status of this run; a pause shows once the active tasks have ended."""
    if run.pause_reason and idle and not has_active_tasks(tally) and not run.cancel_requested:
        return RunStatus.PAUSED
    return derive_run_status(tally, idle=idle, proven=final_check_requested(run))


def exit_code(run: Run, status: RunStatus) -> int:
    """A budget is a limit that can be raised later; any other pause needs a person."""
    if status is RunStatus.PAUSED and run.pause_cause is not PauseCause.BUDGET:
        return EXIT_CODES[RunStatus.ESCALATED]
    return EXIT_CODES[status]
