"""The changes that the events after a failure make to a task."""

from __future__ import annotations

from yaoki.core.machine.events import (
    AwaitingRerun,
    EscalationDecided,
    RetryDecided,
)
from yaoki.core.machine.fast_replace import replace
from yaoki.core.model import (
    CONTENT_KINDS,
    AttemptMode,
    Counts,
    FailOverCause,
    Failure,
    FailureKind,
    GivenUpAgent,
    Stage,
    State,
    Task,
    WaitReason,
)
from yaoki.core.model.treatment import AttemptConversation
from yaoki.core.text import shorten

# The longest message about an agent that another one replaced; the next agent and a person read it.
GIVEN_UP_MESSAGE_MAX = 300
# The number of earlier failures in the prompt of a new conversation.
SESSION_FAILURES_MAX = 5


def count_failure(counts: Counts, failure: Failure) -> Counts:
    if failure.is_our_fault:
        return replace(counts, faults=counts.faults + 1)
    if failure.unanswered:
        return replace(counts, unanswered=counts.unanswered + 1)
    if failure.stopped_on_request:
        return counts
    failures = {**counts.failures, failure.kind.value: counts.failures_of(failure.kind) + 1}
    lost = 1 if failure.kind is FailureKind.LOST else 0
    return replace(counts, failures=failures, interruptions=counts.interruptions + lost)


def _record_failure(task: Task, event: RetryDecided | EscalationDecided | AwaitingRerun) -> Task:
    """Common to all failed attempts: the failure is counted and remembered, once."""
    if task.awaiting_rerun:
        return replace(task, waiting_for=WaitReason.CLAIM)
    failure = event.failure
    content = failure.kind in CONTENT_KINDS and not failure.is_our_fault
    is_over = not (failure.is_our_fault or failure.account)
    # A landing that failed through our own fault is repeated, so it keeps its verified commit.
    unproven = replace(
        task.work,
        verified_commit="",
        onto="",
        treatment=None if is_over else task.work.treatment,
    )
    return replace(
        task,
        lease=None,
        stage=event.stage,
        mode=return_to_agent(task.mode) if is_over else task.mode,
        counts=count_failure(task.counts, failure),
        failure=failure,
        feedback=failure if content else task.feedback,
        same_work_failures=event.same_work_failures if content else task.same_work_failures,
        failure_kinds=event.failure_kinds,
        same_fingerprint_failures=event.same_fingerprint_failures
        if content
        else task.same_fingerprint_failures,
        failed_work_digest=event.work_digest if content else task.failed_work_digest,
        work=task.work if event.stage is Stage.LAND else unproven,
        waiting_for=WaitReason.CLAIM,
        revert_cause=None,
    )


def return_to_agent(mode: AttemptMode) -> AttemptMode:
    """The mode after work of a person failed or was undone."""
    return AttemptMode.NORMAL if mode is AttemptMode.TAKEN_OVER else mode


def apply_awaiting_rerun(task: Task, event: AwaitingRerun) -> Task:
    """The task cannot be claimed; the completion of the run grants the re-run or escalates."""
    failed = _record_failure(task, event)
    return replace(
        failed,
        state=State.WAITING,
        waiting_for=WaitReason.RERUN,
        reason=event.blocked,
        due_at=None,
    )


def apply_rerun_granted(task: Task, agent_index: int | None) -> Task:
    """The next agent of the chain makes the re-run, if the event names one."""
    counts = replace(task.counts, reruns=task.counts.reruns + 1)
    index = task.agent_index if agent_index is None else agent_index
    words = task.failure.message if task.failure else ""
    return replace(
        switch_agent(task, index, FailOverCause.REPEATED_FAILURE, words),
        waiting_for=WaitReason.CLAIM,
        mode=AttemptMode.RERUN,
        first_base="",
        counts=counts,
        reason=None,
        stage=Stage.PREPARE,
        needs_fresh_worktree=True,
        same_work_failures=0,
        same_fingerprint_failures=0,
        failed_work_digest="",
    )


def apply_retry(task: Task, event: RetryDecided) -> Task:
    failed = replace(
        _record_failure(task, event),
        state=State.WAITING,
        due_at=event.due_at,
        needs_fresh_worktree=event.fresh or task.needs_fresh_worktree,
        session="" if event.conversation is AttemptConversation.FRESH else task.session,
        session_failures=_session_failures(task, event),
    )
    return switch_agent(failed, event.agent_index, event.fail_over, event.failure.message)


def _session_failures(task: Task, event: RetryDecided) -> tuple[str, ...]:
    """Only an agent with conversations can begin another one.

    An event of an earlier version names no conversation, and rows of that time have no such list.
    """
    if not task.session or not event.conversation or event.failure.kind not in CONTENT_KINDS:
        return task.session_failures
    words = shorten(event.failure.message, GIVEN_UP_MESSAGE_MAX)
    return (*task.session_failures, words)[-SESSION_FAILURES_MAX:]


def switch_agent(task: Task, index: int, cause: FailOverCause, message: str) -> Task:
    """Another agent of the chain continues; a conversation belongs to one agent."""
    if index == task.agent_index:
        return task
    before = task.agent
    assert before is not None, f"{task.id} has no agent"
    switched = replace(task, agent_index=index, session="", session_failures=())
    if not cause:
        # In a journal of an earlier version, whose rows have no such list.
        return switched
    words = shorten(message, GIVEN_UP_MESSAGE_MAX)
    given_up = GivenUpAgent(task.agent_index, before.title, cause, words)
    others = tuple(one for one in task.given_up_agents if one.index != task.agent_index)
    return replace(switched, given_up_agents=(*others, given_up))


def apply_escalation(task: Task, event: EscalationDecided) -> Task:
    return replace(
        _record_failure(task, event),
        state=State.ESCALATED,
        reason=event.blocked,
        question=event.question,
    )
