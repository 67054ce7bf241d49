"""A running agent is stopped at the budget of its task, of the run or of the day."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import a_spec, a_task
from yaoki.core.decide.exit_classification import classify_exit
from yaoki.core.decide.spending_cap import (
    add_usage,
    find_reached_cap,
    limits_agents,
    task_spend_left,
)
from yaoki.core.model import AgentExit, EndCause, FailureKind, Spend, Usage
from yaoki.core.settings.budget import BudgetMeasure, BudgetScope, SpendLeft

pytestmark = pytest.mark.spec("18.7")
TASK, RUN, DAY = BudgetScope.TASK, BudgetScope.RUN, BudgetScope.DAY
MONEY, TOKENS = BudgetMeasure.MONEY, BudgetMeasure.TOKENS
NOTHING = Usage()


@pytest.mark.parametrize(
    ("left", "own", "together", "expected"),
    [
        (SpendLeft(TASK, TOKENS, 100), Usage(tokens=99), Usage(tokens=500), EndCause.NONE),
        (SpendLeft(TASK, TOKENS, 100), Usage(tokens=100), NOTHING, EndCause.TASK_BUDGET),
        (SpendLeft(TASK, MONEY, 0.5), Usage(cost=0.6), NOTHING, EndCause.TASK_BUDGET),
        (SpendLeft(TASK, MONEY, 0.5), Usage(tokens=9), NOTHING, EndCause.NONE),
        (SpendLeft(RUN, TOKENS, 100), Usage(tokens=60), Usage(tokens=120), EndCause.RUN_BUDGET),
        (SpendLeft(RUN, TOKENS, 100), Usage(tokens=60), Usage(tokens=99), EndCause.NONE),
        (SpendLeft(DAY, MONEY, 1.0), Usage(cost=0.4), Usage(cost=1.0), EndCause.RUN_BUDGET),
        (SpendLeft(DAY, MONEY, 1.0), NOTHING, NOTHING, EndCause.NONE),
        # Already used up: the first report is too much.
        (SpendLeft(RUN, TOKENS, -5), Usage(tokens=1), Usage(tokens=1), EndCause.RUN_BUDGET),
        (SpendLeft(RUN, TOKENS, -5), NOTHING, NOTHING, EndCause.NONE),
        # No agent reports these.
        (SpendLeft(RUN, BudgetMeasure.ATTEMPTS, 0), NOTHING, Usage(1.0, 1, 9), EndCause.NONE),
        (SpendLeft(RUN, BudgetMeasure.SECONDS, 0), NOTHING, Usage(1.0, 1, 9), EndCause.NONE),
    ],
)
def test_a_cap_is_reached_by_what_is_reported(
    left: SpendLeft, own: Usage, together: Usage, expected: EndCause
) -> None:
    assert find_reached_cap((left,), own, together) is expected


def test_the_first_reached_cap_counts() -> None:
    wide, narrow = SpendLeft(TASK, TOKENS, 1000), SpendLeft(RUN, TOKENS, 10)

    assert find_reached_cap((wide, narrow), Usage(tokens=20), Usage(tokens=20)) is (
        EndCause.RUN_BUDGET
    )
    assert find_reached_cap((), Usage(9.0, 9), Usage(9.0, 9)) is EndCause.NONE


def test_only_money_and_tokens_limit_a_running_agent() -> None:
    assert limits_agents((SpendLeft(RUN, MONEY, 1),))
    assert limits_agents((SpendLeft(DAY, BudgetMeasure.ATTEMPTS, 1), SpendLeft(TASK, TOKENS, 1)))
    assert not limits_agents((SpendLeft(RUN, BudgetMeasure.WALL_S, 1),))
    assert not limits_agents(())


def test_the_rest_of_a_task_counts_since_the_last_grant() -> None:
    spec = replace(a_spec(), budget={"money": 2.0, "tokens": 1000.0, "seconds": 60.0})
    task = replace(
        a_task(),
        spec=spec,
        spend=Spend(money=2.5, tokens=1500),
        forgiven_spend=Spend(money=2.0, tokens=600),
    )

    assert task_spend_left(task) == (SpendLeft(TASK, MONEY, 1.5), SpendLeft(TASK, TOKENS, 100))
    assert task_spend_left(replace(task, spec=a_spec())) == ()


def test_a_sum_of_usage_contains_what_is_known() -> None:
    assert add_usage((Usage(0.5, None), Usage(None, 7), Usage(0.25, 3))) == Usage(0.75, 10)
    assert add_usage((Usage(), Usage())) == Usage()
    assert add_usage(()) == Usage()


def test_the_end_at_a_budget_explains_itself() -> None:
    own = classify_exit(AgentExit(code=0, ended_by=EndCause.TASK_BUDGET))
    shared = classify_exit(AgentExit(code=0, ended_by=EndCause.RUN_BUDGET))

    assert own is not None
    assert (own.kind, own.message) == (
        FailureKind.RESOURCE_EXHAUSTED,
        "the agent was stopped because the budget of its task is used up",
    )
    assert shared is not None
    assert (shared.kind, shared.message) == (
        FailureKind.LOST,
        "the agent was stopped because the budget of the run is used up",
    )
