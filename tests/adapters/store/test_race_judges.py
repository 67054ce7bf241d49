"""The judge of a race as a row: it is added and ends in one transaction with the race (18.4)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.adapters.store.store_actions import events_of, lease_of, submit
from tests.adapters.store.test_accounts import limit_account
from tests.adapters.store.test_races import RUN, record, start_round, states
from tests.builders import MINUTE, HandClock, a_policy, a_spec, an_agent
from yaoki.adapters.store import SqlStore
from yaoki.core.decide.failure_response import ClockAndChance
from yaoki.core.decide.race_judge import decide_judge
from yaoki.core.machine.events import AgentFinished, AttemptStarted, Event, PromptSent
from yaoki.core.machine.race_events import JudgeEnded
from yaoki.core.model import (
    AgentAccount,
    AgentExit,
    AgentLimit,
    Catalogue,
    RaceEnd,
    RaceJudgment,
    RaceRules,
    Stage,
    State,
    Task,
    TaskId,
    TaskKind,
)
from yaoki.core.model.stage_report import WorkCommitted
from yaoki.errors import LeaseLost, NotNow
from yaoki.ports import Claimant

pytestmark = pytest.mark.spec("18.4", "0.2", "0.3")

ONE = Claimant("host:1", MINUTE)
RACING = TaskId(f"{RUN}-1")


def start_tie(store: SqlStore, **judge: Any) -> None:
    """A race of two that both are proven; `other` uses the account of the judge."""
    agents = {"small": an_agent(), "careful": an_agent("careful", **judge)}
    catalogue = Catalogue(agents=agents, policies={"default": a_policy()})
    rules = RaceRules(2, until=RaceEnd.ALL, judge="careful")
    other = a_spec("other", agents=(agents["careful"],), policy=a_policy(), priority=-9)
    submit(store, a_spec("a", race=rules), other, catalogue=catalogue)
    start_round(store)


def end_candidates(store: SqlStore) -> None:
    for _ in range(2):
        record(store, claim_named(store, "a~1."))


def claim_named(store: SqlStore, prefix: str) -> Task:
    (found,) = store.claim(ONE, 1)
    assert found.spec.name.startswith(prefix), found.spec.name
    return found


def answer(choice: str) -> tuple[Event, ...]:
    return (JudgeEnded(RaceJudgment(choice, "it is simple")),)


def test_a_tie_adds_the_judge_in_the_transaction_of_the_last_end(store: SqlStore) -> None:
    start_tie(store)
    record(store, claim_named(store, "a~1.1"))
    assert "a~1.judge" not in states(store)

    record(store, claim_named(store, "a~1.2"))

    racing = store.task(RACING)
    assert racing.awaiting_race
    judge = store.task(racing.judge)
    assert (judge.spec.name, judge.spec.kind, judge.state) == (
        "a~1.judge",
        TaskKind.JUDGE,
        State.WAITING,
    )
    assert judge.race_task == RACING
    assert judge.account == "careful"
    assert events_of(store, RACING)[-2:] == ["CANDIDATE_SETTLED", "JUDGE_CALLED"]
    assert not store.is_idle(RUN)
    assert store.audit(RUN) == []


def test_the_judges_answer_decides_the_race_in_its_own_transaction(store: SqlStore) -> None:
    start_tie(store)
    end_candidates(store)
    judge = claim_named(store, "a~1.judge")
    brief = judge.spec.judging_brief
    assert brief is not None

    record(store, judge, lambda _: answer("B"))

    racing = store.task(RACING)
    assert (racing.stage, racing.work.candidate) == (Stage.VERIFY, brief.works[1].candidate)
    assert events_of(store, RACING)[-2:] == ["JUDGE_SETTLED", "RACE_DECIDED"]
    found = states(store)
    assert {found[name] for name in ("a~1.1", "a~1.2", "a~1.judge")} == {State.REPLACED}
    assert store.audit(RUN) == []


def test_a_judge_that_lost_its_claim_decides_nothing(store: SqlStore) -> None:
    start_tie(store)
    end_candidates(store)
    late = claim_named(store, "a~1.judge")
    store.expire_claims(lambda _: True, counted=True)

    with pytest.raises(LeaseLost):
        record(store, late, lambda _: answer("A"))

    assert store.task(RACING).awaiting_race
    record(store, claim_named(store, "a~1.judge"), lambda _: answer("A"))
    assert [entry.event for entry in store.journal(run_id=RUN)].count("RACE_DECIDED") == 1


def test_what_the_judge_used_counts_in_its_race(store: SqlStore) -> None:
    start_tie(store)
    end_candidates(store)
    before = store.task(RACING).spend
    judge = claim_named(store, "a~1.judge")
    used = AgentExit(code=0, cost=0.25, tokens=9, seconds=2.0)
    started = AttemptStarted(1, "careful", "ba5e", "/w", "host", fresh=True)
    store.record(lease_of(judge), lambda _: (started, PromptSent(spend_counted=True)))

    record(store, judge, lambda _: (AgentFinished(used, "ba5e", "t"), *answer("A")))

    after = store.task(RACING).spend
    assert after.money - before.money == 0.25
    assert after.attempts - before.attempts == 1
    assert store.total_spend(RUN).money == after.money


# ------------------------------------------------------------------ the account of the judge


def test_a_race_with_a_closed_judge_is_decided_at_once_without_one(
    store: SqlStore, clock: HandClock
) -> None:
    start_tie(store)
    first, second, other = store.claim(ONE, 3)
    limit_account(store, other, clock, timedelta(hours=3))
    record(store, first)

    record(store, second)

    assert events_of(store, RACING)[-3:] == ["CANDIDATE_SETTLED", "JUDGE_SETTLED", "RACE_DECIDED"]
    settled = store.journal(task_id=RACING)[-2].data
    assert settled["message"] == "the account of careful is closed"
    assert "a~1.judge" not in states(store)
    assert store.task(RACING).stage is Stage.VERIFY
    assert store.audit(RUN) == []


def test_a_judge_does_not_wait_for_an_account_that_was_closed_after_the_call(
    store: SqlStore, clock: HandClock
) -> None:
    """It is claimed to be ended; the other task of the account waits."""
    start_tie(store)
    first, second, other = store.claim(ONE, 3)
    record(store, first)
    record(store, second)
    limit_account(store, other, clock, timedelta(hours=3))

    (claimed,) = store.claim(ONE, 9)

    assert claimed.spec.name == "a~1.judge"
    assert [row.name for row in store.accounts()] == ["careful"]


def test_a_judge_waits_for_a_place_on_its_account_and_holds_nobody_up(store: SqlStore) -> None:
    start_tie(store, concurrency=1)
    first, second, other = store.claim(ONE, 3)
    assert other.account == "careful"
    record(store, first)
    record(store, second)
    submit(store, a_spec("later"), run="another")

    (claimed,) = store.claim(ONE, 1)

    assert claimed.spec.name == "later"


def test_a_judge_at_its_limit_closes_the_account_for_others(
    store: SqlStore, clock: HandClock
) -> None:
    start_tie(store)
    end_candidates(store)
    judge = claim_named(store, "a~1.judge")
    started = AttemptStarted(1, "careful", "ba5e", "/w", "host", fresh=True, tree="t")
    store.record(lease_of(judge), lambda _: (started,))
    limited = AgentExit(code=1, limit=AgentLimit.RATE, retry_after=timedelta(hours=3))
    report = WorkCommitted(limited, "ba5e", "t")

    record(
        store,
        judge,
        lambda now: decide_judge(now, report, ClockAndChance(clock.now(), 0.5)),
    )

    (account,) = store.accounts()
    assert (account.name, account.until >= clock.now() + timedelta(hours=3)) == ("careful", True)
    assert store.task(RACING).stage is Stage.VERIFY
    assert [task.spec.name for task in store.claim(ONE, 9)] == ["a"]


def test_a_judge_with_two_accounts_uses_the_open_one(store: SqlStore, clock: HandClock) -> None:
    pool = (AgentAccount("one"), AgentAccount("two"))
    agents = {"small": an_agent(), "careful": an_agent("careful", accounts=pool)}
    catalogue = Catalogue(agents=agents, policies={"default": a_policy()})
    rules = RaceRules(2, until=RaceEnd.ALL, judge="careful")
    chain = agents["careful"].list_by_account()
    other = a_spec("other", agents=chain[:1], policy=a_policy(), priority=-9)
    submit(store, a_spec("a", race=rules), other, catalogue=catalogue)
    start_round(store)
    first, second, third = store.claim(ONE, 3)
    limit_account(store, third, clock, timedelta(hours=3))
    record(store, first)

    record(store, second)

    assert store.task(store.task(RACING).judge).account == "careful/two"


# ------------------------------------------------------------------ cancel


def test_cancelling_the_race_ends_a_judge_that_nobody_has(store: SqlStore) -> None:
    start_tie(store)
    end_candidates(store)
    judge = store.task(RACING).judge

    with pytest.raises(NotNow, match=f"{judge} is the judge of the race of {RACING}"):
        store.cancel_task(judge, "enough")
    store.cancel_task(RACING, "enough")

    assert store.task(judge).state is State.REPLACED
    assert store.audit(RUN) == []


def test_cancelling_the_run_ends_race_candidates_and_judge_once(store: SqlStore) -> None:
    start_tie(store)
    end_candidates(store)
    judge = claim_named(store, "a~1.judge")

    ending = store.cancel_run(RUN, "enough")

    assert set(ending) == {RACING, judge.id}
    assert events_of(store, judge.id).count("CANCEL_REQUESTED") == 1
    record(store, judge, lambda _: (JudgeEnded(),))
    assert states(store)["a~1.judge"] is State.REPLACED
    assert store.audit(RUN) == []


def test_a_judge_that_the_run_does_not_know_is_not_waited_for(store: SqlStore) -> None:
    submit(store, a_spec("a", race=RaceRules(2, until=RaceEnd.ALL, judge="stranger")))
    start_round(store)

    end_candidates(store)

    assert store.journal(task_id=RACING)[-2].data["message"] == "the run has no such agent"
    assert store.task(RACING).stage is Stage.VERIFY


def test_cancelling_the_race_stops_a_judge_at_work_and_counts_its_use(store: SqlStore) -> None:
    start_tie(store)
    end_candidates(store)
    judge = claim_named(store, "a~1.judge")
    store.cancel_task(RACING, "enough")
    assert judge.id in store.tasks_to_stop()

    record(store, judge, lambda _: (JudgeEnded(),))

    assert events_of(store, RACING)[-1] == "JUDGE_SETTLED"
    assert "RACE_DECIDED" not in events_of(store, RACING)
    assert store.audit(RUN) == []
