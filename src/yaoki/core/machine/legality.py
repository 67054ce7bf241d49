"""The legality of events: the last guard against an event that cannot happen to a task."""

from __future__ import annotations

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
)
from yaoki.core.machine.journal_notes import JournalNote
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
from yaoki.core.model import Stage, State, Task, TaskKind


class IllegalEvent(AssertionError):
    """An event that cannot happen to the task in its present state: a bug, or an edited row."""


def legal(task: Task, event: Event) -> bool:
    """May this event happen to the task in its present state?"""
    active = task.state is State.ACTIVE
    match event:
        case Submitted():
            return False
        case Claimed(epoch=epoch):
            # A racing task that a person cancels is claimed to be ended.
            held = task.awaiting_rerun or (task.awaiting_race and not task.cancel_requested)
            startable = task.state is State.WAITING and not held
            return startable and epoch == task.epoch + 1
        case AgentSwitched(agent_index=agent_index):
            # The chain is a circle: an agent before the present one may follow.
            other = agent_index != task.agent_index and 0 <= agent_index < len(task.spec.agents)
            return task.state is State.WAITING and task.stage is Stage.PREPARE and other
        case LeaseExpired(epoch=epoch) | LeaseReleased(epoch=epoch):
            return active and epoch == task.epoch
        case AttemptStarted(attempt=attempt):
            return active and task.stage is Stage.PREPARE and attempt == task.attempt + 1
        case PromptSent() | AgentFinished() | AgentRunLost():
            return active and task.stage is Stage.WORK
        case Judged(passed=passed, commit=commit):
            return active and task.stage is Stage.VERIFY and (bool(commit) or not passed)
        case JointProofFailed():
            return active and task.stage is Stage.VERIFY
        case LandingRefused():
            return active and task.stage is Stage.LAND
        case Landed(commit=commit):
            return active and task.stage is Stage.LAND and commit == task.work.verified_commit != ""
        case RetryDecided() | AwaitingRerun():
            return active or task.decision_due
        case EscalationDecided():
            return active or task.decision_due or task.awaiting_rerun
        case RerunGranted():
            return task.awaiting_rerun
        case RecoveryStarted():
            return task.spec.kind is TaskKind.GROUP and task.state is State.WAITING
        case Replaced():
            # A final check that is done is replaced once the branch has moved.
            proof = task.state is State.DONE and task.spec.kind is TaskKind.CHECK
            return task.awaiting_rerun or task.state is State.ESCALATED or proof
        case Planned(by=by):
            planning = task.spec.kind is TaskKind.PLAN and not task.state.is_final
            return planning and (bool(by) or (active and task.stage is Stage.LAND))
        case CulpritFound():
            return active and task.stage is Stage.VERIFY
        case LandingReverted():
            return task.state is State.DONE
        case Answered():
            return task.state is State.ESCALATED
        case WaitEnded():
            return task.state is State.WAITING
        case CancelRequested():
            return not task.state.is_final
        case Cancelled():
            return not task.state.is_final and task.cancel_requested
        case RecallRequested():
            return active
        case Recalled():
            return active and task.recall_requested
        case UndoRequested() | UndoCompleted() | UndoDropped():
            return task.state is State.DONE
        case RaceStarted():
            return active and task.stage is Stage.WORK and task.spec.race is not None
        case CandidateReleased():
            waits = task.state is State.WAITING and task.stage is Stage.PREPARE
            return bool(task.race_task) and waits
        case CandidateProven():
            return bool(task.race_task) and active and task.stage is Stage.LAND
        case CandidateFailed():
            return bool(task.race_task) and active
        case CandidateRetired():
            return bool(task.race_task) and not task.state.is_final
        case CandidateSettled():
            return task.spec.race is not None
        case JudgeCalled():
            may_judge = task.spec.race is not None and bool(task.spec.race.judge)
            return task.awaiting_race and may_judge and not task.judge
        case JudgeEnded():
            return task.spec.kind is TaskKind.JUDGE and not task.state.is_final
        case JudgeSettled():
            return task.spec.race is not None
        case RaceDecided():
            return task.awaiting_race and task.spec.race is not None
        case ChecksRevised():
            return task.state not in {State.CANCELLED, State.REPLACED}
        case RowRefused() | JournalNote():
            return True
