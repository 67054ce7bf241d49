"""What an event makes of a task, where that takes more than a line."""

from __future__ import annotations

from yaoki.core.machine.events import (
    AgentFinished,
    Answered,
    AttemptStarted,
    EscalateDecided,
    Held,
    Judged,
    PromptSent,
    RetryDecided,
)
from yaoki.core.machine.fast_replace import replace
from yaoki.core.model import (
    CONTENT,
    Choice,
    Counts,
    Failure,
    Kind,
    Stage,
    State,
    Strategy,
    Task,
    TaskKind,
    Work,
)


def returned(task: Task, deliveries: int) -> Task:
    """The claim is over and the stage stays: whoever claims next goes on there."""
    counts = replace(task.counts, deliveries=task.counts.deliveries + deliveries)
    return replace(task, state=State.WAITING, lease=None, counts=counts)


def _delivered(task: Task) -> Counts:
    """Progress was made, so deliveries that never came back are forgiven."""
    if task.forgiven.deliveries == task.counts.deliveries:
        return task.forgiven
    return replace(task.forgiven, deliveries=task.counts.deliveries)


def started(task: Task, event: AttemptStarted) -> Task:
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


def prompted(task: Task, event: PromptSent) -> Task:
    work = replace(task.work, started=True, counted=event.counted)
    spent = task.spent_on.started() if event.counted else task.spent_on
    return replace(task, work=work, spent_on=spent)


def finished(task: Task, event: AgentFinished) -> Task:
    work = replace(
        task.work,
        head=event.head,
        tree=event.tree,
        diff=event.diff,
        exit=event.exit,
        changed=event.changed,
        left_out=event.left_out,
    )
    spent = task.spent_on
    return replace(
        task,
        stage=Stage.VERIFY,
        work=work,
        forgiven=_delivered(task),
        spent_on=spent.ended(event.exit) if task.work.counted else spent.plus(event.exit),
        session=_session(task, event),
    )


# A conversation that is gone, or full, is not gone on with.
_OVER = frozenset({"session", "context"})


def _session(task: Task, event: AgentFinished) -> str:
    return "" if event.exit.limit in _OVER else event.exit.session or task.session


def judged(task: Task, event: Judged) -> Task:
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
        kinds=event.kinds,
        alike_failures=event.alike_failures if content else task.alike_failures,
        failed_tree=event.tree if content else task.failed_tree,
        work=task.work if event.stage is Stage.LAND else unproven,
        recalled=False,
        blame=None,
    )


def held(task: Task, event: Held) -> Task:
    """No claim takes it; whoever looks when everything rests grants the re-run or asks."""
    failed = _failed(task, event)
    return replace(failed, state=State.WAITING, held=True, reason=event.blocked, due_at=None)


def granted(task: Task) -> Task:
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
        alike_failures=0,
        failed_tree="",
    )


def recovering(task: Task, strategy: Strategy, failed: tuple[str, ...]) -> Task:
    """A group goes on after `failed` failed: they are tried again, or it lands without them.

    A subtask that was tried again and failed again was not recovered.
    """
    counts = replace(task.counts, reruns=task.counts.reruns + 1)
    if strategy is not Strategy.PARTIAL_COMMIT:
        return replace(task, counts=counts, strategy=strategy, recovered=failed)
    recovered = tuple(one for one in task.recovered if one not in failed)
    return replace(task, counts=counts, strategy=strategy, recovered=recovered, left_out=failed)


def blamed(task: Task) -> Task:
    """A proof of the run is over, for the next one looks at another commit; a group waits again
    for the subtask that is sent back.
    """
    if task.spec.kind is not TaskKind.GROUP:
        return replace(task, state=State.REPLACED, lease=None)
    return replace(task, state=State.WAITING, lease=None, stage=Stage.PREPARE, work=Work())


def unlanded(task: Task) -> Task:
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


def row_refused(task: Task) -> Task:
    """As after a landing that was taken back, whatever the row said; a person is asked at once."""
    return replace(
        unlanded(task),
        lease=None,
        held=False,
        recalled=True,
        recall_wanted=False,
        take_over=False,
        blame=None,
        reason=None,
        question=None,
    )


def retried(task: Task, event: RetryDecided) -> Task:
    return replace(
        _failed(task, event),
        state=State.WAITING,
        due_at=event.due_at,
        agent_index=event.agent_index,
        fresh_next=event.fresh or task.fresh_next,
    )


def escalated(task: Task, event: EscalateDecided) -> Task:
    return replace(
        _failed(task, event),
        state=State.ESCALATED,
        reason=event.blocked,
        question=event.question,
    )


def _accepted(work: Work) -> Work:
    """A person who waives a check has read the agent's own words beside it."""
    if work.exit is None or not work.exit.failed:
        return work
    return replace(work, exit=replace(work.exit, failed=False))


def answered(task: Task, event: Answered) -> Task:
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
        alike_failures=0,
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
            return replace(asked, stage=stage, waivers=waivers, work=_accepted(task.work))
