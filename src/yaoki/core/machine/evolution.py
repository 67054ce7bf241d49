"""`evolve` is the only way a task changes, so folding the journal gives the row."""

from __future__ import annotations

from collections.abc import Iterable

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
    name_of,
)
from yaoki.core.machine.fast_replace import replace
from yaoki.core.machine.legality import Illegal, legal
from yaoki.core.machine.transitions import (
    answered,
    blamed,
    escalated,
    finished,
    granted,
    held,
    judged,
    prompted,
    recovering,
    retried,
    returned,
    row_refused,
    started,
    unlanded,
)
from yaoki.core.model import Lease, Reason, RunId, Stage, State, Strategy, Task, TaskId


def create(task_id: TaskId, run_id: RunId, event: Submitted) -> Task:
    """The first state of a task."""
    return Task(
        id=task_id,
        run_id=run_id,
        n=event.n,
        spec=event.spec,
        parent=event.parent,
        lineage=event.lineage,
        counts=event.counts,
        forgiven=event.counts,
        spent_on=event.spent_on,
        forgiven_spend=event.spent_on,
    )


def fold(task: Task, events: Iterable[Event]) -> Task:
    for event in events:
        task = evolve(task, event)
    return task


def evolve(task: Task, event: Event) -> Task:
    """The task after this event."""
    if not legal(task, event):
        raise Illegal(f"{name_of(event)} cannot happen to {task.id} in {task.state}/{task.stage}")
    match event:
        case Submitted():
            raise Illegal("a task is submitted once")
        case Claimed(holder=holder, epoch=epoch, expires_at=expires_at):
            lease = Lease(task.id, holder, epoch, expires_at)
            return replace(task, state=State.ACTIVE, epoch=epoch, lease=lease, due_at=None)
        case LeaseExpired(counted=counted):
            return returned(task, deliveries=1 if counted else 0)
        case Released(due_at=due_at):
            return replace(returned(task, deliveries=0), due_at=due_at)
        case AttemptStarted():
            return started(task, event)
        case PromptSent():
            return prompted(task, event)
        case AgentFinished():
            return finished(task, event)
        case Judged():
            return judged(task, event)
        case LandRefused():
            counts = replace(task.counts, landings=task.counts.landings + 1)
            work = replace(task.work, proven="", onto="", refused=task.work.refused + 1)
            return replace(task, stage=Stage.VERIFY, counts=counts, work=work)
        case Landed(commit=commit):
            return replace(
                task, state=State.DONE, lease=None, landed=commit, reason=None, question=None
            )
        case RetryDecided():
            return retried(task, event)
        case EscalateDecided():
            return escalated(task, event)
        case Held():
            return held(task, event)
        case RerunGranted():
            return granted(task)
        case RecoveryStarted(strategy=Strategy.ESCALATE):
            return task
        case RecoveryStarted(strategy=strategy, failed_subtasks=failed):
            return recovering(task, strategy, failed)
        case Replaced():
            return replace(task, state=State.REPLACED, lease=None, question=None, held=False)
        case Planned(by=by):
            done = replace(task, state=State.DONE, lease=None, reason=None, question=None)
            return done if by else task
        case Blamed():
            return blamed(task)
        case Unlanded():
            return unlanded(task)
        case Answered():
            return answered(task, event)
        case CancelRequested():
            return replace(task, cancel_wanted=True)
        case Cancelled():
            return replace(task, state=State.CANCELLED, lease=None, question=None, held=False)
        case RecallRequested():
            return replace(task, recall_wanted=True)
        case Recalled():
            again = replace(task, recall_wanted=False, stage=Stage.PREPARE, fresh_next=True)
            return replace(again, state=State.WAITING, lease=None, due_at=None)
        case UndoRequested(blame=blame):
            return replace(task, undo_wanted=True, blame=blame)
        case UndoDropped():
            return replace(task, undo_wanted=False, blame=None, unmovable=True)
        case Undone(question=question):
            return replace(
                task,
                state=State.ESCALATED,
                stage=Stage.PREPARE,
                reason=Reason.MANUAL,
                question=question,
                landed="",
                undo_wanted=False,
                fresh_next=True,
                take_over=False,
                work=replace(task.work, proven="", onto=""),
            )
        case RowRefused():
            return row_refused(task)
        case Note():
            return task
