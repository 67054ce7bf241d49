"""Decisions of the completion: re-runs, groups, bisection and iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_failure, a_spec, a_task
from yaoki.core.bisect import find_partners, first_red
from yaoki.core.decide.iteration import CommitOutcome, Iteration, decide_iteration
from yaoki.core.decide.recovery import decide_recovery, plan_rerun_round
from yaoki.core.machine.events import RecoveryStarted
from yaoki.core.machine.evolution import evolve
from yaoki.core.model import (
    RERUNS_PER_ROUND,
    ContinuousMode,
    Counts,
    FailureKind,
    RecoveryStrategy,
    Task,
    TaskId,
    TaskKind,
    WaitReason,
)

# ------------------------------------------------------------------ re-runs


def awaiting_rerun(
    n: int, base: str = "old", kind: FailureKind = FailureKind.QUALITY_FAILURE
) -> Task:
    task = a_task(failure=a_failure(kind))
    return replace(
        task, id=TaskId(f"run00001-{n}"), n=n, waiting_for=WaitReason.RERUN, first_base=base
    )


@pytest.mark.spec("8.4", "1.4")
def test_reruns_are_ordered_by_kind_and_then_by_task_number() -> None:
    tasks = [
        awaiting_rerun(10),
        awaiting_rerun(9),
        awaiting_rerun(2, kind=FailureKind.TIMEOUT),
        awaiting_rerun(30, kind=FailureKind.INCOMPLETE),
    ]

    chosen = plan_rerun_round(tasks, "new")

    assert [task.n for task in chosen.to_rerun] == [2, 30, 9, 10]
    assert chosen.to_escalate == ()


@pytest.mark.spec("8.4", "1.4")
def test_five_tasks_are_rerun_per_round_in_plan_order() -> None:
    tasks = [awaiting_rerun(n) for n in range(1, 8)]

    chosen = plan_rerun_round(tasks, "new")

    assert [task.n for task in chosen.to_rerun] == [1, 2, 3, 4, 5]
    assert chosen.to_escalate == ()


@pytest.mark.spec("8.4")
def test_tasks_that_met_a_conflict_are_rerun_one_after_the_other() -> None:
    """From the same head they would meet the same conflict again."""
    conflicts = [awaiting_rerun(n, kind=FailureKind.CONFLICT) for n in (1, 2)]
    markers = awaiting_rerun(3)
    assert markers.failure is not None
    left_over = replace(markers.failure, pattern="merge-conflict")
    conflicts.append(replace(markers, failure=left_over))

    chosen = plan_rerun_round([*conflicts, awaiting_rerun(4)], "new")

    assert [task.n for task in chosen.to_rerun] == [1, 4]
    assert chosen.to_escalate == ()


@pytest.mark.spec("8.4", "0.4")
@given(st.lists(st.sampled_from(["old", "new"]), max_size=20))
def test_a_rerun_round_is_bounded_and_skips_heads_that_were_tried(bases: list[str]) -> None:
    tasks = [awaiting_rerun(n, base) for n, base in enumerate(bases, start=1)]

    chosen = plan_rerun_round(tasks, "new")

    assert len(chosen.to_rerun) <= RERUNS_PER_ROUND
    assert all(task.first_base == "old" for task in chosen.to_rerun)
    assert [task.n for task in chosen.to_escalate] == [t.n for t in tasks if t.first_base == "new"]


@pytest.mark.spec("8.4", "4.8")
def test_a_task_that_never_started_is_escalated_and_not_rerun() -> None:
    never = awaiting_rerun(1, base="")

    chosen = plan_rerun_round([never], "new")

    assert (chosen.to_rerun, chosen.to_escalate) == ((), (never,))


# ------------------------------------------------------------------ groups

A, B, C = (TaskId(name) for name in "abc")
CHAIN = {A: (), B: (A,), C: ()}


def group(*, atomic: bool = False, partial: bool = False, used: int = 0) -> Task:
    spec = a_spec(kind=TaskKind.GROUP, atomic=atomic, partial=partial)
    return a_task(spec=spec, counts=Counts(reruns=used))


@pytest.mark.spec("8.3")
@pytest.mark.parametrize(
    ("given_", "failed", "done", "wanted"),
    [
        (group(), [C], [A, B], RecoveryStrategy.RETRY_FAILED_ONLY),
        (group(), [B], [A, C], RecoveryStrategy.RETRY_FAILED_ONLY),
        (group(), [A], [B, C], RecoveryStrategy.ROLLBACK_AND_RETRY),
        (group(atomic=True), [C], [A, B], RecoveryStrategy.ROLLBACK_AND_RETRY),
        (group(partial=True), [C], [A, B], RecoveryStrategy.RETRY_FAILED_ONLY),
        (group(partial=True, used=1), [C], [A, B], RecoveryStrategy.PARTIAL_COMMIT),
        (group(partial=True, used=1), [A, B, C], [], RecoveryStrategy.ESCALATE),
        (group(partial=True, atomic=True, used=1), [C], [A, B], RecoveryStrategy.ESCALATE),
        (group(used=1), [C], [A, B], RecoveryStrategy.ESCALATE),
    ],
)
def test_a_failed_group_gets_its_recovery_strategy(
    given_: Task, failed: list[TaskId], done: list[TaskId], wanted: RecoveryStrategy
) -> None:
    assert decide_recovery(given_, failed, done, CHAIN, {A, B, C}).strategy is wanted


@pytest.mark.spec("16.9", "9.4")
@pytest.mark.parametrize(
    ("failed", "done", "required", "wanted"),
    [
        ([C], [A, B], {A, B}, RecoveryStrategy.PARTIAL_COMMIT),
        ([B, C], [A], {A, B}, RecoveryStrategy.ESCALATE),
        ([A], [C], {B, C}, RecoveryStrategy.ESCALATE),
        ([A], [C], {C}, RecoveryStrategy.PARTIAL_COMMIT),
        ([A, B, C], [], set(), RecoveryStrategy.ESCALATE),
    ],
)
def test_only_optional_subtasks_are_left_out_without_asking(
    failed: list[TaskId], done: list[TaskId], required: set[TaskId], wanted: RecoveryStrategy
) -> None:
    """`B` needs `A`: without `A` it is left out as well, so both must be optional."""
    needs = {**CHAIN, TaskId("run00001-1"): (A, B, C)}

    assert decide_recovery(group(used=1), failed, done, needs, required).strategy is wanted


@pytest.mark.spec("16.9")
def test_a_subtask_that_failed_again_is_not_recovered() -> None:
    first = evolve(group(), RecoveryStarted(RecoveryStrategy.RETRY_FAILED_ONLY, (A, B), (C,)))

    after = evolve(first, RecoveryStarted(RecoveryStrategy.PARTIAL_COMMIT, (B,), (A, C)))

    assert (after.recovered_subtasks, after.left_out_subtasks) == ((A,), (B,))


# ------------------------------------------------------------------ blame


@pytest.mark.spec("9.3", "0.4")
@given(st.integers(1, 200), st.data())
def test_bisection_finds_the_landing_in_logarithmic_steps(
    landings: int, data: st.DataObject
) -> None:
    guilty = data.draw(st.integers(1, landings))
    looks: list[int] = []

    def red(n: int) -> bool:
        looks.append(n)
        return n >= guilty

    assert first_red(landings, red) == guilty
    assert len(looks) <= landings.bit_length()


@pytest.mark.spec("9.3")
@given(st.integers(1, 60), st.data())
def test_partners_are_exactly_the_landings_that_cause_the_failure(
    culprit: int, data: st.DataObject
) -> None:
    """The check fails exactly when the culprit is combined with a small set of earlier landings."""
    earlier = st.sets(st.integers(1, culprit - 1), max_size=2) if culprit > 1 else st.just(set())
    taken = data.draw(earlier)

    def red(chosen: Sequence[int]) -> bool:
        return taken <= set(chosen)

    assert set(find_partners(culprit, red)) == taken


@pytest.mark.spec("9.3")
def test_an_impossible_combination_ends_the_search_for_partners() -> None:
    assert find_partners(9, lambda chosen: None if chosen else False) == ()


# ------------------------------------------------------------------ iterations

BOUNDS = ContinuousMode(iterations_max=3, failures_max=2)
EAGER = replace(BOUNDS, pause_on_failure=False)


@pytest.mark.spec("9.7", "0.4")
@pytest.mark.parametrize(
    ("ended", "before", "bounds", "what", "failures"),
    [
        (Iteration(1, CommitOutcome.COMMITTED, final_check_passed=True), 1, BOUNDS, "stop", 0),
        (Iteration(1, CommitOutcome.COMMITTED, final_check_passed=False), 0, BOUNDS, "next", 0),
        (Iteration(1, CommitOutcome.NOTHING, final_check_passed=False), 1, BOUNDS, "next", 0),
        (Iteration(3, CommitOutcome.COMMITTED, final_check_passed=False), 0, BOUNDS, "stop", 0),
        (Iteration(1, CommitOutcome.COMMITTED, False, ("a",)), 0, BOUNDS, "pause", 1),
        (Iteration(1, CommitOutcome.COMMITTED, False, ("a",)), 0, EAGER, "next", 1),
        (Iteration(1, CommitOutcome.COMMITTED, False, ("a",)), 1, EAGER, "stop", 2),
        (Iteration(1, CommitOutcome.STAGING_ERROR, False), 0, EAGER, "next", 1),
        (Iteration(1, CommitOutcome.GIT_ERROR, False), 0, BOUNDS, "pause", 1),
        # Parts of a conflicting change may remain, so a person is asked before a repeat.
        (Iteration(1, CommitOutcome.CONFLICT, False), 0, EAGER, "pause", 1),
    ],
)
def test_an_iteration_is_followed_by_its_action(
    ended: Iteration, before: int, bounds: ContinuousMode, what: str, failures: int
) -> None:
    found = decide_iteration(ended, before, bounds)

    assert (found.action, found.failures_in_row) == (what, failures)
