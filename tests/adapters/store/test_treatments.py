"""Treatments in the store: written with the prompt, decided with the end, kept for all runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.adapters.store.store_actions import (
    StoreLocation,
    claim_one,
    lease_of,
    open_test_store,
    rewind_schema,
    run_sql,
    submit,
)
from tests.builders import (
    HOUR,
    NOW,
    SECOND,
    HandClock,
    a_failure,
    a_policy,
    a_retry,
    a_spec,
    an_agent,
)
from yaoki.adapters.store import SqlStore
from yaoki.core.decide.failure_response import ClockAndChance, plan_retry_or_escalate
from yaoki.core.decide.thompson import OUTCOMES_READ_MAX
from yaoki.core.lazy_dataclass import replace
from yaoki.core.machine.events import AttemptStarted, Event, PromptSent, RetryDecided
from yaoki.core.model import Failure, FailureKind, Task
from yaoki.core.model.treatment import (
    AttemptConversation,
    LearningMode,
    Treatment,
    TreatmentCount,
    TreatmentOutcome,
)

pytestmark = pytest.mark.spec("18.5")

TESTS = a_failure(FailureKind.QUALITY_FAILURE, pattern="test-failed")
LINT = a_failure(FailureKind.QUALITY_FAILURE, pattern="lint-error")
CHAIN = (an_agent("small"), an_agent("large"))
STARTED = AttemptStarted(1, "small", "ba5e", "/w", "host", fresh=True)


def later(failure: Failure, **given: Any) -> RetryDecided:
    """A retry that is not claimed again in this test."""
    return a_retry(failure, **{"due_at": NOW + HOUR, **given})


def treatment(agent: str = "small", pattern: str = "test-failed") -> Treatment:
    return Treatment(pattern, "f.md", agent, AttemptConversation.FRESH)


def sent(agent: str = "small") -> PromptSent:
    return PromptSent(
        kind="QUALITY_FAILURE",
        pattern="test-failed",
        path="f.md",
        agent=agent,
        conversation=AttemptConversation.FRESH,
    )


def try_once(store: SqlStore, name: str, *ends: Event, agent: str = "small") -> Task:
    """A task of a run of its own whose first recorded prompt is about failing tests."""
    submit(store, a_spec(name, agents=CHAIN), run=f"run{name:0>5}")
    task = claim_one(store)
    lease = lease_of(task)
    store.record(lease, lambda _: [STARTED])
    store.record(lease, lambda _: [sent(agent)])
    for end in ends:
        task = store.record(lease, lambda _, end=end: [end])  # type: ignore[misc]
    return task


def test_an_attempt_is_counted_when_it_ends(store: SqlStore) -> None:
    try_once(store, "a", later(TESTS))
    try_once(store, "b", later(LINT))
    try_once(store, "c", later(a_failure(FailureKind.LOST)))
    try_once(store, "d", agent="large")

    assert store.treatment_counts() == [
        TreatmentCount(treatment(), sent=3, cured=1, failed=1),
        TreatmentCount(treatment("large"), sent=1, cured=0, failed=0),
    ]


def test_the_newest_outcomes_of_a_pattern_are_read_and_no_more(
    store: SqlStore, store_location: StoreLocation, clock: HandClock
) -> None:
    try_once(store, "a", later(TESTS))
    clock.advance(SECOND)
    try_once(store, "b", later(LINT), agent="large")

    newest = (TreatmentOutcome(treatment("large"), True), TreatmentOutcome(treatment(), False))
    assert store.treatment_outcomes("test-failed") == newest
    assert store.treatment_outcomes("lint-error") == ()
    for n in range(OUTCOMES_READ_MAX):
        row = f"('r-1', {n}, 1, 9000000000000, 'test-failed', 'f.md', 'small', 'fresh', 1)"
        run_sql(store_location, f"INSERT INTO treatments VALUES {row}")
    assert len(store.treatment_outcomes("test-failed")) == OUTCOMES_READ_MAX
    assert all(one.cured for one in store.treatment_outcomes("test-failed"))


@pytest.mark.parametrize(("conversation", "cured"), [("resumed", 1), ("fresh", 7)])
def test_rows_with_words_of_a_newer_version_are_left_out(
    store: SqlStore, store_location: StoreLocation, conversation: str, cured: int
) -> None:
    try_once(store, "a", later(TESTS))
    known = store.treatment_counts(), store.treatment_outcomes("test-failed")
    for n in range(OUTCOMES_READ_MAX):
        row = f"('r-1', {n}, 1, 9000000000000, 'test-failed', 'f', 'b', '{conversation}', {cured})"
        run_sql(store_location, f"INSERT INTO treatments VALUES {row}")

    assert (store.treatment_counts(), store.treatment_outcomes("test-failed")) == known


@pytest.mark.parametrize("learn", LearningMode)
def test_a_decision_knows_the_outcomes_only_if_it_uses_them(
    store: SqlStore, learn: LearningMode
) -> None:
    try_once(store, "a", later(LINT), agent="large")
    seen: list[Task] = []
    spec = a_spec("b", agents=CHAIN, policy=a_policy(learn=learn))
    submit(store, spec, run="run0000b")
    task = claim_one(store)
    store.record(lease_of(task), lambda _: [STARTED])
    store.record(lease_of(task), lambda _: [sent()])

    def decide(task_now: Task) -> tuple[Event, ...]:
        seen.append(task_now)
        return plan_retry_or_escalate(task_now, TESTS, ClockAndChance(NOW, 0.5))

    store.record(lease_of(task), decide)

    expected = (TreatmentOutcome(treatment("large"), True),)
    known = [one.treatment_outcomes for one in seen]
    assert known == ([(), expected] if learn is LearningMode.CHOOSE else [()])
    (decided,) = (
        entry for entry in store.journal(task_id=task.id) if entry.event == RetryDecided.NAME
    )
    assert bool(decided.data["draw"]) is (learn is LearningMode.CHOOSE)
    row = store.task(task.id)
    assert (row.treatment_outcomes, row.closed_chain_accounts) == ((), {})


def test_the_journal_folds_to_the_row(store: SqlStore) -> None:
    fresh = later(TESTS, conversation=AttemptConversation.FRESH, agent_index=0)
    task = try_once(store, "a", fresh)

    assert list(store.audit(task.run_id)) == []


@pytest.mark.spec("13.2")
def test_an_old_store_is_counted_from_its_journal(path: Path) -> None:
    """Such a journal has neither the agent nor the conversation in its prompts."""
    store = open_test_store(path, HandClock())
    old = PromptSent(kind="QUALITY_FAILURE", pattern="test-failed", path="f.md")
    for name, end in (("a", TESTS), ("b", LINT)):
        submit(store, a_spec(name, agents=CHAIN), run=f"run{name:0>5}")
        lease = lease_of(claim_one(store))
        store.record(lease, lambda _: [STARTED])
        store.record(lease, lambda _: [old])
        store.record(lease, lambda _, end=end: [later(end)])  # type: ignore[misc]
    assert store.treatment_counts() == []
    store.close()
    rewind_schema(path, 14)
    run_sql(path, "UPDATE journal SET data = '{]' WHERE event = 'TASK_LANDED'")

    again = open_test_store(path, HandClock())

    unknown = replace(treatment(), conversation=AttemptConversation.UNKNOWN)
    assert again.treatment_counts() == [TreatmentCount(unknown, sent=2, cured=1, failed=1)]
    again.close()
