"""What may happen to a task, and what it makes of it.

`legal` is the last guard, whatever the rules say; `evolve` is the only way a task changes,
so folding the journal gives the row.
"""

from __future__ import annotations

from collections.abc import Iterable

from yaoki.core.events import (
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
    Submitted,
    UndoDropped,
    Undone,
    UndoRequested,
    Unlanded,
    name_of,
)
from yaoki.core.model import (
    CONTENT,
    Choice,
    Counts,
    Failure,
    Kind,
    Lease,
    Reason,
    RunId,
    Stage,
    State,
    Strategy,
    Task,
    TaskId,
    TaskKind,
    Work,
)
from yaoki.core.replacing import replace


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
            return task.held or task.state is State.ESCALATED
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
        case Note():
            return True


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
            return _returned(task, deliveries=1 if counted else 0)
        case Released(due_at=due_at):
            return replace(_returned(task, deliveries=0), due_at=due_at)
        case AttemptStarted():
            return _started(task, event)
        case PromptSent():
            return replace(task, work=replace(task.work, started=True))
        case AgentFinished():
            return _finished(task, event)
        case Judged():
            return _judged(task, event)
        case LandRefused():
            counts = replace(task.counts, landings=task.counts.landings + 1)
            work = replace(task.work, proven="", onto="", refused=task.work.refused + 1)
            return replace(task, stage=Stage.VERIFY, counts=counts, work=work)
        case Landed(commit=commit):
            return replace(
                task, state=State.DONE, lease=None, landed=commit, reason=None, question=None
            )
        case RetryDecided():
            return _retried(task, event)
        case EscalateDecided():
            return _escalated(task, event)
        case Held():
            return _held(task, event)
        case RerunGranted():
            return _granted(task)
        case RecoveryStarted(strategy=Strategy.ESCALATE):
            return task
        case RecoveryStarted(strategy=strategy, failed_subtasks=failed):
            counts = replace(task.counts, reruns=task.counts.reruns + 1)
            return replace(task, counts=counts, strategy=strategy, recovered=failed)
        case Replaced():
            return replace(task, state=State.REPLACED, lease=None, question=None, held=False)
        case Planned(by=by):
            done = replace(task, state=State.DONE, lease=None, reason=None, question=None)
            return done if by else task
        case Blamed():
            return _blamed(task)
        case Unlanded():
            return _unlanded(task)
        case Answered():
            return _answered(task, event)
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
        case Note():
            return task


def _returned(task: Task, deliveries: int) -> Task:
    """The claim is over and the stage stays: whoever claims next goes on there."""
    counts = replace(task.counts, deliveries=task.counts.deliveries + deliveries)
    return replace(task, state=State.WAITING, lease=None, counts=counts)


def _delivered(task: Task) -> Counts:
    """Progress was made, so deliveries that never came back are forgiven."""
    if task.forgiven.deliveries == task.counts.deliveries:
        return task.forgiven
    return replace(task.forgiven, deliveries=task.counts.deliveries)


def _started(task: Task, event: AttemptStarted) -> Task:
    counts = replace(task.counts, executions=task.counts.executions + 1)
    no_agent = task.spec.kind in {TaskKind.CHECK, TaskKind.GROUP}
    stage = Stage.VERIFY if no_agent else Stage.WORK
    work = Work(
        base=event.base,
        head=event.head,
        worktree=event.worktree,
        host=event.host,
        tree=event.tree,
        guards=event.guards,
    )
    return replace(
        task,
        stage=stage,
        attempt=event.attempt,
        counts=counts,
        forgiven=_delivered(task),
        work=work,
        fresh_next=False,
        session="" if event.fresh else task.session,
        began_at=task.began_at or event.base,
    )


def _finished(task: Task, event: AgentFinished) -> Task:
    work = replace(
        task.work, head=event.head, tree=event.tree, exit=event.exit, changed=event.changed
    )
    return replace(
        task,
        stage=Stage.VERIFY,
        work=work,
        forgiven=_delivered(task),
        spent_on=task.spent_on.plus(event.exit),
        session=_session(task, event),
    )


# A conversation that is gone, or full, is not gone on with.
_OVER = frozenset({"session", "context"})


def _session(task: Task, event: AgentFinished) -> str:
    return "" if event.exit.limit in _OVER else event.exit.session or task.session


def _judged(task: Task, event: Judged) -> Task:
    if not event.passed:
        return task
    work = replace(task.work, proven=event.commit, onto=event.onto)
    return replace(task, stage=Stage.LAND, work=work, forgiven=_delivered(task))


def _counted(counts: Counts, failure: Failure) -> Counts:
    if failure.ours:
        return replace(counts, faults=counts.faults + 1)
    failures = {**counts.failures, failure.kind.value: counts.of(failure.kind) + 1}
    lost = 1 if failure.kind is Kind.LOST else 0
    return replace(counts, failures=failures, interruptions=counts.interruptions + lost)


def _failed(task: Task, event: RetryDecided | EscalateDecided | Held) -> Task:
    """What all ends of an attempt share: the failure is counted and remembered, once."""
    if task.held:
        return replace(task, held=False)
    failure = event.failure
    content = failure.kind in CONTENT and not failure.ours
    # A landing that failed for a reason of ours is repeated, so it keeps what it has to land.
    unproven = replace(task.work, proven="", onto="")
    return replace(
        task,
        lease=None,
        stage=event.stage,
        take_over=task.take_over and (failure.ours or bool(failure.account)),
        counts=_counted(task.counts, failure),
        failure=failure,
        feedback=failure if content else task.feedback,
        same_failures=event.same_failures if content else task.same_failures,
        failed_tree=event.tree if content else task.failed_tree,
        work=task.work if event.stage is Stage.LAND else unproven,
        recalled=False,
        blame=None,
    )


def _held(task: Task, event: Held) -> Task:
    """No claim takes it; whoever looks when everything rests grants the re-run or asks."""
    failed = _failed(task, event)
    return replace(failed, state=State.WAITING, held=True, reason=event.blocked, due_at=None)


def _granted(task: Task) -> Task:
    counts = replace(task.counts, reruns=task.counts.reruns + 1)
    return replace(
        task,
        held=False,
        rerun=True,
        began_at="",
        counts=counts,
        reason=None,
        stage=Stage.PREPARE,
        fresh_next=True,
        same_failures=0,
        failed_tree="",
    )


def _blamed(task: Task) -> Task:
    """A proof of the run is over, for the next one looks at another commit; a group waits again
    for the subtask that is sent back.
    """
    if task.spec.kind is not TaskKind.GROUP:
        return replace(task, state=State.REPLACED, lease=None)
    return replace(task, state=State.WAITING, lease=None, stage=Stage.PREPARE, work=Work())


def _unlanded(task: Task) -> Task:
    return replace(
        task,
        state=State.WAITING,
        stage=Stage.PREPARE,
        landed="",
        undo_wanted=False,
        recalled=task.blame is not None,
        began_at="",
        fresh_next=True,
        due_at=None,
        work=Work(),
    )


def _retried(task: Task, event: RetryDecided) -> Task:
    return replace(
        _failed(task, event),
        state=State.WAITING,
        due_at=event.due_at,
        agent_index=event.agent_index,
        fresh_next=event.fresh or task.fresh_next,
    )


def _escalated(task: Task, event: EscalateDecided) -> Task:
    return replace(
        _failed(task, event),
        state=State.ESCALATED,
        reason=event.blocked,
        question=event.question,
    )


def _answered(task: Task, event: Answered) -> Task:
    """A person's answer gives a fresh budget; what was used stays counted."""
    if event.choice is Choice.ABORT:
        return replace(task, state=State.CANCELLED, question=None)
    asked = replace(
        task,
        state=State.WAITING,
        due_at=None,
        reason=None,
        question=None,
        forgiven=task.counts,
        forgiven_spend=task.spent_on,
        same_failures=0,
        failed_tree="",
        rerun=False,
    )
    match event.choice:
        case Choice.RETRY:
            return replace(asked, words=event.words, take_over=False)
        case Choice.DONE:
            return replace(asked, stage=Stage.PREPARE, take_over=True, fresh_next=False)
        case Choice.WAIVE:
            stage = Stage.VERIFY if task.work.head else Stage.PREPARE
            waivers = tuple(dict.fromkeys((*task.waivers, event.check)))
            return replace(asked, stage=stage, waivers=waivers)
