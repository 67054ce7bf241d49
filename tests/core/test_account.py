"""Rule 18.6 as decisions: when a task waits for its account, goes on with another, or asks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.builders import (
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    a_policy,
    a_spec,
    an_active_task,
    an_agent,
    an_exit,
)
from yaoki.core.decide import rules
from yaoki.core.decide.account import unanswered_max
from yaoki.core.decide.failure_response import ClockAndChance
from yaoki.core.lazy_dataclass import replace
from yaoki.core.machine.events import EscalationDecided, Event, RetryDecided
from yaoki.core.machine.evolution import fold_events
from yaoki.core.model import (
    AccountClosure,
    AccountProblem,
    AgentLimit,
    ClosedAccount,
    Counts,
    RetryMethod,
    Stage,
    Task,
    TaskSpec,
    Work,
)
from yaoki.core.model.stage_report import WorkCommitted

pytestmark = pytest.mark.spec("18.6")


def working(spec: TaskSpec | None = None, **given: Any) -> Task:
    work = Work(base="ba5e", tree="same")
    return replace(an_active_task(Stage.WORK, spec=spec or a_spec(), work=work), **given)


def ended(task: Task, limit: AgentLimit, tree: str = "same", **exit_: Any) -> tuple[Event, ...]:
    """What follows when the agent of the task ended with this limit."""
    report = WorkCommitted(an_exit(code=1, limit=limit, **exit_), "head", tree, ())
    return rules.decide(task, report, ClockAndChance(NOW, 0.5))


def closed(problem: AccountProblem = AccountProblem.OUTAGE, **given: Any) -> ClosedAccount:
    waited = given.pop("waited", timedelta(0))
    closure = AccountClosure(
        NOW - waited, given.pop("probes", 1), given.pop("promised", 0 * SECOND)
    )
    return ClosedAccount(problem, closure, given.pop("until", NOW), **given)


def retry_of(events: tuple[Event, ...]) -> RetryDecided:
    (decided,) = (event for event in events if isinstance(event, RetryDecided))
    return decided


def escalation_of(events: tuple[Event, ...]) -> EscalationDecided:
    (decided,) = (event for event in events if isinstance(event, EscalationDecided))
    return decided


@pytest.mark.parametrize("limit", [AgentLimit.RATE, AgentLimit.OVERLOADED])
def test_an_attempt_without_an_answer_is_not_verified_and_uses_no_retry(limit: AgentLimit) -> None:
    task = working()

    events = ended(task, limit)
    after = fold_events(task, events)

    assert retry_of(events).failure.unanswered
    assert after.stage is Stage.PREPARE, "no check runs"
    assert after.counts.unanswered == 1
    assert after.counts.total_failures == 0
    assert after.failure_kinds == ()


def test_an_attempt_whose_model_has_answered_uses_a_retry() -> None:
    decided = retry_of(ended(working(), AgentLimit.RATE, model_responded=True))

    assert not decided.failure.unanswered
    assert decided.failure.closure is not None, "the account is closed all the same"


def test_work_is_verified_whatever_the_service_said() -> None:
    events = ended(working(), AgentLimit.RATE, tree="changed")

    assert not any(isinstance(event, RetryDecided) for event in events)


def test_waits_double_up_to_the_longest_time_between_two_probes() -> None:
    waits = []
    for probes in range(12):
        task = working()
        task = replace(task, closed_account=closed(probes=probes, probe_task=task.id))
        waits.append(retry_of(ended(task, AgentLimit.OVERLOADED)).delay_ms / 1000)

    assert waits[:3] == [5, 10, 20]
    assert waits[-1] == 600


@pytest.mark.parametrize(("named", "probes", "wait"), [(90, 0, 90 * 60), (1, 9, 600)])
def test_the_wait_that_a_service_names_is_kept_until_it_breaks_its_word(
    named: int, probes: int, wait: int
) -> None:
    task = working()
    task = replace(task, closed_account=closed(probes=probes, probe_task=task.id))

    decided = retry_of(ended(task, AgentLimit.RATE, retry_after=named * MINUTE))

    assert decided.delay_ms == wait * 1000


def test_a_named_wait_does_not_count_as_time_without_an_answer() -> None:
    task = working()
    waited = 14 * HOUR
    task = replace(
        task, closed_account=closed(waited=waited, promised=10 * HOUR, probe_task=task.id)
    )

    assert retry_of(ended(task, AgentLimit.RATE)).failure.unanswered


def test_after_too_long_without_an_answer_one_task_asks() -> None:
    task = working()
    task = replace(task, closed_account=closed(waited=13 * HOUR, probe_task=task.id))

    decided = escalation_of(ended(task, AgentLimit.OVERLOADED))

    assert "has not answered for 13 h" in decided.reason["description"]


def test_a_task_whose_account_answers_others_comes_to_an_end_too() -> None:
    """The account was opened again and again; the task itself never had an answer."""
    many = unanswered_max(a_policy())
    task = working(counts=Counts(unanswered=many))

    assert escalation_of(ended(task, AgentLimit.OVERLOADED)).failure.unanswered
    forgiven = replace(task, forgiven_counts=Counts(unanswered=many))
    assert retry_of(ended(forgiven, AgentLimit.OVERLOADED)).failure.unanswered


def test_a_task_that_was_started_before_the_account_closed_waits_and_closes_nothing() -> None:
    task = working(closed_account=closed(until=NOW + MINUTE, probe_task="another"))

    decided = retry_of(ended(task, AgentLimit.OVERLOADED))

    assert decided.due_at == NOW + MINUTE
    assert decided.failure.closure is None


@pytest.mark.parametrize("limit", [AgentLimit.AUTH, AgentLimit.MONEY])
def test_only_one_task_asks_about_a_refused_key_or_an_empty_purse(limit: AgentLimit) -> None:
    problem = limit.account_problem

    assert escalation_of(ended(working(), limit)).failure.account_problem is problem
    second = working(closed_account=closed(problem, asking_task="another"))
    assert retry_of(ended(second, limit)).delay_ms == 0


@pytest.mark.spec("18.1")
def test_the_next_agent_with_another_account_continues_in_the_same_worktree() -> None:
    agents = (
        an_agent("a", account="shared"),
        an_agent("b", account="shared"),
        an_agent("c", account="other"),
    )
    task = working(a_spec(agents=agents), session="conversation-1")

    decided = retry_of(ended(task, AgentLimit.AUTH))
    after = fold_events(task, ended(task, AgentLimit.AUTH))

    assert (decided.strategy, decided.agent_index, decided.fresh) == (
        RetryMethod.NEXT_AGENT,
        2,
        False,
    )
    assert after.session == "", "a conversation belongs to one agent"


def test_the_words_of_the_service_are_part_of_the_message_and_not_of_the_fingerprint() -> None:
    one, two = (
        escalation_of(ended(working(), AgentLimit.AUTH, service_message=words)).failure
        for words in ("API key not valid", "API key expired")
    )

    assert one.message.endswith(": API key not valid")
    assert one.fingerprint == two.fingerprint
