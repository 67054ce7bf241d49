"""What may happen to a task: the last guard, whatever the rules say."""

from __future__ import annotations

from yaoki.core.machine.events import (
    AgentFinished,
    Answered,
    AttemptStarted,
    Blamed,
    Cancelled,
    CancelRequested,
    Claimed,
    EscalateDecided,
    Event,
    Held,
    Judged,
    Landed,
    LandRefused,
    LeaseExpired,
    Note,
    Planned,
    PromptSent,
    Recalled,
    RecallRequested,
    RecoveryStarted,
    Released,
    Replaced,
    RerunGranted,
    RetryDecided,
    RowRefused,
    Submitted,
    UndoDropped,
    Undone,
    UndoRequested,
    Unlanded,
)
from yaoki.core.model import Stage, State, Task, TaskKind


class Illegal(AssertionError):
    """Our own mistake: an event that cannot happen to the task as it stands."""


def legal(task: Task, event: Event) -> bool:
    """Can this happen to the task as it stands?"""
    active = task.state is State.ACTIVE
    match event:
        case Submitted():
            return False
        case Claimed(epoch=epoch):
            startable = task.state is State.WAITING and not task.held
            return startable and epoch == task.epoch + 1
        case LeaseExpired(epoch=epoch) | Released(epoch=epoch):
            return active and epoch == task.epoch
        case AttemptStarted(attempt=attempt):
            return active and task.stage is Stage.PREPARE and attempt == task.attempt + 1
        case PromptSent() | AgentFinished():
            return active and task.stage is Stage.WORK
        case Judged(passed=passed, commit=commit):
            return active and task.stage is Stage.VERIFY and (bool(commit) or not passed)
        case LandRefused():
            return active and task.stage is Stage.LAND
        case Landed(commit=commit):
            return active and task.stage is Stage.LAND and commit == task.work.proven != ""
        case RetryDecided() | Held():
            return active or task.recalled
        case EscalateDecided():
            return active or task.recalled or task.held
        case RerunGranted():
            return task.held
        case RecoveryStarted():
            return task.spec.kind is TaskKind.GROUP and task.state is State.WAITING
        case Replaced():
            # A proof that is done is replaced once the branch has moved on.
            proof = task.state is State.DONE and task.spec.kind is TaskKind.CHECK
            return task.held or task.state is State.ESCALATED or proof
        case Planned(by=by):
            planning = task.spec.kind is TaskKind.PLAN and not task.state.final
            return planning and (bool(by) or (active and task.stage is Stage.LAND))
        case Blamed():
            return active and task.stage is Stage.VERIFY
        case Unlanded():
            return task.state is State.DONE
        case Answered():
            return task.state is State.ESCALATED
        case CancelRequested():
            return not task.state.final
        case Cancelled():
            return not task.state.final and task.cancel_wanted
        case RecallRequested():
            return active
        case Recalled():
            return active and task.recall_wanted
        case UndoRequested() | Undone() | UndoDropped():
            return task.state is State.DONE
        case RowRefused() | Note():
            return True
