"""Running agents of one worker count together against the budget of their run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.builders import HandClock, a_task
from tests.simulation.fake_adapters import PlainAgent
from yaoki.core.model import EndCause, RunId, Usage
from yaoki.core.settings.budget import BudgetMeasure, BudgetScope, SpendLeft
from yaoki.engine.claim_context import ClaimContext, unclaimed_context
from yaoki.engine.stages.spend_watch import READ_INTERVAL, SpendWatch

pytestmark = pytest.mark.spec("18.7")
FIRST, SECOND, FOREIGN = Path("first"), Path("second"), Path("foreign")


class TalkingAgent(PlainAgent):
    """Reports the tokens that the test sets."""

    def __init__(self, tokens: Mapping[Path, int]) -> None:
        self.tokens = tokens
        self.reads = 0

    def usage_so_far(self, folder: Path) -> Usage:
        self.reads += 1
        return Usage(tokens=self.tokens.get(folder))


def claim_with(*left: SpendLeft) -> ClaimContext:
    return replace(unclaimed_context(lambda *_: None), spend_left=lambda: left)


RUN_LEFT = SpendLeft(BudgetScope.RUN, BudgetMeasure.TOKENS, 100)


def test_agents_of_one_run_count_together_until_they_end() -> None:
    agent = TalkingAgent({FIRST: 60, SECOND: 60, FOREIGN: 90})
    clock, claim = HandClock(), claim_with(RUN_LEFT)
    watch, task = SpendWatch(clock), a_task()
    other_run = replace(task, run_id=RunId("other"))

    with watch.watch(other_run, agent, FOREIGN, claim) as foreign:
        assert foreign() is EndCause.NONE
        with watch.watch(task, agent, FIRST, claim) as first:
            assert first() is EndCause.NONE
            with watch.watch(task, agent, SECOND, claim) as second:
                assert second() is EndCause.RUN_BUDGET
        with watch.watch(task, agent, SECOND, claim) as second:
            assert second() is EndCause.NONE, "the first one has ended"


def test_the_output_is_read_at_intervals() -> None:
    agent, clock = TalkingAgent({FIRST: 60}), HandClock()

    with SpendWatch(clock).watch(a_task(), agent, FIRST, claim_with(RUN_LEFT)) as find_cause:
        for _ in range(3):
            assert find_cause() is EndCause.NONE
        assert agent.reads == 1
        clock.advance(READ_INTERVAL)
        find_cause()

    assert agent.reads == 2


def test_without_such_a_budget_no_output_is_read() -> None:
    agent, clock = TalkingAgent({FIRST: 10**9}), HandClock()
    left = SpendLeft(BudgetScope.RUN, BudgetMeasure.ATTEMPTS, 0)

    with SpendWatch(clock).watch(a_task(), agent, FIRST, claim_with(left)) as find_cause:
        assert find_cause() is EndCause.NONE
        clock.advance(timedelta(hours=1))
        assert find_cause() is EndCause.NONE

    assert agent.reads == 0
