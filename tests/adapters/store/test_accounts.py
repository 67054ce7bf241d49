"""Rate limits: all tasks of a limited account wait, others continue, one probe reopens it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import HandClock, a_run, a_spec
from yaoki.adapters.store import SqlStore
from yaoki.core.decide.failure_response import ClockAndChance
from yaoki.core.decide.rules import decide
from yaoki.core.machine.events import AgentFinished, AttemptStarted, Event
from yaoki.core.model import (
    AgentExit,
    AgentLimit,
    AgentSpec,
    Catalogue,
    FailureKind,
    Finding,
    Outcome,
    RetryPolicy,
    RetryRule,
    Task,
    Verdict,
)
from yaoki.core.model.stage_report import CandidateVerified
from yaoki.ports import Claimant

LEASE = timedelta(minutes=1)
PAID = AgentSpec("paid", account="shared")
ALSO = AgentSpec("also", account="shared")
FREE = AgentSpec("free")
POLICY = RetryPolicy(
    rules={FailureKind.RATE_LIMIT: RetryRule(5)}, rate_limit_wait_max=timedelta(hours=6)
)


def submit(store: SqlStore) -> None:
    catalogue = Catalogue(
        agents={a.name: a for a in (PAID, ALSO, FREE)}, policies={"default": POLICY}
    )
    specs = [
        a_spec(name, agents=(agent,), policy=POLICY)
        for name, agent in (("one", PAID), ("two", ALSO), ("three", PAID), ("other", FREE))
    ]
    store.submit(a_run(catalogue=catalogue), specs, {})


def names(tasks: list[Task]) -> list[str]:
    return [task.spec.name for task in tasks]


def limit_account(store: SqlStore, task: Task, clock: HandClock, wait: timedelta) -> None:
    """The agent of this task met a 429."""
    exit_ = AgentExit(code=1, limit=AgentLimit.RATE, retry_after=wait)
    finish(store, task, exit_)
    report = CandidateVerified(Verdict((Finding("c", Outcome.FAILED),)), "c1", "c0")

    def judge(now_task: Task) -> tuple[Event, ...]:
        return decide(now_task, report, ClockAndChance(clock.now(), 0.5))

    assert task.lease is not None
    store.record(task.lease, judge)


def finish(store: SqlStore, task: Task, exit_: AgentExit) -> None:
    assert task.lease is not None
    started = AttemptStarted(task.attempt + 1, "x", "c0", "/w", "h", fresh=True)
    store.record(task.lease, lambda _: (started, AgentFinished(exit_, "c0", "t")))


@pytest.mark.spec("5.4", "11.6")
def test_a_limited_account_stops_its_tasks_only_and_one_probe_reopens_it(
    store: SqlStore, clock: HandClock
) -> None:
    submit(store)
    (first,) = store.claim(Claimant("w:1", LEASE), 1)
    limit_account(store, first, clock, timedelta(seconds=7))

    assert names(store.claim(Claimant("w:1", LEASE), 9)) == ["other"], (
        "the account waits, others go on"
    )
    assert [a.name for a in store.accounts()] == ["shared"]
    assert store.next_due() == clock.now() + timedelta(seconds=7)

    clock.advance(timedelta(seconds=7))
    (probe,) = store.claim(Claimant("w:1", LEASE), 9)
    assert store.claim(Claimant("w:1", LEASE), 9) == [], "one probe at a time"

    finish(store, probe, AgentExit(code=0))
    assert store.accounts() == []
    assert len(store.claim(Claimant("w:1", LEASE), 9)) == 2


@pytest.mark.spec("5.4")
def test_a_probe_that_meets_the_limit_closes_the_account_again(
    store: SqlStore, clock: HandClock
) -> None:
    submit(store)
    (first,) = store.claim(Claimant("w:1", LEASE), 1)
    limit_account(store, first, clock, timedelta(seconds=7))
    store.claim(Claimant("w:1", LEASE), 9)
    clock.advance(timedelta(seconds=7))
    (probe,) = store.claim(Claimant("w:1", LEASE), 9)

    limit_account(store, probe, clock, timedelta(hours=20))

    clock.advance(timedelta(hours=19))
    assert "shared" in {a.name for a in store.accounts()}
    # The lease of "other" expired long ago; no task of the account starts.
    assert {t.agent.name for t in store.claim(Claimant("w:1", LEASE), 9) if t.agent} <= {"free"}
    clock.advance(timedelta(hours=1))
    assert len([t for t in store.claim(Claimant("w:1", LEASE), 9) if t.agent != FREE]) == 1


@pytest.mark.spec("5.4", "0.2")
def test_a_probe_that_is_lost_is_followed_by_another(store: SqlStore, clock: HandClock) -> None:
    submit(store)
    (first,) = store.claim(Claimant("w:1", LEASE), 1)
    limit_account(store, first, clock, timedelta(seconds=1))
    clock.advance(timedelta(seconds=1))
    store.claim(Claimant("w:1", LEASE), 9)

    store.expire_claims(lambda _: True, counted=False)

    assert len([t for t in store.claim(Claimant("w:2", LEASE), 9) if t.agent != FREE]) == 1


@pytest.mark.spec("5.4")
@pytest.mark.parametrize("limit", ["", "overloaded"])
def test_an_agent_that_started_before_the_limit_does_not_end_the_wait(
    store: SqlStore, clock: HandClock, limit: str
) -> None:
    submit(store)
    first, second = store.claim(Claimant("w:1", LEASE), 2)
    limit_account(store, first, clock, timedelta(seconds=50))

    finish(store, second, AgentExit(code=0, limit=AgentLimit(limit)))

    assert [a.name for a in store.accounts()] == ["shared"]
    clock.advance(timedelta(seconds=49))
    assert names(store.claim(Claimant("w:2", LEASE), 9)) == ["other"]


@pytest.mark.spec("5.4", "3.7")
def test_a_probe_that_never_asked_the_service_is_followed_by_another(
    store: SqlStore, clock: HandClock
) -> None:
    """The agent could not continue its conversation: that says nothing about the account."""
    submit(store)
    (first,) = store.claim(Claimant("w:1", LEASE), 1)
    limit_account(store, first, clock, timedelta(seconds=7))
    clock.advance(timedelta(seconds=7))
    probe = next(t for t in store.claim(Claimant("w:1", LEASE), 9) if t.agent != FREE)

    finish(store, probe, AgentExit(code=42, limit=AgentLimit.SESSION))

    assert [a.name for a in store.accounts()] == ["shared"]
