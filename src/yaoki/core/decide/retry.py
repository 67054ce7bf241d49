"""The retry decision for a failed task: whether, when and how to retry, and by which rule."""

from __future__ import annotations

from datetime import timedelta

from yaoki.core.decide.backoff import RETRY_WAIT_MAX, backoff_delay
from yaoki.core.decide.check_remedies import may_create
from yaoki.core.decide.exit_classification import WAIVED_PARAM, describe_unchanged_checks
from yaoki.core.decide.retry_decision import BUDGET_RULE, RetryAction, RetryDecision
from yaoki.core.decide.task_budget import describe_spent_budget, find_spent_budget
from yaoki.core.decide.waived_failures import needs_answer
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import (
    CONTENT_KINDS,
    NO_CHANGE_CHECK,
    Backoff,
    FailOverCause,
    Failure,
    FailureKind,
    Reason,
    RetryMethod,
    RetryPolicy,
    Task,
    TaskKind,
)
from yaoki.core.model.outcome import (
    CANNOT_START_PARAM,
    MISSING_PATH_PARAM,
    NO_TRY_AFTER_CONFLICT,
)
from yaoki.core.text import format_count, format_duration

# After this many failures with one fingerprint the next agent takes over.
FUTILE_FAILURES = 3


def count_same_work_failures(task: Task, failure: Failure, tree: str) -> int:
    """Count the same failure with the same work in a row, this time included.

    `tree` identifies the task's own diff, so landings of other tasks do not make work look new.
    """
    before = task.feedback
    if (
        before is None
        or before.fingerprint != failure.fingerprint
        or tree != task.failed_work_digest
    ):
        return 1
    return task.same_work_failures + 1


def count_same_fingerprint_failures(task: Task, failure: Failure) -> int:
    """Count the same failure of this agent in a row, regardless of its work."""
    before = task.feedback
    if before is None or before.fingerprint != failure.fingerprint:
        return 1
    return task.same_fingerprint_failures + 1


def choose_retry_strategy(task: Task, same_work: int, alike: int = 1) -> RetryMethod | None:
    """Choose the change for the next attempt: none, the worktree, or the agent; None if all were
    tried.

    Different work with the same failure is no reason to give up, but to use the next agent.
    """
    if max(same_work, alike) >= FUTILE_FAILURES and task.usable_substitute_indices:
        return RetryMethod.NEXT_AGENT
    if same_work >= FUTILE_FAILURES:
        return None
    return RetryMethod.FRESH if same_work == FUTILE_FAILURES - 1 else RetryMethod.CONTINUE


def decide_retry(task: Task, failure: Failure, same_work: int, chance: float) -> RetryDecision:
    """Rule 5.1.  Retries are counted per kind, so a rate limit never uses up the retries of a
    failing test; failures of the work share one more limit; a kind without a rule is not retried.
    """
    policy = task.spec.policy
    kind, rule = failure.kind, policy.rules.get(failure.kind)
    current = task.unforgiven_failures(kind)
    if failure.agent_problem and not task.taken_over and task.usable_substitute_indices:
        return _fail_over(task, failure, current)
    if failure.is_our_fault:
        return _retry_after_fault(task, failure, policy, chance)
    if failure.stopped_on_request:
        return _continue_after_stop(task, failure, current)
    if kind is FailureKind.RESOURCE_EXHAUSTED and (spent := _budget_decision(task, failure, 0)):
        return spent
    if rule is None:
        return _escalate(
            failure, current, 0, "4.1", f"{kind} is not retryable", "nothing: a person decides"
        )
    if not failure.retry_safe:
        return _escalate(
            failure,
            current,
            rule.retries_max,
            "5.7",
            "the failure was reported as not safe to retry",
            "a report without retry_safe: false",
        )
    if task.taken_over and not failure.account:
        reasoning = "a person took the task over and the work did not pass"
        is_unnamed = reason_of(failure) is Reason.MAX_RETRIES  # none was made
        named = replace(failure, reason=Reason.NEEDS_HUMAN) if is_unnamed else failure
        return _escalate(
            named, current, rule.retries_max, "10.4", reasoning, "work that passes its checks"
        )
    futile = _futile_decision(task, failure, rule.retries_max)
    if futile is not None:
        return futile
    # A judge at its limit is asked again about the same work; that starts no attempt.
    spent = None if failure.account else _budget_decision(task, failure, rule.retries_max)
    decision = (
        spent
        or _spent_runs_decision(failure, current, rule.retries_max)
        or _limit_decision(task, failure, policy)
        or _retry(task, failure, same_work, chance, current, rule.retries_max)
    )
    if decision.reason is Reason.CONFLICT:
        return replace(decision, reasoning=f"{decision.reasoning}; {NO_TRY_AFTER_CONFLICT}")
    return decision


def _fail_over(task: Task, failure: Failure, current: int) -> RetryDecision:
    """Rule 18.1: the agent cannot work here, and the chain has another one."""
    index = task.usable_substitute_indices[0]
    before = task.agent.title if task.agent else ""
    return RetryDecision(
        RetryAction.RETRY,
        failure.kind,
        current,
        0,
        f"{before} cannot do this ({failure.agent_problem.value}); "
        f"{task.spec.agents[index].title} continues",
        "18.1",
        "a person would be asked if the chain had no further agent",
        strategy=RetryMethod.NEXT_AGENT,
        agent_index=index,
        fail_over=failure.agent_problem,
    )


def _retry_after_fault(
    task: Task, failure: Failure, policy: RetryPolicy, chance: float
) -> RetryDecision:
    """Our own infrastructure failed: repeat the stage; no retry of the agent is used."""
    used = task.counts.faults - task.forgiven_counts.faults
    if failure.code:
        reasoning = f"no retry can fix it ({failure.code})"
        return _escalate(failure, used, 0, "4.2", reasoning, "the cause is fixed first")
    if used >= policy.faults_max:
        return _escalate(
            failure,
            used,
            policy.faults_max,
            "4.8",
            f"yaoki's own infrastructure failed {format_count(used + 1, 'time')}; "
            f"{format_count(policy.faults_max, 'repeat')} allowed",
            "fewer such faults since a person last answered",
        )
    rule = policy.rules.get(FailureKind.TRANSIENT_ERROR)
    wait = backoff_delay(rule.backoff if rule else Backoff(), used + 1, chance)
    return RetryDecision(
        RetryAction.RETRY,
        failure.kind,
        used,
        policy.faults_max,
        f"{task.stage} failed in yaoki's own infrastructure; repeat {used + 1}/{policy.faults_max}",
        "4.8",
        f"a person would be asked after more than {policy.faults_max} such faults in all",
        delay=wait,
        strategy=RetryMethod.SAME_STAGE,
    )


def _continue_after_stop(task: Task, failure: Failure, current: int) -> RetryDecision:
    """Rule 18.7: the next worker starts the agent again without using a retry.  The run that was
    stopped counts in the budgets, so it may have been the last one.
    """
    if spent := _budget_decision(task, failure, 0):
        return spent
    return RetryDecision(
        RetryAction.RETRY,
        failure.kind,
        current,
        0,
        "its worker was asked to stop, which uses no retry; the next worker starts it again",
        "18.7",
        "an interruption that nobody asked for would use one",
        strategy=RetryMethod.FRESH,
    )


def _futile_decision(task: Task, failure: Failure, most: int) -> RetryDecision | None:
    """Another attempt would change nothing, or is not allowed."""
    if failure.kind not in CONTENT_KINDS:
        return None
    current = task.unforgiven_failures(failure.kind)
    if (
        failure.check == NO_CHANGE_CHECK
        and task.feedback
        and task.feedback.check == NO_CHANGE_CHECK
    ):
        waived = tuple(failure.params.get(WAIVED_PARAM, ()))
        checks = describe_unchanged_checks(waived, len(task.spec.checks))
        reasoning = f"the agent changed nothing again, and {checks}"
        return _escalate(
            failure, current, most, "3.5", reasoning, "a change, or may_change_nothing: true"
        )
    if _cannot_start_again(task, failure):
        named = replace(failure, reason=Reason.NEEDS_HUMAN)
        reasoning = f"{_describe_failed_start(failure)}, for the second time"
        return _escalate(named, current, most, "4.6", reasoning, _explain_way_out(task, failure))
    if task.spec.kind in {TaskKind.CHECK, TaskKind.GROUP}:
        reasoning = "the same commit fails, and no agent works on it"
        return _escalate(
            failure, current, most, "6.5", reasoning, "another commit, or another check"
        )
    if needs_answer(failure.params):
        reasoning = "the check has failed since the landing of work for which a person waived it"
        otherwise = "a test report, which distinguishes waived failures from new ones"
        return _escalate(failure, current, most, "10.4", reasoning, otherwise)
    if failure.check and task.keeps_waived_work and failure.kind is not FailureKind.CONFLICT:
        # An agent that changes this work would end the waiver, and its question would return.
        reasoning = f"a person waived {', '.join(task.waivers)} for this work; another check fails"
        otherwise = "no failure besides the waived ones"
        # The person asked for no agent, so there is no re-run either.
        named = replace(failure, reason=Reason.NEEDS_HUMAN)
        return _escalate(named, current, most, "10.4", reasoning, otherwise)
    if task.is_rerun:
        reasoning = "the one re-run from the run branch failed as well"
        otherwise = "work that passes its checks on the run branch"
        return _escalate(failure, current, most, "8.4", reasoning, otherwise)
    return None


def _cannot_start_again(task: Task, failure: Failure) -> bool:
    """Did the program fail to start twice?  The prompt has already named what is missing."""
    before = task.feedback
    unable = all(
        one.params.get(CANNOT_START_PARAM) or one.params.get(MISSING_PATH_PARAM)
        for one in failure.single_failures
    )
    return unable and before is not None and before.fingerprint == failure.fingerprint


def _describe_failed_start(failure: Failure) -> str:
    if path := failure.single_failures[0].params.get(MISSING_PATH_PARAM):
        return f"check {failure.check} names {path}, which does not exist"
    return f"the program of check {failure.check} could not start"


def _explain_way_out(task: Task, failure: Failure) -> str:
    first = failure.single_failures[0]
    path = first.params.get(MISSING_PATH_PARAM)
    if path and may_create(task, failure, first.check, path):
        return f"work that creates {path}, or another check"
    return "a check that can start"


def _budget_decision(task: Task, failure: Failure, most: int) -> RetryDecision | None:
    """Rule 18.7: the next attempt would start although the task has used up its own budget."""
    measure = find_spent_budget(task)
    if not measure:
        return None
    return _escalate(
        replace(failure, reason=Reason.RESOURCE_EXHAUSTED),
        task.unforgiven_failures(failure.kind),
        most,
        BUDGET_RULE,
        f"the task {describe_spent_budget(task, measure)}",
        f"a larger budget ({measure})",
    )


def _spent_runs_decision(failure: Failure, current: int, most: int) -> RetryDecision | None:
    """The best candidate of a lost race was interrupted in the last run that its budget allowed."""
    if failure.reason is not Reason.RESOURCE_EXHAUSTED:
        return None
    reasoning = "its best candidate used up its attempts"
    return _escalate(failure, current, most, BUDGET_RULE, reasoning, "a larger budget (attempts)")


def _limit_decision(task: Task, failure: Failure, policy: RetryPolicy) -> RetryDecision | None:
    """The limit that ends the retries, if one is reached."""
    kind = failure.kind
    current, most = task.unforgiven_failures(kind), policy.rules[kind].retries_max
    content = task.counts.content_failures - task.forgiven_counts.content_failures
    if current >= most:
        # The failure that led to the one re-run is counted as well, although it used no retry.
        reasoning = f"retries for {kind}: {most} of {most} used"
        return _escalate(failure, most, most, "5.1", reasoning, f"max_retries above {most}")
    if kind in CONTENT_KINDS and content >= policy.content_retries_max:
        most = policy.content_retries_max
        reasoning = f"retries for all kinds of content failures: {most} of {most} used"
        return _escalate(failure, most, most, "5.1", reasoning, f"max_retries above {most}")
    if (
        kind is not FailureKind.LOST
        and task.total_unforgiven_failures + 1 >= policy.total_attempts_max
    ):
        most = policy.total_attempts_max
        reasoning = (
            f"{format_count(task.total_unforgiven_failures + 1, 'failed attempt')} in "
            f"total; {most} allowed"
        )
        return _escalate(
            failure, current, most, "5.1", reasoning, f"retry.max_total_attempts above {most}"
        )
    return None


_RULE = {RetryMethod.CONTINUE: "5.1", RetryMethod.PARK: "5.4"}


def _retry(
    task: Task, failure: Failure, same_work: int, chance: float, current: int, most: int
) -> RetryDecision:
    alike = count_same_fingerprint_failures(task, failure)
    strategy: RetryMethod | None = RetryMethod.CONTINUE
    if failure.kind in CONTENT_KINDS:
        strategy = choose_retry_strategy(task, same_work, alike)
    elif failure.kind is FailureKind.LOST:
        strategy = RetryMethod.FRESH
    if strategy is None:
        return _escalate(
            failure,
            current,
            most,
            "4.6",
            _describe_futile(same_work),
            "another failure, other work, or another agent",
        )
    wait, source = _wait(task, failure, current + 1, chance)
    if wait > task.spec.policy.rate_limit_wait_max:
        strategy = RetryMethod.PARK
    time = format_duration(wait.total_seconds())
    if strategy is RetryMethod.NEXT_AGENT:
        return _replace_agent(task, failure, current, most, max(same_work, alike), wait)
    return RetryDecision(
        RetryAction.RETRY,
        failure.kind,
        current,
        most,
        f"retry {current + 1} of {most} for {failure.kind}, in {time} ({source})",
        "3.7" if failure.kind is FailureKind.LOST else _RULE.get(strategy, "4.6"),
        f"a person would be asked after more than {format_count(most, 'retry', 'retries')} for "
        f"{failure.kind}{_next_step(task, failure, same_work)}",
        delay=wait,
        strategy=strategy,
    )


def _describe_futile(same_work: int) -> str:
    times = format_count(same_work, "time")
    return f"the same failure {times} in a row with the same work, and no other agent"


def describe_futile_end(task: Task, failure: Failure) -> str:
    """The reason that ended the retries of a task that awaits its re-run; empty for a limit.

    The failure is counted already.
    """
    policy = task.spec.policy
    rule = policy.rules.get(failure.kind)
    content = task.counts.content_failures - task.forgiven_counts.content_failures
    is_limit = (
        rule is None
        or task.unforgiven_failures(failure.kind) > rule.retries_max
        or content > policy.content_retries_max
        or task.total_unforgiven_failures >= policy.total_attempts_max
    )
    if is_limit or task.same_work_failures < FUTILE_FAILURES:
        return ""
    return _describe_futile(task.same_work_failures)


def _replace_agent(
    task: Task, failure: Failure, current: int, most: int, times: int, wait: timedelta
) -> RetryDecision:
    """Rule 18.1: the same failure too often, and the chain has another agent."""
    index = task.usable_substitute_indices[0]
    return RetryDecision(
        RetryAction.RETRY,
        failure.kind,
        current,
        most,
        f"retry {current + 1} of {most} for {failure.kind}, in "
        f"{format_duration(wait.total_seconds())}: the same failure "
        f"{format_count(times, 'time')} in a row, so {task.spec.agents[index].title} continues",
        "18.1",
        "the present agent would continue after another failure, or without a further agent",
        delay=wait,
        strategy=RetryMethod.NEXT_AGENT,
        agent_index=index,
        fail_over=FailOverCause.REPEATED_FAILURE,
    )


def _next_step(task: Task, failure: Failure, same_work: int) -> str:
    """Only failures of the work change the method of the next attempt."""
    if failure.kind not in CONTENT_KINDS:
        return ""
    following = {
        RetryMethod.FRESH: "a fresh worktree",
        RetryMethod.NEXT_AGENT: "the next agent",
        None: "a question to a person",
    }
    step = choose_retry_strategy(task, max(same_work, 1) + 1)
    return f"; the same failure with the same work would lead to {following[step]}"


def _wait(task: Task, failure: Failure, tries: int, chance: float) -> tuple[timedelta, str]:
    """A wait that the service asks for replaces ours; a long one parks the task until that date."""
    policy = task.spec.policy
    # Zero means no wait was named: five retries within a second would not help.
    if failure.retry_after:
        cut = f", cut to {RETRY_WAIT_MAX.days} days" if failure.retry_after > RETRY_WAIT_MAX else ""
        return max(timedelta(0), min(failure.retry_after, RETRY_WAIT_MAX)), f"Retry-After{cut}"
    backoff = policy.rules[failure.kind].backoff
    return backoff_delay(backoff, tries, chance), f"{backoff.type} backoff"


def _escalate(
    failure: Failure, current: int, maximum: int, rule: str, reasoning: str, otherwise: str
) -> RetryDecision:
    return RetryDecision(
        RetryAction.ESCALATE,
        failure.kind,
        current,
        maximum,
        reasoning,
        rule,
        otherwise,
        reason=reason_of(failure),
    )


def reason_of(failure: Failure) -> Reason:
    if failure.reason is not None:
        return failure.reason
    match failure.kind:
        case FailureKind.CONFLICT:
            return Reason.CONFLICT
        case FailureKind.ESCALATE_REQUIRED:
            return Reason.NEEDS_HUMAN
        case FailureKind.RESOURCE_EXHAUSTED:
            return Reason.RESOURCE_EXHAUSTED
        case FailureKind.FATAL_ERROR:
            return Reason.SYSTEM_ERROR_PERMANENT
        case FailureKind.TRANSIENT_ERROR | FailureKind.RATE_LIMIT | FailureKind.LOST:
            return Reason.SYSTEM_ERROR_TRANSIENT
        case FailureKind.INCOMPLETE | FailureKind.QUALITY_FAILURE | FailureKind.TIMEOUT:
            return Reason.MAX_RETRIES


# A task that is blocked for one of these reasons may get its one re-run.
RERUNNABLE_REASONS = frozenset({Reason.MAX_RETRIES, Reason.SYSTEM_ERROR_TRANSIENT})


def blocked_reason(task: Task, failure: Failure, decision: RetryDecision) -> Reason:
    """The reason why the task is blocked; a task that failed after its re-run is not re-run again.

    A fault of ours is no failure of the integrated work, whatever was re-run before.
    """
    reason = decision.reason or Reason.UNKNOWN
    if task.counts.reruns and reason in RERUNNABLE_REASONS and not failure.is_our_fault:
        return Reason.MAX_RETRIES_INTEGRATION
    return reason


def may_rerun(task: Task, failure: Failure, blocked: Reason) -> bool:
    """Rule 8.4: once per lineage, only work that an agent does, never a dead letter.

    For a subtask its group decides what follows, whatever it has used up.
    """
    if failure.code or failure.account_problem or not failure.retry_safe or task.taken_over:
        return False
    if task.parent or task.spec.defers_escalation:
        return blocked in RERUNNABLE_REASONS | {Reason.MAX_RETRIES_INTEGRATION}
    is_agent_work = task.spec.kind.is_change or task.spec.kind is TaskKind.REPORT
    has_rerun_left = task.counts.reruns < task.spec.policy.reruns_max
    return is_agent_work and has_rerun_left and blocked in RERUNNABLE_REASONS
