"""`evolve` is the only way a task changes, so folding the journal gives the row."""

from __future__ import annotations

from collections.abc import Iterable

from yaoki.core.machine.events import (
    AgentFinished,
    AgentRunLost,
    AgentSwitched,
    AttemptStarted,
    AwaitingRerun,
    Claimed,
    CulpritFound,
    EscalationDecided,
    Event,
    JointProofFailed,
    Judged,
    Landed,
    LandingRefused,
    LandingReverted,
    LeaseExpired,
    LeaseReleased,
    Planned,
    PromptSent,
    RecoveryStarted,
    Replaced,
    RerunGranted,
    RetryDecided,
    RowRefused,
    Submitted,
    event_name,
)
from yaoki.core.machine.failure_transitions import (
    apply_awaiting_rerun,
    apply_escalation,
    apply_rerun_granted,
    apply_retry,
    switch_agent,
)
from yaoki.core.machine.fast_replace import replace
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.machine.legality import IllegalEvent, legal
from yaoki.core.machine.race_events import (
    CandidateFailed,
    CandidateProven,
    CandidateReleased,
    CandidateRetired,
    CandidateSettled,
    JudgeCalled,
    JudgeEnded,
    JudgeSettled,
    RaceDecided,
    RaceStarted,
)
from yaoki.core.machine.race_transitions import (
    apply_candidate_failed,
    apply_candidate_proven,
    apply_candidate_released,
    apply_judge_ended,
    apply_race_decided,
    apply_race_started,
)
from yaoki.core.machine.request_events import (
    Answered,
    Cancelled,
    CancelRequested,
    ChecksRevised,
    Recalled,
    RecallRequested,
    UndoCompleted,
    UndoDropped,
    UndoRequested,
    WaitEnded,
)
from yaoki.core.machine.transitions import (
    apply_agent_finished,
    apply_agent_run_lost,
    apply_answer,
    apply_attempt_started,
    apply_checks_revised,
    apply_culprit_found,
    apply_final,
    apply_joint_proof_failed,
    apply_judgment,
    apply_landed,
    apply_landing_refused,
    apply_landing_reverted,
    apply_lease_ended,
    apply_lease_released,
    apply_prompt_sent,
    apply_recalled,
    apply_recovery_started,
    apply_row_refused,
    apply_undo_completed,
    apply_undo_dropped,
    apply_wait_ended,
)
from yaoki.core.model import (
    Lease,
    PendingRequest,
    RecoveryStrategy,
    RunId,
    State,
    Task,
    TaskId,
    TaskKind,
    WaitReason,
)


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
        race_task=event.race_task,
        waiting_for=WaitReason.RACE if _awaits_release(event) else WaitReason.CLAIM,
    )


def _awaits_release(event: Submitted) -> bool:
    """Is the new task a candidate, which waits for its start?  A judge may start at once."""
    return bool(event.race_task) and event.spec.kind is not TaskKind.JUDGE


def fold_events(task: Task, events: Iterable[Event]) -> Task:
    for event in events:
        task = evolve(task, event)
    return task


def replay(task: Task, event: Event) -> Task:
    """`evolve` for an event from a journal that an older version may have written.

    In earlier versions a landing kept the request to cancel or recall the task.  Such a journal can
    hold TASK_CANCELLED or TASK_RECALLED for a task whose request is over today; the request is
    made again here, so that the journal folds to the row that was written with it.
    """
    match event:
        case Cancelled() if not task.cancel_requested:
            return fold_events(task, (CancelRequested(), event))
        case Recalled() if task.request is PendingRequest.NONE:
            return fold_events(task, (RecallRequested(), event))
        case _:
            return evolve(task, event)


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
            return replace(
                task,
                state=State.ACTIVE,
                epoch=epoch,
                lease=lease,
                due_at=None,
                waiting_for=WaitReason.CLAIM,
            )
        case AgentSwitched(agent_index=agent_index, cause=cause, why=why):
            return switch_agent(task, agent_index, cause, why)
        case LeaseExpired(counted=counted):
            return apply_lease_ended(task, deliveries=1 if counted else 0)
        case LeaseReleased():
            return apply_lease_released(task, event)
        case AttemptStarted():
            return apply_attempt_started(task, event)
        case PromptSent():
            return apply_prompt_sent(task, event)
        case AgentFinished():
            return apply_agent_finished(task, event)
        case AgentRunLost():
            return apply_agent_run_lost(task, event)
        case Judged():
            return apply_judgment(task, event)
        case JointProofFailed():
            return apply_joint_proof_failed(task)
        case LandingRefused():
            return apply_landing_refused(task, event)
        case Landed(commit=commit):
            return apply_landed(task, commit)
        case RetryDecided():
            return apply_retry(task, event)
        case EscalationDecided():
            return apply_escalation(task, event)
        case AwaitingRerun():
            return apply_awaiting_rerun(task, event)
        case RerunGranted(agent_index=agent_index):
            return apply_rerun_granted(task, agent_index)
        case RecoveryStarted(strategy=RecoveryStrategy.ESCALATE):
            return task
        case RecoveryStarted(strategy=strategy, failed_subtasks=failed):
            return apply_recovery_started(task, strategy, failed)
        case Replaced():
            return apply_final(task, State.REPLACED, PendingRequest.NONE)
        case Planned(by=by):
            return apply_landed(task, "") if by else task
        case CulpritFound():
            return apply_culprit_found(task)
        case LandingReverted():
            return apply_landing_reverted(task)
        case Answered():
            return apply_answer(task, event)
        case WaitEnded(words=words):
            return apply_wait_ended(task, words)
        case CancelRequested():
            return replace(task, request=PendingRequest.CANCEL)
        case Cancelled():
            return apply_final(task, State.CANCELLED, PendingRequest.CANCEL)
        case RecallRequested():
            return task if task.cancel_requested else replace(task, request=PendingRequest.RECALL)
        case Recalled():
            return apply_recalled(task)
        case UndoRequested(revert_cause=blame):
            return replace(task, request=PendingRequest.UNDO, revert_cause=blame)
        case UndoDropped():
            return apply_undo_dropped(task)
        case UndoCompleted():
            return apply_undo_completed(task, event)
        case ChecksRevised():
            return apply_checks_revised(task, event)
        case RaceStarted(candidates=candidates):
            return apply_race_started(task, candidates)
        case CandidateReleased():
            return apply_candidate_released(task, event)
        case CandidateProven(score=score):
            return apply_candidate_proven(task, score)
        case CandidateFailed():
            return apply_candidate_failed(task, event)
        case CandidateRetired():
            return apply_final(task, State.REPLACED, PendingRequest.NONE)
        case JudgeCalled(judge=judge):
            return replace(task, judge=judge)
        case JudgeEnded():
            return apply_judge_ended(task, event)
        case CandidateSettled(spend=spend) | JudgeSettled(spend=spend):
            return replace(task, spend=task.spend.plus(spend))
        case RaceDecided():
            return apply_race_decided(task, event)
        case RowRefused():
            return apply_row_refused(task)
        case JournalNote():
            return task
