"""Rule 18.6 in detail: the words of each decision, its limits, and what it closes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.builders import HOUR, MINUTE, NOW, SECOND, a_failure, a_policy, a_spec, an_agent
from tests.core.test_account import closed, ended, escalation_of, retry_of, working
from yaoki.core.decide.account import (
    account_decides,
    awaited_account,
    unanswered_max,
    with_closure,
)
from yaoki.core.lazy_dataclass import replace
from yaoki.core.machine.events import RetryDecided
from yaoki.core.model import (
    AccountProblem,
    AgentLimit,
    Counts,
    FailureKind,
    Reason,
    RetryMethod,
    Stage,
    Task,
)

pytestmark = pytest.mark.spec("18.6")


def probing(**given: Any) -> Task:
    """A task that tries first on a closed account; `probes` counts the attempts before."""
    task = working()
    return replace(task, closed_account=closed(probe_task=task.id, **given))


def after_limit(task: Task, limit: AgentLimit = AgentLimit.RATE, **exit_: Any) -> RetryDecided:
    return retry_of(ended(task, limit, **exit_))


def test_the_time_that_a_service_names_is_not_one_without_an_answer() -> None:
    decided = after_limit(probing(probes=1), AgentLimit.RATE, retry_after=timedelta(hours=16))

    assert decided.why.otherwise == (
        "a person would be asked after 12 h without an answer of the service, "
        "not counting the wait that it asked for",
    )


@pytest.mark.parametrize(
    ("problem", "unanswered", "decides"),
    [
        (AccountProblem.NONE, False, False),
        (AccountProblem.NONE, True, False),
        (AccountProblem.OUTAGE, False, False),
        (AccountProblem.OUTAGE, True, True),
        (AccountProblem.RATE_LIMIT, True, True),
        (AccountProblem.KEY_REFUSED, False, True),
        (AccountProblem.NO_CREDIT, False, True),
    ],
)
def test_the_account_decides_where_no_model_answered_or_only_a_person_can_help(
    problem: AccountProblem, unanswered: bool, decides: bool
) -> None:
    assert account_decides(a_failure(account_problem=problem, unanswered=unanswered)) is decides


@pytest.mark.parametrize(("probe_task", "probes"), [("", 4), ("another", 4), ("own", 5)])
def test_only_the_task_that_tries_first_counts_as_an_attempt_on_a_closed_account(
    probe_task: str, probes: int
) -> None:
    task = working()
    probe = task.id if probe_task == "own" else probe_task
    task = replace(task, closed_account=closed(probes=4, probe_task=probe))

    failure = with_closure(task, a_failure(account_problem=AccountProblem.OUTAGE), NOW)

    assert failure.closure is not None
    assert failure.closure.probes == probes


# ------------------------------------------------------------------ waiting


@pytest.mark.parametrize(
    ("limit", "probes", "reasoning"),
    [
        (
            AgentLimit.RATE,
            0,
            "the service of small is at its limit; "
            "no retry is used, and one task tries small again in 5 s",
        ),
        (
            AgentLimit.OVERLOADED,
            1,
            "the service of small is overloaded or unreachable (2 attempts); "
            "no retry is used, and one task tries small again in 10 s",
        ),
    ],
)
def test_a_wait_says_why_and_how_long(limit: AgentLimit, probes: int, reasoning: str) -> None:
    decided = after_limit(probing(probes=probes), limit)

    assert decided.reasoning == reasoning
    assert decided.why.rule == "18.6"
    assert decided.why.otherwise == (
        "a person would be asked after 12 h without an answer of the service",
    )
    assert decided.why.inputs["kind"] == decided.failure.kind.value
    assert (decided.current_retry_count, decided.max_retries) == (0, 0), "no retry is used"


def test_a_task_that_ended_on_a_closed_account_says_so() -> None:
    task = working(closed_account=closed(until=NOW + MINUTE, probe_task="another"))

    assert after_limit(task).reasoning == (
        "the account was closed before this attempt ended; "
        "no retry is used, and one task tries small again in 1 min"
    )


@pytest.mark.parametrize("limit", [AgentLimit.AUTH, AgentLimit.OVERLOADED])
def test_a_task_behind_the_question_of_another_waits_and_closes_nothing(limit: AgentLimit) -> None:
    decided = after_limit(working(closed_account=closed(asking_task="another")), limit)

    assert decided.reasoning == "another task already asks a person about small; no retry is used"
    assert decided.failure.closure is None


@pytest.mark.parametrize(
    ("wait", "method"),
    [
        (6 * HOUR - SECOND, RetryMethod.CONTINUE),
        (6 * HOUR, RetryMethod.CONTINUE),
        (6 * HOUR + SECOND, RetryMethod.PARK),
    ],
)
def test_a_task_is_parked_for_a_wait_above_the_limit(wait: timedelta, method: RetryMethod) -> None:
    assert after_limit(working(), retry_after=wait).strategy is method


@pytest.mark.parametrize(
    ("named", "probes", "wait"),
    [
        (1, 0, 1),  # The first wait that a service names is kept, even a short one.
        (1, 1, 10),
        (60, 1, 60),
    ],
)
def test_a_service_that_names_its_wait_again_is_asked_less_often(
    named: int, probes: int, wait: int
) -> None:
    decided = after_limit(probing(probes=probes), retry_after=named * SECOND)

    assert decided.delay_ms == wait * 1000


@pytest.mark.parametrize(
    ("named", "probes", "promised"),
    [
        (65 * SECOND, 0, 60 * SECOND),  # Without the service the wait would be 5 seconds.
        (65 * SECOND, 1, 55 * SECOND),
        (1 * SECOND, 0, 0 * SECOND),
        (None, 0, 0 * SECOND),
    ],
)
def test_only_the_part_of_a_wait_that_the_service_added_is_promised(
    named: timedelta | None, probes: int, promised: timedelta
) -> None:
    closure = after_limit(probing(probes=probes), retry_after=named).failure.closure

    assert closure is not None
    assert closure.promised == promised


def test_attempts_of_the_task_itself_make_its_waits_longer() -> None:
    """Also where the account answered others in between and counts from the start."""
    waits = [after_limit(working(counts=Counts(unanswered=own))).delay_ms for own in range(4)]

    assert waits == [5_000, 10_000, 20_000, 40_000]


# ------------------------------------------------------------------ the end of waiting


@pytest.mark.parametrize(("waited", "asks"), [(12 * HOUR - SECOND, False), (12 * HOUR, True)])
def test_a_person_is_asked_once_the_longest_wait_is_reached(waited: timedelta, asks: bool) -> None:
    events = ended(probing(waited=waited), AgentLimit.OVERLOADED)

    assert any(isinstance(event, RetryDecided) for event in events) is not asks


@pytest.mark.parametrize(
    ("wait_hours", "probe_minutes", "attempts"),
    [
        # Waits of at least 4.5, 9, 18, 36, 72, 144 and 288 s, then 540 s each; the last asks.
        (12, 10, 87),
        (1, 10, 14),
        (0, 10, 1),
        # 0.45, 0.9, 1.8, 3.6, 7.2, 14.4, 28.8, 54 s each.
        (1, 1, 74),
    ],
)
def test_the_shortest_waits_bound_the_attempts_of_a_task(
    wait_hours: int, probe_minutes: int, attempts: int
) -> None:
    policy = a_policy(account_wait_max=wait_hours * HOUR, account_probe_max=probe_minutes * MINUTE)

    assert unanswered_max(policy) == attempts


# ------------------------------------------------------------------ questions and other agents


@pytest.mark.parametrize(
    ("limit", "waited", "reasoning", "otherwise"),
    [
        (
            AgentLimit.AUTH,
            0 * HOUR,
            "the service of small is refusing the key; waiting does not help",
            "a valid key, or more credit",
        ),
        (
            AgentLimit.MONEY,
            0 * HOUR,
            "the service of small is out of credit; waiting does not help",
            "a valid key, or more credit",
        ),
        (
            AgentLimit.OVERLOADED,
            13 * HOUR,
            "the service of small has not answered for 13 h",
            "an answer of the service within 12 h",
        ),
    ],
)
def test_a_question_about_an_account_says_why_and_what_would_spare_it(
    limit: AgentLimit, waited: timedelta, reasoning: str, otherwise: str
) -> None:
    decided = escalation_of(ended(probing(waited=waited), limit))

    assert decided.why.inputs["reasoning"] == reasoning
    assert (decided.why.rule, decided.why.otherwise) == ("18.6", (otherwise,))
    assert (decided.current_retry_count, decided.max_retries) == (0, 0), "no retry is used"
    assert isinstance(decided.blocked, Reason)


@pytest.mark.spec("18.1")
def test_the_next_agent_is_named_and_uses_no_retry() -> None:
    agents = (an_agent("first", account="one"), an_agent("second", account="two"))

    decided = after_limit(working(a_spec(agents=agents)), AgentLimit.AUTH)

    assert decided.reasoning == "the service of one is refusing the key; second continues"
    assert decided.why.rule == "18.1"
    assert decided.why.otherwise == ("a person would be asked if the chain had no further agent",)
    assert (decided.current_retry_count, decided.max_retries) == (0, 0)


@pytest.mark.parametrize(
    ("given", "account"),
    [
        ({"failure": None, "stage": Stage.PREPARE}, "small"),
        ({"failure": None, "stage": Stage.VERIFY}, ""),
        ({"failure": a_failure(FailureKind.QUALITY_FAILURE), "stage": Stage.VERIFY}, ""),
        ({"failure": a_failure(FailureKind.RATE_LIMIT, account="judge")}, "judge"),
        ({"failure": a_failure(FailureKind.RATE_LIMIT)}, "small"),
        (
            {
                "failure": a_failure(
                    FailureKind.TRANSIENT_ERROR, account_problem=AccountProblem.OUTAGE
                ),
                "stage": Stage.VERIFY,
            },
            "small",
        ),
        (
            {
                "failure": a_failure(FailureKind.RATE_LIMIT, account="judge"),
                "due_at": None,
                "stage": Stage.VERIFY,
            },
            "",
        ),
    ],
)
def test_a_waiting_task_names_the_account_that_it_waits_for(
    given: dict[str, Any], account: str
) -> None:
    task = replace(working(), **{"due_at": NOW + MINUTE, **given})

    assert awaited_account(task) == account
