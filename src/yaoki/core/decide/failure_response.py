"""The response to a failure: another attempt, a re-run later, or one question to a person."""

from __future__ import annotations

from datetime import datetime, timedelta

from yaoki.core.decide import account, escalation, next_try, retry
from yaoki.core.decide.retry_decision import RetryAction, RetryDecision
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.machine.events import (
    AwaitingRerun,
    EscalationDecided,
    Event,
    Rationale,
    RetryDecided,
)
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.machine.transitions import note_revision
from yaoki.core.model import EndCause, Failure, FailureKind, Reason, RetryMethod, Stage, Task
from yaoki.errors import FatalCode

# At most this many failures of one task are listed.
FAILURE_KINDS_MAX = 200


@dataclass(frozen=True, slots=True)
class ClockAndChance:
    """The present time and a random number in [0, 1), as arguments of a pure function."""

    now: datetime
    chance: float


@dataclass(frozen=True, slots=True)
class _FailedAttempt:
    """A failure of a task, the decision about it, and what the events record of both.

    `same_work` and `same_fingerprint` count such failures in a row, this one included.
    """

    task: Task
    failure: Failure
    decision: RetryDecision
    stage: Stage
    same_work: int
    same_fingerprint: int
    work_digest: str
    kinds: tuple[str, ...]

    @property
    def rationale(self) -> Rationale:
        return Rationale(self.decision.rule, _inputs(self), (self.decision.otherwise,))


def plan_retry_or_escalate(
    task: Task, failure: Failure, moment: ClockAndChance, tree: str = ""
) -> tuple[Event, ...]:
    """Plan the next attempt, or hand the task to a person."""
    failure = account.with_closure(task, _with_timeout(task, failure), moment.now)
    same_work = retry.count_same_work_failures(task, failure, tree)
    decision = (
        account.decide_wait(task, failure, moment.now, moment.chance)
        if account.account_decides(failure)
        else retry.decide_retry(task, failure, same_work, moment.chance)
    )
    if failure.account_problem:
        decision = account.fail_over(task, failure, decision, moment.now)
    decision = next_try.choose_next_try(task, failure, decision)
    failure = _with_promise(failure, decision)
    attempt = _FailedAttempt(
        task=task,
        failure=failure,
        decision=decision,
        # A judge at its limit is asked again about the same work; the agent does not run again.
        stage=task.stage if failure.is_our_fault or failure.account else Stage.PREPARE,
        same_work=same_work,
        same_fingerprint=retry.count_same_fingerprint_failures(task, failure),
        work_digest=tree,
        kinds=_failure_kinds(task, failure),
    )
    if decision.action is RetryAction.RETRY:
        return (_plan_retry(attempt, moment.now),)
    blocked = retry.blocked_reason(task, failure, decision)
    if retry.may_rerun(task, failure, blocked):
        return (_await_rerun(attempt, blocked),)
    return _escalate(attempt, blocked, moment.now)


def _plan_retry(attempt: _FailedAttempt, now: datetime) -> RetryDecided:
    task, failure, decision = attempt.task, attempt.failure, attempt.decision
    delay_ms = decision.delay // timedelta(milliseconds=1)
    index = task.agent_index if decision.agent_index is None else decision.agent_index
    next_agent = index != task.agent_index
    # The next account continues the work; only a futile attempt begins anew.
    fresh = decision.strategy in {RetryMethod.FRESH, RetryMethod.NEXT_AGENT}
    return RetryDecided(
        failure=failure,
        stage=attempt.stage,
        due_at=now + timedelta(milliseconds=delay_ms),
        current_retry_count=decision.tries,
        max_retries=decision.tries_max,
        delay_ms=delay_ms,
        reasoning=decision.reasoning,
        modification_hint=escalation.retry_hint(failure, task.spec.policy.hints),
        strategy=decision.strategy,
        fresh=fresh and not (failure.account_problem or failure.agent_problem),
        agent_index=index,
        same_work_failures=attempt.same_work,
        same_fingerprint_failures=0 if next_agent else attempt.same_fingerprint,
        work_digest=attempt.work_digest,
        failure_kinds=attempt.kinds,
        failure_type=failure.kind.value,
        fail_over=decision.fail_over,
        account_until=now + decision.account_wait if decision.account_wait else None,
        account_avoided=decision.account_avoided,
        conversation=decision.conversation,
        draw=decision.draw,
        why=attempt.rationale,
    )


def _await_rerun(attempt: _FailedAttempt, blocked: Reason) -> AwaitingRerun:
    reason = attempt.rationale
    return AwaitingRerun(
        failure=attempt.failure,
        blocked=blocked,
        same_work_failures=attempt.same_work,
        same_fingerprint_failures=attempt.same_fingerprint,
        work_digest=attempt.work_digest,
        failure_kinds=attempt.kinds,
        current_retry_count=attempt.decision.tries,
        max_retries=attempt.decision.tries_max,
        why=replace(
            reason, otherwise=(*reason.otherwise, "a re-run follows if other tasks land (rule 8.4)")
        ),
    )


def _with_promise(failure: Failure, decision: RetryDecision) -> Failure:
    """Time that the service asked to wait does not count as time without an answer."""
    if not decision.closes_account:
        return replace(failure, closure=None)
    if failure.closure is None or not decision.promised:
        return failure
    promised = failure.closure.promised + decision.promised
    return replace(failure, closure=replace(failure.closure, promised=promised))


def _failure_kinds(task: Task, failure: Failure) -> tuple[str, ...]:
    """The kinds of the failed attempts in order.

    Not counted are faults of yaoki, attempts in which the model never answered, and attempts that
    were stopped at a person's request.
    """
    return (
        task.failure_kinds
        if failure.is_our_fault or failure.unanswered or failure.stopped_on_request
        else (*task.failure_kinds, failure.kind.value)[-FAILURE_KINDS_MAX:]
    )


def _with_timeout(task: Task, failure: Failure) -> Failure:
    """Add the timeout to a failure that was caused by it."""
    exit_ = task.work.exit
    if (
        failure.kind is not FailureKind.TIMEOUT
        or exit_ is None
        or exit_.ended_by != EndCause.DEADLINE
    ):
        return failure
    limit = {"timeoutSeconds": round(task.spec.timeout.total_seconds())}
    return replace(failure, params={**failure.params, **limit})


def _escalate(attempt: _FailedAttempt, blocked: Reason, now: datetime) -> tuple[Event, ...]:
    """Ask a person one question, and send the message that goes with it."""
    task, failure, decision = attempt.task, attempt.failure, attempt.decision
    report = escalation.build_escalation(task, failure, blocked, decision, now, attempt.kinds)
    decided = EscalationDecided(
        failure=failure,
        blocked=blocked,
        reason={"type": report.type, "description": report.description},
        failure_summary=report.summary,
        question=report.question,
        stage=attempt.stage,
        same_work_failures=attempt.same_work,
        same_fingerprint_failures=attempt.same_fingerprint,
        work_digest=attempt.work_digest,
        failure_kinds=attempt.kinds,
        current_retry_count=decision.tries,
        max_retries=decision.tries_max,
        why=attempt.rationale,
    )
    message = JournalNote(
        "ESCALATE_EXECUTED",
        {"user_message": report.message, "recommended_actions": list(report.actions)},
    )
    if failure.code != FatalCode.UNDELIVERED:
        return (decided, message)
    data = {"deliveries": task.counts.deliveries, "message": failure.message}
    return (JournalNote("DEAD_LETTERED", data), decided, message)


def escalate_without_rerun(task: Task, why: str, moment: ClockAndChance) -> tuple[Event, ...]:
    """A task that gets no re-run becomes a question."""
    failure = task.failure
    assert failure is not None, f"{task.id} awaits a re-run without a failure"
    rule = task.spec.policy.rules.get(failure.kind)
    ended = retry.describe_futile_end(task, failure)
    alone = f"{why}, so there is no re-run from the run branch"
    decision = RetryDecision(
        RetryAction.ESCALATE,
        failure.kind,
        # This failure is already counted; only the failures before it were retried.
        max(0, task.unforgiven_failures(failure.kind) - 1),
        rule.retries_max if rule else 0,
        why if task.parent else alone,
        "8.3" if task.parent else "8.4",
        "work that passes its checks, or its group landing without it"
        if task.parent
        else "another task's landing since this one began",
        inputs={"retries_ended": ended} if ended else {},
    )
    attempt = _FailedAttempt(
        task=task,
        failure=failure,
        decision=decision,
        stage=Stage.PREPARE,
        same_work=task.same_work_failures,
        same_fingerprint=task.same_fingerprint_failures,
        work_digest=task.failed_work_digest,
        # They include this failure already.
        kinds=task.failure_kinds,
    )
    return _escalate(attempt, task.reason or Reason.UNKNOWN, moment.now)


def ask_after_revision(task: Task, moment: ClockAndChance, what: str) -> tuple[Event, ...]:
    """A task that awaits its re-run becomes a question, because its work may pass new checks."""
    number = task.check_revision_number
    events = escalate_without_rerun(task, f"its {what} changed", moment)
    return tuple(
        replace(
            event,
            question=note_revision(event.question, task, number, what),
        )
        if isinstance(event, EscalationDecided)
        else event
        for event in events
    )


def _inputs(attempt: _FailedAttempt) -> dict[str, object]:
    task, failure, decision = attempt.task, attempt.failure, attempt.decision
    policy = task.spec.policy
    return {
        "kind": failure.kind.value,
        "pattern": failure.pattern,
        "count": decision.tries,
        "maximum": decision.tries_max,
        "content_failures": task.counts.content_failures - task.forgiven_counts.content_failures,
        "content_retries_max": policy.content_retries_max,
        "total": task.total_unforgiven_failures,
        "max_total_attempts": policy.total_attempts_max,
        "same_failure_in_a_row": attempt.same_work,
        "same_fingerprint_in_a_row": attempt.same_fingerprint,
        "fingerprint": failure.fingerprint,
        "delay_s": decision.delay.total_seconds(),
        "reasoning": decision.reasoning,
        "retry_after_s": failure.retry_after.total_seconds() if failure.retry_after else None,
        **decision.inputs,
    }
