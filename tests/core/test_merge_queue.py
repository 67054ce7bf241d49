"""The merge queue: which tasks are queued, which one lands first, and who takes whom along."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import a_check, an_active_task
from yaoki.core.decide.merge_queue import (
    JOINT_MAX,
    LOOK_COST,
    PassCounts,
    can_be_taken_along,
    choose_queue_entry,
    has_same_checks,
    is_waiting_with,
    may_take_along,
    must_lead,
    must_yield,
    queue_members,
)
from yaoki.core.model import (
    BaselineMode,
    CheckType,
    CompetingTask,
    PendingRequest,
    QueueChoice,
    QueueEntry,
    Stage,
    State,
    Task,
    TaskId,
    TaskKind,
    Work,
)

SPEC = an_active_task(Stage.VERIFY).spec


def other(
    name: str,
    stage: Stage = Stage.VERIFY,
    *,
    queued: bool = False,
    refused: bool = False,
    attempt: int = 1,
) -> CompetingTask:
    return CompetingTask(TaskId(name), stage, queued, refused, attempt, SPEC)


QUEUED, FRESH = other("r-1", queued=True), other("r-2")


def at(stage: Stage, refused: int, proven: str = "c", onto: str = "b", **work: Any) -> Task:
    done = Work(landing_refusals=refused, verified_commit=proven, onto=onto, **work)
    return an_active_task(stage, n=5, work=done)


def choice(*, enters: bool, takes_along: bool) -> QueueChoice:
    return QueueChoice(enters, takes_along, 0, 0, 0, 0.8, 1.0, 0.0, LOOK_COST)


@pytest.mark.spec("3.4", "13.1")
def test_a_queued_task_is_built_on_the_other_queued_ones() -> None:
    task = at(Stage.VERIFY, 1)
    working = other("r-3", Stage.WORK, queued=True)

    assert queue_members(task, [QUEUED, FRESH, working]) == {task.id, QUEUED.id}


@pytest.mark.spec("3.4", "13.1")
def test_a_task_apart_from_the_queue_lands_after_the_queue_members() -> None:
    assert must_yield(at(Stage.LAND, 0), [QUEUED])
    assert not must_yield(at(Stage.LAND, 0), [FRESH])
    assert not must_yield(at(Stage.LAND, 1), [QUEUED])
    assert not must_yield(at(Stage.LAND, 0, proven="b"), [QUEUED]), "it moves nothing"
    assert not must_yield(at(Stage.VERIFY, 0), [QUEUED]), "it is not about to land"
    assert must_yield(at(Stage.LAND, 0), [FRESH, QUEUED]), "one of many is enough"


@pytest.mark.spec("17.7")
@pytest.mark.parametrize(
    ("work", "entry"),
    [
        (Work(), QueueEntry.EARLY_LOOK),
        (Work(queue_choice=choice(enters=False, takes_along=True)), QueueEntry.EARLY_LOOK),
        (Work(queue_choice=choice(enters=True, takes_along=False)), QueueEntry.ALONE),
        (Work(queue_choice=choice(enters=True, takes_along=True)), QueueEntry.TOGETHER),
        (
            Work(queue_choice=choice(enters=True, takes_along=True), discarded_proofs=1),
            QueueEntry.EARLY_LOOK,
        ),
        (Work(landing_refusals=1), QueueEntry.TOGETHER),
        (Work(landing_refusals=1, discarded_proofs=1), QueueEntry.TOGETHER),
        (Work(landing_refusals=1, joint_failures=1), QueueEntry.ALONE),
        (Work(landing_refusals=1, avoids_queue=True), QueueEntry.EARLY_LOOK),
        (Work(landing_refusals=2, joint_failures=1, avoids_queue=True), QueueEntry.EARLY_LOOK),
    ],
)
def test_the_entry_follows_from_what_happened(work: Work, entry: QueueEntry) -> None:
    assert work.queue_entry is entry
    assert work.is_queued is (entry is not QueueEntry.EARLY_LOOK)


@pytest.mark.spec("17.7")
def test_a_task_enters_the_queue_while_those_ahead_are_likely_to_land() -> None:
    ahead = [other(f"r-{n}", queued=True) for n in range(4)]
    counts = PassCounts()

    entered = [choose_queue_entry(1, ahead[:n], counts).enters for n in range(4)]
    trusted = choose_queue_entry(1, ahead, PassCounts(first_passed=40))
    doubted = choose_queue_entry(1, ahead[:1], PassCounts(first_failed=4))

    assert entered == [True, True, False, False], "each is expected to pass four times of five"
    assert trusted == QueueChoice(True, True, 4, 40, 0, 0.978, 0.914, 0.086, LOOK_COST)
    assert doubted == QueueChoice(False, False, 1, 0, 4, 0.444, 0.444, 0.556, LOOK_COST)


@pytest.mark.spec("17.7")
def test_the_choice_counts_only_queued_tasks_whose_proof_is_running() -> None:
    around = [other("r-1", Stage.LAND, queued=True), other("r-2"), other("r-3", Stage.WORK)]

    assert choose_queue_entry(1, around, PassCounts(first_failed=9)).ahead == 0
    assert choose_queue_entry(1, around, PassCounts(first_failed=9)).enters


@pytest.mark.spec("17.7")
def test_work_that_was_verified_once_is_expected_to_land() -> None:
    counts = PassCounts(first_failed=9)

    made = choose_queue_entry(1, [other("r-1", queued=True, refused=True)], counts)

    assert (made.enters, made.land_chance, made.queue_cost) == (True, 0.98, 0.02)


@pytest.mark.spec("17.7")
def test_later_attempts_have_a_chance_of_their_own() -> None:
    counts = PassCounts(first_passed=1, first_failed=3, later_passed=2, later_failed=1)

    assert (counts.chance(1), counts.chance(2)) == (5 / 9, 6 / 8)

    made = choose_queue_entry(2, [other("r-1", queued=True, attempt=2)], counts)
    assert (made.enters, made.takes_along, made.passed, made.failed) == (True, False, 2, 1)


def waiting(n: int, **changes: Any) -> Task:
    """A task that was verified and whose branch has moved since."""
    task = an_active_task(Stage.LAND, n=n, work=Work(verified_commit="c", onto="b"))
    return replace(task, **changes)


@pytest.mark.spec("17.7")
def test_nobody_is_queued_behind_a_task_that_failed_twice() -> None:
    counts = PassCounts(first_passed=50, later_passed=50)
    entered = [
        choose_queue_entry(1, [other("r-1", queued=True, attempt=n)], counts).enters
        for n in (1, 2, 3, 4)
    ]

    assert entered == [True, True, False, False]
    assert not choose_queue_entry(3, [], counts).takes_along


@pytest.mark.spec("17.7")
def test_only_verified_work_with_the_same_checks_is_taken_along() -> None:
    task, ready = at(Stage.VERIFY, 1), waiting(7)
    revised = replace(task.spec, checks=(a_check("other"),))

    assert can_be_taken_along(task, ready)
    assert not can_be_taken_along(task, replace(ready, stage=Stage.VERIFY))
    assert not can_be_taken_along(task, replace(ready, spec=revised))
    for request in (PendingRequest.CANCEL, PendingRequest.RECALL):
        assert not can_be_taken_along(task, replace(ready, request=request))
    assert not can_be_taken_along(task, replace(ready, waivers=("tests",)))
    assert not can_be_taken_along(task, replace(ready, work=Work(verified_commit="b", onto="b")))
    assert not can_be_taken_along(task, replace(ready, work=Work()))
    queued = replace(ready.work, landing_refusals=1)
    assert not can_be_taken_along(task, replace(ready, work=queued)), "it has a place of its own"


@pytest.mark.spec("17.7")
def test_a_check_that_judges_each_task_by_its_own_base_is_never_shared() -> None:
    def spec_with(**changes: Any) -> Any:
        return replace(SPEC, checks=(replace(a_check("tests"), **changes),))

    assert has_same_checks(SPEC, SPEC)
    assert has_same_checks(spec_with(shell="make"), spec_with(shell="make"))
    for own in (
        {"baseline": BaselineMode.KNOWN},
        {"shell": "git diff {base}"},
        {"type": CheckType.JUDGE},
        {"type": CheckType.PYTHON},
        {"type": CheckType.GIT},
    ):
        assert not has_same_checks(spec_with(**own), spec_with(**own))
        both = replace(SPEC, checks=(*SPEC.checks, *spec_with(**own).checks))
        assert not has_same_checks(both, both), "one such check is enough"
    report = replace(SPEC, kind=TaskKind.REPORT)
    assert has_same_checks(report, SPEC) is report.kind.is_change
    assert not has_same_checks(SPEC, replace(SPEC, setup=(("make",),)))
    assert not has_same_checks(SPEC, replace(SPEC, setup_inputs=("a",)))
    assert not has_same_checks(SPEC, replace(SPEC, timeout=2 * SPEC.timeout))


@pytest.mark.spec("17.7")
def test_a_task_that_failed_with_others_is_verified_alone() -> None:
    assert may_take_along(at(Stage.VERIFY, 1))
    assert not may_take_along(at(Stage.VERIFY, 1, joint_failures=1))
    assert not may_take_along(at(Stage.VERIFY, 0)), "an early look is about its own work"
    assert not may_take_along(replace(at(Stage.VERIFY, 1), waivers=("tests",)))
    check = replace(at(Stage.VERIFY, 1), spec=replace(SPEC, kind=TaskKind.CHECK))
    assert not may_take_along(check)


@pytest.mark.spec("17.7", "0.4")
def test_the_first_of_those_that_wait_leads_when_nobody_comes() -> None:
    task = waiting(5)
    before, after = other("a", Stage.LAND), other("z", Stage.LAND)
    coming, in_queue = other("z", Stage.WORK), other("z", Stage.LAND, queued=True)
    stranger = replace(coming, spec=replace(SPEC, checks=(a_check("other"),)))

    assert must_lead(task, [], waited=0.9)
    assert must_lead(task, [after, in_queue, stranger], waited=0.9)
    assert not must_lead(task, [before], waited=0.9), "the other one leads"
    assert not must_lead(task, [coming], waited=0.9)
    assert must_lead(task, [after, coming], waited=1)
    assert not must_lead(task, [before, coming], waited=1), "one leads, not all"


@pytest.mark.spec("17.7")
def test_nobody_leads_while_a_queued_task_may_be_joining_those_that_wait() -> None:
    task, leader = waiting(5), other("a", Stage.VERIFY, queued=True, refused=True)
    stranger = replace(leader, spec=replace(SPEC, checks=(a_check("other"),)))

    assert not must_lead(task, [leader], waited=1.9)
    assert must_lead(task, [leader], waited=2), "it may be one that takes nobody along"
    assert must_lead(task, [stranger], waited=1)
    assert must_lead(task, [other("a", Stage.VERIFY)], waited=1), "an early look takes nobody"


@pytest.mark.spec("17.7")
def test_no_more_wait_than_one_proof_can_land() -> None:
    task, coming = waiting(5), other("z", Stage.WORK)
    crowd = [other(f"y{n}", Stage.LAND) for n in range(JOINT_MAX - 1)]

    assert must_lead(task, [*crowd, coming], waited=0.9)
    assert not must_lead(task, [*crowd[1:], coming], waited=0.9)
    assert not must_lead(task, [other("a", Stage.LAND), *crowd, coming], waited=0.9)


@pytest.mark.spec("17.7", "0.1")
def test_a_withdrawn_task_is_not_landed_by_others() -> None:
    task, ready = at(Stage.VERIFY, 1), waiting(7)

    assert is_waiting_with(task, ready, "c")
    assert is_waiting_with(task, replace(ready, state=State.WAITING), "c"), "its worker has died"
    assert not is_waiting_with(task, ready, "d")
    assert not is_waiting_with(task, replace(ready, stage=Stage.VERIFY), "c")
    assert not is_waiting_with(task, replace(ready, state=State.CANCELLED), "c")
    for request in (PendingRequest.CANCEL, PendingRequest.RECALL):
        assert not is_waiting_with(task, replace(ready, request=request), "c")
    revised = replace(ready, spec=replace(SPEC, checks=(a_check("other"),)))
    assert not is_waiting_with(task, revised, "c"), "its checks were changed meanwhile"
