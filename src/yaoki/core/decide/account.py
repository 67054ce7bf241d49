"""Rule 18.6: a limit, an outage or a refusal by its service closes an account for all tasks.

One task tries first after each wait.  Waits are bounded by time, not by a number of attempts, and
an attempt in which the model never answered uses up no retry.  One question covers the account.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from yaoki.core.decide.backoff import RETRY_WAIT_MAX, backoff_delay
from yaoki.core.decide.retry import reason_of
from yaoki.core.decide.retry_decision import RetryAction, RetryDecision
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import (
    AccountClosure,
    AccountProblem,
    Backoff,
    BackoffType,
    ClosedAccount,
    FailOverCause,
    Failure,
    FailureKind,
    RetryMethod,
    RetryPolicy,
    Stage,
    Task,
)
from yaoki.core.text import format_count, format_duration

FAIL_OVER_RULE, ACCOUNT_RULE = "18.1", "18.6"
FAIL_OVER_CAUSES = {
    AccountProblem.RATE_LIMIT: FailOverCause.LIMIT,
    AccountProblem.OUTAGE: FailOverCause.OUTAGE,
    AccountProblem.KEY_REFUSED: FailOverCause.KEY_REFUSED,
    AccountProblem.KEY_MISSING: FailOverCause.KEY_REFUSED,
    AccountProblem.NO_CREDIT: FailOverCause.NO_CREDIT,
}
_PROBLEMS = {
    AccountProblem.RATE_LIMIT: "at its limit",
    AccountProblem.OUTAGE: "overloaded or unreachable",
    AccountProblem.KEY_REFUSED: "refusing the key",
    AccountProblem.KEY_MISSING: "without a key",
    AccountProblem.NO_CREDIT: "out of credit",
}


def account_decides(failure: Failure) -> bool:
    """Does the account decide what follows, rather than the retries of the task?"""
    return failure.account_problem.needs_person or (
        failure.unanswered and bool(failure.account_problem)
    )


def with_closure(task: Task, failure: Failure, now: datetime) -> Failure:
    """Add since when, and for how many attempts, the service has not answered.

    Only the task that probes a closed account adds one attempt: others were started before.
    """
    if not failure.account_problem:
        return failure
    closed = task.closed_account
    if closed is None:
        return replace(failure, closure=AccountClosure(now))
    probed = 1 if _is_probe(task, closed) else 0
    before = closed.closure
    return replace(failure, closure=replace(before, probes=before.probes + probed))


def awaited_account(task: Task) -> str:
    """The account because of which the task is delayed or not started; empty without one."""
    failure = task.failure
    limited = failure is not None and (
        failure.account_problem or failure.kind is FailureKind.RATE_LIMIT
    )
    if failure is not None and limited and task.due_at is not None:
        return failure.account or task.account
    return task.account if task.stage is Stage.PREPARE else ""


def first_agent_after_answer(task: Task) -> int | None:
    """The agent that begins after `retry`; None for the present one.

    A person who answers has fixed what the question named.  So the chain starts again with the
    first agent whose key or credit the question named, or else with its first agent.  An agent that
    asked the question itself gets the answer and continues.
    """
    taken_over_from = [o for o in task.given_up_agents if o.cause is not FailOverCause.LEARNED]
    asked = task.failure is not None and task.failure.kind is FailureKind.ESCALATE_REQUIRED
    if not taken_over_from or asked or task.stage is not Stage.PREPARE:
        return None
    index = next(iter(task.refused_agent_indices), 0)
    return None if index == task.agent_index else index


def _is_probe(task: Task, closed: ClosedAccount) -> bool:
    return closed.probe_task == task.id


def fail_over(task: Task, failure: Failure, alone: RetryDecision, now: datetime) -> RetryDecision:
    """Rule 18.1: an agent with another account continues, unless the wait is short.

    `alone` is the decision for a task without another agent.
    """
    if not _is_long(task, failure, alone, now):
        return alone
    other = _first_usable(task, now)
    if other is None or (alone.action is RetryAction.RETRY and other.wait >= alone.delay):
        return replace(alone, account_avoided=True)
    when = f" in {_duration(other.wait)}" if other.wait else ""
    return replace(
        alone,
        action=RetryAction.RETRY,
        reasoning=f"{_describe_problem(task, failure)}; "
        f"{task.spec.agents[other.index].title} continues{when}",
        rule=FAIL_OVER_RULE,
        otherwise=_explain_fail_over(task, alone),
        delay=other.wait,
        reason=None,
        strategy=RetryMethod.NEXT_AGENT,
        agent_index=other.index,
        fail_over=FAIL_OVER_CAUSES[failure.account_problem],
        account_avoided=True,
        account_wait=alone.delay or _refused_wait(task.spec.policy, failure),
    )


def _describe_problem(task: Task, failure: Failure) -> str:
    if failure.is_our_fault:
        return f"the key of {task.account} is not set on this machine"
    return f"the service of {task.account} is {_PROBLEMS[failure.account_problem]}"


def _refused_wait(policy: RetryPolicy, failure: Failure) -> timedelta:
    """The time after which one task checks whether a person has fixed the account.

    The time doubles after each try: a refused key is rarely fixed overnight.
    """
    if not failure.account_problem.needs_person:
        return timedelta(0)
    probes = max(failure.closure.probes if failure.closure else 1, 1)
    factor: int = 2 ** min(probes - 1, 10)
    return min(policy.account_probe_max * factor, policy.account_wait_max)


@dataclass(frozen=True, slots=True)
class _UsableAgent:
    index: int
    wait: timedelta


def _first_usable(task: Task, now: datetime) -> _UsableAgent | None:
    """The agent with another account that can start first; none if all need a person."""
    usable = []
    for index in task.other_agent_indices:
        account = task.spec.agents[index].billed_account
        until = task.closed_chain_accounts.get(account, now)
        if account != task.account and until is not None:
            usable.append(_UsableAgent(index, max(until - now, timedelta(0))))
    return min(usable, key=lambda one: one.wait, default=None)


def _is_long(task: Task, failure: Failure, alone: RetryDecision, now: datetime) -> bool:
    """Is waiting useless, or longer than a task may wait that has another agent?

    The time since the service last answered counts, so that repeated short waits do not hold the
    task up forever.
    """
    if alone.action is RetryAction.ESCALATE or failure.account_problem.needs_person:
        return True
    since = failure.closure.since if failure.closure else now
    return now - since + alone.delay > task.spec.policy.fail_over_after


def _explain_fail_over(task: Task, alone: RetryDecision) -> str:
    if alone.action is RetryAction.ESCALATE:
        return "a person would be asked if the chain had no further agent"
    longest = _duration(task.spec.policy.fail_over_after)
    return (
        f"the task would wait for {task.account} for at most {longest}, "
        "or longer if the chain had no further agent"
    )


def decide_wait(task: Task, failure: Failure, now: datetime, chance: float) -> RetryDecision:
    """Wait for the account, or ask a person about it."""
    closed = task.closed_account
    if closed is not None and closed.asking_task not in {"", task.id}:
        asked = _wait(task, failure, timedelta(0), "")
        words = f"another task already asks a person about {task.account}; no retry is used"
        return replace(asked, reasoning=words, closes_account=False)
    if failure.account_problem.needs_person:
        problem = _describe_problem(task, failure)
        return _ask(failure, f"{problem}; waiting does not help", "a valid key, or more credit")
    if closed is not None and not _is_probe(task, closed):
        left = max(closed.until - now, timedelta(0))
        before = "the account was closed before this attempt ended"
        return replace(_wait(task, failure, left, before), closes_account=False)
    return _wait_for_service(task, failure, now, chance)


def _wait_for_service(task: Task, failure: Failure, now: datetime, chance: float) -> RetryDecision:
    policy, closure = task.spec.policy, failure.closure
    assert closure is not None, f"{task.id} has no closure"
    own = task.counts.unanswered - task.forgiven_counts.unanswered
    waited = now - closure.since - closure.promised
    if waited >= policy.account_wait_max or own >= unanswered_max(policy):
        words = f"the service of {task.account} has not answered for {_duration(waited)}"
        return _ask(
            failure, words, f"an answer of the service within {_duration(policy.account_wait_max)}"
        )
    growing = backoff_delay(_backoff(policy), max(closure.probes, own + 1), chance)
    promised = min(failure.retry_after or timedelta(0), RETRY_WAIT_MAX)
    # The first wait is the one that the service asks for.  If the service then asks for another one
    # without answering, the waits grow.
    wait = promised if promised and closure.probes == 1 else max(promised, growing)
    times = f" ({format_count(closure.probes, 'attempt')})" if closure.probes > 1 else ""
    cause = f"{_describe_problem(task, failure)}{times}"
    waiting = _wait(task, failure, wait, cause)
    return replace(waiting, promised=max(promised - growing, timedelta(0)))


def _backoff(policy: RetryPolicy) -> Backoff:
    """Waits that double up to the longest time between two probes."""
    longest = policy.account_probe_max
    return Backoff(
        BackoffType.EXPONENTIAL, initial=longest / 120, multiplier=2.0, maximum=longest, jitter=0.1
    )


def unanswered_max(policy: RetryPolicy) -> int:
    """How many attempts of one task can go unanswered before a person is asked."""
    backoff, left, tries = _backoff(policy), policy.account_wait_max, 0
    shortest = backoff_delay(backoff, 1, 0.0)
    while shortest < backoff.maximum * (1 - backoff.jitter) and left > timedelta(0):
        left -= shortest
        tries += 1
        shortest = backoff_delay(backoff, tries + 1, 0.0)
    return tries + max(0, math.ceil(left / shortest)) + 1


def _duration(time: timedelta) -> str:
    return format_duration(time.total_seconds())


def _wait(task: Task, failure: Failure, wait: timedelta, cause: str) -> RetryDecision:
    parks = wait > task.spec.policy.rate_limit_wait_max
    # The wait that the service asks for does not count as time without an answer.
    uncounted = ", not counting the wait that it asked for" if failure.retry_after else ""
    longest = _duration(task.spec.policy.account_wait_max)
    return RetryDecision(
        RetryAction.RETRY,
        failure.kind,
        0,
        0,
        f"{cause}; no retry is used, and one task tries {task.account} again in {_duration(wait)}",
        ACCOUNT_RULE,
        f"a person would be asked after {longest} without an answer of the service{uncounted}",
        delay=wait,
        strategy=RetryMethod.PARK if parks else RetryMethod.CONTINUE,
    )


def _ask(failure: Failure, reasoning: str, otherwise: str) -> RetryDecision:
    return RetryDecision(
        RetryAction.ESCALATE,
        failure.kind,
        0,
        0,
        reasoning,
        ACCOUNT_RULE,
        otherwise,
        reason=reason_of(failure),
    )
