"""What follows from a failure: another attempt, a re-run later, or one question to a person."""

from __future__ import annotations

from datetime import datetime, timedelta

from yaoki.core.decide import classification, escalation, retry
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.machine.events import (
    AwaitingRerun,
    EscalationDecided,
    Event,
    JournalNote,
    Rationale,
    RetryDecided,
)
from yaoki.core.model import EndCause, Failure, FailureKind, Reason, RetryMethod, Stage, Task

# At most this many failures of one task are listed.
FAILURE_KINDS_MAX = 200


@dataclass(frozen=True, slots=True)
class ClockAndChance:
    """The present time and a random number in [0, 1), as arguments of a pure function."""

    now: datetime
    chance: float


def plan_retry_or_escalate(
    task: Task, failure: Failure, moment: ClockAndChance, tree: str = ""
) -> tuple[Event, ...]:
    """Plan the next attempt, or hand the task to a person."""
    failure = _with_timeout(task, failure)
    kinds = _failure_kinds(task, failure)
    same, alike = (
        retry.count_same_work_failures(task, failure, tree),
        retry.count_same_fingerprint_failures(task, failure),
    )
    decision = retry.decide_retry(task, failure, same, moment.chance)
    why = Rationale(
        decision.rule, _inputs(task, failure, decision, (same, alike)), (decision.otherwise,)
    )
    # A judge at its limit is asked again about the same work; the agent does not run again.
    stage = task.stage if failure.is_our_fault or failure.account else Stage.PREPARE
    if decision.action is retry.RetryAction.RETRY:
        delay_ms = decision.delay // timedelta(milliseconds=1)
        next_agent = 1 if decision.strategy is RetryMethod.NEXT_AGENT else 0
        return (
            RetryDecided(
                failure=failure,
                stage=stage,
                due_at=moment.now + timedelta(milliseconds=delay_ms),
                current_retry_count=decision.tries,
                max_retries=decision.tries_max,
                delay_ms=delay_ms,
                reasoning=decision.reasoning,
                modification_hint=escalation.retry_hint(failure, task.spec.policy.hints),
                strategy=decision.strategy,
                fresh=decision.strategy in {RetryMethod.FRESH, RetryMethod.NEXT_AGENT},
                agent_index=task.agent_index + next_agent,
                same_work_failures=same,
                same_fingerprint_failures=0 if next_agent else alike,
                work_digest=tree,
                failure_kinds=kinds,
                failure_type=failure.kind.value,
                why=why,
            ),
        )
    blocked = retry.blocked_reason(task, failure, decision)
    if retry.may_rerun(task, failure, blocked):
        awaiting = AwaitingRerun(
            failure=failure,
            blocked=blocked,
            same_work_failures=same,
            same_fingerprint_failures=alike,
            work_digest=tree,
            failure_kinds=kinds,
            current_retry_count=decision.tries,
            max_retries=decision.tries_max,
            why=replace(why, otherwise=(*why.otherwise, "8.4: a re-run follows if others land")),
        )
        return (awaiting,)
    return _escalate(
        task, failure, blocked, decision, moment, (stage, (same, alike), tree, why, kinds)
    )


def _failure_kinds(task: Task, failure: Failure) -> tuple[str, ...]:
    """The kinds of the failed attempts in order; a fault of ours is not one."""
    return (
        task.failure_kinds
        if failure.is_our_fault
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


def _escalate(
    task: Task,
    failure: Failure,
    blocked: Reason,
    decision: retry.RetryDecision,
    moment: ClockAndChance,
    seen: tuple[Stage, tuple[int, int], str, Rationale, tuple[str, ...]],
) -> tuple[Event, ...]:
    """One question to a person, and the message that goes with it."""
    stage, (same, alike), tree, why, kinds = seen
    report = escalation.build_escalation(task, failure, blocked, decision, moment.now, kinds)
    decided = EscalationDecided(
        failure=failure,
        blocked=blocked,
        reason={"type": report.type, "description": report.description},
        failure_summary=report.summary,
        question=report.question,
        stage=stage,
        same_work_failures=same,
        same_fingerprint_failures=alike,
        work_digest=tree,
        failure_kinds=kinds,
        current_retry_count=decision.tries,
        max_retries=decision.tries_max,
        why=why,
    )
    message = JournalNote(
        "ESCALATE_EXECUTED",
        {"user_message": report.message, "recommended_actions": list(report.actions)},
    )
    if failure.code != classification.UNDELIVERED:
        return (decided, message)
    data = {"deliveries": task.counts.deliveries, "message": failure.message}
    return (JournalNote("DEAD_LETTERED", data), decided, message)


def escalate_without_rerun(task: Task, why: str, moment: ClockAndChance) -> tuple[Event, ...]:
    """A task that gets no re-run becomes a question."""
    failure = task.failure
    assert failure is not None, f"{task.id} awaits a re-run without a failure"
    rule = task.spec.policy.rules.get(failure.kind)
    alone = f"{why}, so there is no re-run from the run branch"
    decision = retry.RetryDecision(
        retry.RetryAction.ESCALATE,
        failure.kind,
        # This failure is already counted; only the failures before it were retried.
        max(0, task.unforgiven_failures(failure.kind) - 1),
        rule.retries_max if rule else 0,
        why if task.parent else alone,
        "8.3" if task.parent else "8.4",
        "work that passes its checks, or its group landing without it"
        if task.parent
        else "another task's landing since this one began",
    )
    in_a_row = task.same_work_failures, task.same_fingerprint_failures
    inputs = _inputs(task, failure, decision, in_a_row)
    rationale = Rationale(decision.rule, inputs, (decision.otherwise,))
    # `failure_kinds` already includes this failure.
    seen = (Stage.PREPARE, in_a_row, task.failed_work_digest, rationale, task.failure_kinds)
    return _escalate(task, failure, task.reason or Reason.UNKNOWN, decision, moment, seen)


def _inputs(
    task: Task, failure: Failure, decision: retry.RetryDecision, in_a_row: tuple[int, int]
) -> dict[str, object]:
    """`in_a_row`: failures with the same fingerprint and diff, and with the same fingerprint."""
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
        "same_failure_in_a_row": in_a_row[0],
        "same_fingerprint_in_a_row": in_a_row[1],
        "fingerprint": failure.fingerprint,
        "delay_s": decision.delay.total_seconds(),
        "reasoning": decision.reasoning,
        "retry_after_s": failure.retry_after.total_seconds() if failure.retry_after else None,
    }
