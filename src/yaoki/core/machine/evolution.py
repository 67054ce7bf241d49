"""`evolve` is the only way a task changes, so folding the journal gives the row."""

from __future__ import annotations

from collections.abc import Iterable

from yaoki.core.machine.events import (
    AgentFinished,
    Answered,
    AttemptStarted,
    AwaitingRerun,
    Cancelled,
    CancelRequested,
    Claimed,
    CulpritFound,
    EscalationDecided,
    Event,
    JournalNote,
    Judged,
    Landed,
    LandingRefused,
    LandingReverted,
    LeaseExpired,
    LeaseReleased,
    Planned,
    PromptSent,
    Recalled,
    RecallRequested,
    RecoveryStarted,
    Replaced,
    RerunGranted,
    RetryDecided,
    RowRefused,
    Submitted,
    UndoCompleted,
    UndoDropped,
    UndoRequested,
    event_name,
)
from yaoki.core.machine.fast_replace import replace
from yaoki.core.machine.legality import IllegalEvent, legal
from yaoki.core.machine.transitions import (
    apply_agent_finished,
    apply_answer,
    apply_attempt_started,
    apply_awaiting_rerun,
    apply_culprit_found,
    apply_escalation,
    apply_judgment,
    apply_landing_reverted,
    apply_lease_ended,
    apply_prompt_sent,
    apply_recovery_started,
    apply_rerun_granted,
    apply_retry,
    apply_row_refused,
)
from yaoki.core.model import Lease, Reason, RecoveryStrategy, RunId, Stage, State, Task, TaskId


def create_task(task_id: TaskId, run_id: RunId, event: Submitted) -> Task:
    """The first state of a task."""
    return Task(
        id=task_id,
        run_id=run_id,
        n=event.n,
        spec=event.spec,
        parent=event.parent,
        lineage=event.lineage,
        counts=event.counts,
        forgiven_counts=event.counts,
        spend=event.spend,
        forgiven_spend=event.spend,
    )


def fold_events(task: Task, events: Iterable[Event]) -> Task:
    for event in events:
        task = evolve(task, event)
    return task


def evolve(task: Task, event: Event) -> Task:
    """The task after this event."""
    if not legal(task, event):
        raise IllegalEvent(
            f"{event_name(event)} cannot happen to {task.id} in {task.state}/{task.stage}"
        )
    match event:
        case Submitted():
            raise IllegalEvent("a task is submitted once")
        case Claimed(holder=holder, epoch=epoch, expires_at=expires_at):
            lease = Lease(task.id, holder, epoch, expires_at)
            return replace(task, state=State.ACTIVE, epoch=epoch, lease=lease, due_at=None)
        case LeaseExpired(counted=counted):
            return apply_lease_ended(task, deliveries=1 if counted else 0)
        case LeaseReleased(due_at=due_at):
            return replace(apply_lease_ended(task, deliveries=0), due_at=due_at)
        case AttemptStarted():
            return apply_attempt_started(task, event)
        case PromptSent():
            return apply_prompt_sent(task, event)
        case AgentFinished():
            return apply_agent_finished(task, event)
        case Judged():
            return apply_judgment(task, event)
        case LandingRefused():
            counts = replace(task.counts, refused_landings=task.counts.refused_landings + 1)
            work = replace(
                task.work,
                verified_commit="",
                onto="",
                landing_refusals=task.work.landing_refusals + 1,
            )
            return replace(task, stage=Stage.VERIFY, counts=counts, work=work)
        case Landed(commit=commit):
            return replace(
                task, state=State.DONE, lease=None, landed_commit=commit, reason=None, question=None
            )
        case RetryDecided():
            return apply_retry(task, event)
        case EscalationDecided():
            return apply_escalation(task, event)
        case AwaitingRerun():
            return apply_awaiting_rerun(task, event)
        case RerunGranted():
            return apply_rerun_granted(task)
        case RecoveryStarted(strategy=RecoveryStrategy.ESCALATE):
            return task
        case RecoveryStarted(strategy=strategy, failed_subtasks=failed):
            return apply_recovery_started(task, strategy, failed)
        case Replaced():
            return replace(
                task, state=State.REPLACED, lease=None, question=None, awaiting_rerun=False
            )
        case Planned(by=by):
            done = replace(task, state=State.DONE, lease=None, reason=None, question=None)
            return done if by else task
        case CulpritFound():
            return apply_culprit_found(task)
        case LandingReverted():
            return apply_landing_reverted(task)
        case Answered():
            return apply_answer(task, event)
        case CancelRequested():
            return replace(task, cancel_requested=True)
        case Cancelled():
            return replace(
                task, state=State.CANCELLED, lease=None, question=None, awaiting_rerun=False
            )
        case RecallRequested():
            return replace(task, recall_requested=True)
        case Recalled():
            again = replace(
                task, recall_requested=False, stage=Stage.PREPARE, needs_fresh_worktree=True
            )
            return replace(again, state=State.WAITING, lease=None, due_at=None)
        case UndoRequested(revert_cause=blame):
            return replace(task, undo_requested=True, revert_cause=blame)
        case UndoDropped():
            return replace(task, undo_requested=False, revert_cause=None, revert_failed=True)
        case UndoCompleted(question=question):
            return replace(
                task,
                state=State.ESCALATED,
                stage=Stage.PREPARE,
                reason=Reason.MANUAL,
                question=question,
                landed_commit="",
                undo_requested=False,
                needs_fresh_worktree=True,
                taken_over=False,
                work=replace(task.work, verified_commit="", onto=""),
            )
        case RowRefused():
            return apply_row_refused(task)
        case JournalNote():
            return task
