"""A run's status, derived from its tasks; nothing of this is stored."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum, unique

from yaoki.core.model import Run, State


@unique
class Status(StrEnum):
    """How a run stands."""

    ACTIVE = "ACTIVE"
    DONE = "DONE"
    ESCALATED = "ESCALATED"
    PAUSED = "PAUSED"
    CANCELLED = "CANCELLED"


Tally = Mapping[tuple[State, bool], int]

EXIT: Mapping[Status, int] = {
    Status.DONE: 0,
    Status.CANCELLED: 3,
    Status.ESCALATED: 4,
    Status.PAUSED: 5,
    Status.ACTIVE: 5,
}


def proven(run: Run) -> bool:
    """Was `done_when` asked of the run branch?  The proof is a task that is added at the end."""
    return not run.done_when or run.summed_at is not None


def status(tally: Tally, *, resting: bool, proven: bool = True) -> Status:
    """An optional task can leave a note, never a failed run; all landed is not yet proven."""
    required = {state: n for (state, needed), n in tally.items() if needed}
    if not resting or at_work(tally):
        return Status.ACTIVE
    if required.get(State.ESCALATED):
        return Status.ESCALATED
    if required.get(State.CANCELLED):
        return Status.CANCELLED
    if required.get(State.WAITING):
        # Resting and yet waiting: its cause is an optional task that somebody must answer for.
        escalated = tally.get((State.ESCALATED, False), 0)
        return Status.ESCALATED if escalated else Status.CANCELLED
    return Status.DONE if proven else Status.ACTIVE


def at_work(tally: Tally) -> bool:
    """Tasks are counted first, and the last may land before the store is asked whether all rest."""
    return any(n for (state, _), n in tally.items() if state is State.ACTIVE)


def required_done(tally: Tally) -> bool:
    """Every required task is done or was replaced."""
    settled = {State.DONE, State.REPLACED}
    return all(not n or state in settled for (state, needed), n in tally.items() if needed)


def stands_at(run: Run, tally: Tally, *, resting: bool) -> Status:
    """How this run stands: a pause is seen once what was at work has come to its end."""
    if run.paused and resting and not at_work(tally) and not run.cancel_wanted:
        return Status.PAUSED
    return status(tally, resting=resting, proven=proven(run))


def exit_code(run: Run, stands: Status) -> int:
    """A budget is a limit to wait for or to raise; any other pause waits for a person's word."""
    if stands is Status.PAUSED and not run.paused.startswith("budget"):
        return EXIT[Status.ESCALATED]
    return EXIT[stands]
