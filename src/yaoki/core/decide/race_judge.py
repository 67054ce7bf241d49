"""The blind judge of a race: an agent that is asked which of several equal candidates is best.

It is a task of its own that lands nothing and asks nobody.  Whatever it does, the race is decided:
only a strictly valid answer counts, and without one the next criterion decides (rule 18.4).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import timedelta

from yaoki.core.decide.candidate import QUESTION_NOTES, budget_left
from yaoki.core.decide.failure_response import ClockAndChance
from yaoki.core.decide.rules import decide
from yaoki.core.lazy_dataclass import replace
from yaoki.core.machine.events import AwaitingRerun, EscalationDecided, Event, RetryDecided
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.machine.race_events import JudgeCalled, JudgeEnded, JudgeSettled
from yaoki.core.machine.request_events import Cancelled, CancelRequested
from yaoki.core.model import (
    RACE_JUDGE_CALLS_MAX,
    AgentSpec,
    ComparedWork,
    FailureKind,
    JudgingBrief,
    RaceJudgment,
    RetryPolicy,
    RetryRule,
    Task,
    TaskId,
    TaskKind,
    TaskSpec,
)
from yaoki.core.model.race import letters_for
from yaoki.core.model.stage_report import StageReport
from yaoki.core.text import shorten

# A judge reads a few diffs; a longer wait would cost more than its answer is worth.
TIMEOUT_MAX = timedelta(minutes=10)
MESSAGE_MAX = 300
BUDGET_IS_SPENT = "the budget of the task is used up"
WAS_STOPPED = "it was stopped"

# ------------------------------------------------------------------ the call


def call_judge(task: Task, agent: str, equals: Sequence[Task]) -> JudgeCalled:
    """Ask about these candidates, in an order that says nothing about their numbers."""
    ordered = sorted(equals, key=lambda each: _place(task, each.id))
    works = tuple(
        ComparedWork(each.id, each.spec.name, each.work.base, each.work.head) for each in ordered
    )
    return JudgeCalled(agent, works)


def _place(task: Task, candidate: TaskId) -> str:
    """The same journal gives the same order; another race gives another one."""
    return hashlib.sha256(f"{task.id}/{task.attempt}/{candidate}".encode()).hexdigest()


def find_obstacle(task: Task) -> str:
    """Why no judge can be asked; empty if one can.  `task` has the spend of its candidates."""
    if any(left <= 0 for left in budget_left(task).values()):
        return BUDGET_IS_SPENT
    return task.judge_obstacle


def judge_spec(task: Task, event: JudgeCalled, agents: tuple[AgentSpec, ...]) -> TaskSpec:
    """The specification of the judge's task: the goal and the checks are those of the race.

    `agents` is the chain of the judge: the same agent, with each account that it can use.
    """
    timeout = min(task.spec.timeout, TIMEOUT_MAX)
    return replace(
        task.spec,
        name=f"{task.spec.name}~{task.attempt}.judge",
        kind=TaskKind.JUDGE,
        needs=(),
        agents=agents,
        scope=(),
        required=False,
        timeout=timeout,
        hang=min(task.spec.hang, timeout),
        policy=_policy(task.spec.policy),
        setup=(),
        setup_inputs=(),
        race=None,
        budget=budget_left(task),
        group="",
        phase="",
        judging_brief=JudgingBrief(event.works),
    )


def _policy(policy: RetryPolicy) -> RetryPolicy:
    """Only an interruption is repeated, and only once."""
    most = RACE_JUDGE_CALLS_MAX - 1
    rules: dict[FailureKind, RetryRule] = {
        kind: replace(rule, retries_max=min(rule.retries_max, most))
        for kind, rule in policy.rules.items()
        if kind is FailureKind.LOST
    }
    return replace(policy, rules=rules, faults_max=min(policy.faults_max, most))


# ------------------------------------------------------------------ the judge's own task


def decide_judge(task: Task, report: StageReport, moment: ClockAndChance) -> tuple[Event, ...]:
    """The events that follow from a stage report of the judge: it asks nobody and waits for no
    account.
    """
    return tuple(
        changed for event in decide(task, report, moment) for changed in _as_judge(event, task)
    )


def _as_judge(event: Event, task: Task) -> Iterator[Event]:
    match event:
        case RetryDecided(failure=failure, due_at=due_at) if _needs_account(event, task):
            yield JudgeEnded(failure=failure, account_until=event.account_until or due_at)
        case EscalationDecided(failure=failure) | AwaitingRerun(failure=failure):
            yield JudgeEnded(failure=failure)
        case Cancelled():
            yield JudgeEnded()
        case JournalNote(name=name) if name in QUESTION_NOTES:
            return
        case _:
            yield event


def _needs_account(event: RetryDecided, task: Task) -> bool:
    """Would the next attempt need an account that does not answer?  Another one continues, if that
    is at once.
    """
    continues = event.agent_index != task.agent_index and not event.delay_ms
    return bool(event.failure.account_problem) and not continues


def end_judge(judge: Task, why: str) -> tuple[Event, ...]:
    """End a judge that no worker has; one that a worker may have is asked to stop."""
    if judge.state.is_final or judge.cancel_requested:
        return ()
    return (CancelRequested(why),) if judge.epoch else (JudgeEnded(),)


# ------------------------------------------------------------------ the answer


def settle_judge(judge: Task) -> JudgeSettled:
    """The end of the judge, as the racing task records it."""
    judgment = judge.judgment or RaceJudgment()
    failure = judge.failure
    words = failure.message if failure else WAS_STOPPED
    return JudgeSettled(
        judge.id,
        judge.agent.name if judge.agent else "",
        judgment,
        _chosen(judge, judgment.choice),
        "" if judgment.choice else shorten(words, MESSAGE_MAX),
        judge.spend,
    )


def _chosen(judge: Task, letter: str) -> TaskId:
    assert judge.spec.judging_brief is not None, f"{judge.id} judges no race"
    works = judge.spec.judging_brief.works
    chosen = dict(zip(letters_for(len(works)), works, strict=True)).get(letter)
    return chosen.candidate if chosen else TaskId("")
