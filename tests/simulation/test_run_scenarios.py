"""A kill -9 at any access in whole runs: reruns, groups, planners, undo, iterations, notices."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.simulation.invariants import Ending, ending
from tests.simulation.kill_points import WITHOUT_OWN_STATES, new_kill_points
from tests.simulation.scenarios import WHOLE_RUNS
from tests.simulation.test_kills import run_with_random_kills, same_ending, unkilled
from tests.simulation.worker_lives import (
    LEASE,
    Scenario,
    Scene,
    WorkerLife,
    kill_at_every_access,
    run_to_end,
)
from tests.simulation.world import Accesses

SEEDS = 1
# Decisions of the completion: two workers may make them at the same time.
DECIDED = {f"{name} begins" for name in ("amend_all", "add", "update_run", "pause")}


def names(*prefixes: str) -> list[str]:
    return [name for name in WHOLE_RUNS if name.startswith(prefixes)]


def kill_scenario(name: str, *, machine: bool) -> None:
    story = WHOLE_RUNS[name]
    points = new_kill_points(story)
    assert bool(points) is (name not in WITHOUT_OWN_STATES), "what would this test?"
    kill_at_every_access(story, same_ending(story), machine=machine, points=points)


both = pytest.mark.parametrize("machine", [False, True], ids=["process", "machine"])


@pytest.mark.full
@both
@pytest.mark.spec("8.4", "8.6", "0.2", "0.3")
def test_a_rerun_is_granted_once_despite_kills(machine: bool) -> None:
    kill_scenario("rerun", machine=machine)


@pytest.mark.full
@both
@pytest.mark.spec("8.5", "10.4", "10.5", "8.6", "0.3")
@pytest.mark.parametrize("name", names("answered", "optional"))
def test_an_answer_is_applied_once_and_each_notice_is_marked_as_sent_once(
    name: str, machine: bool
) -> None:
    kill_scenario(name, machine=machine)


@pytest.mark.full
@both
@pytest.mark.spec("8.5", "9.2", "5.2", "8.6")
@pytest.mark.parametrize("name", names("replaced", "mended"))
def test_a_replacement_revives_exactly_the_dependents_of_the_replaced_task(
    name: str, machine: bool
) -> None:
    kill_scenario(name, machine=machine)


@pytest.mark.full
@both
@pytest.mark.spec("18.6", "18.1", "0.2", "0.3")
@pytest.mark.parametrize("name", names("account-"))
def test_a_closed_account_is_waited_for_or_asked_about_once_despite_kills(
    name: str, machine: bool
) -> None:
    kill_scenario(name, machine=machine)


@pytest.mark.full
@both
@pytest.mark.spec("8.3", "8.6", "0.3")
@pytest.mark.parametrize("name", names("group-"))
def test_a_group_is_recovered_once_and_leaves_no_branch_behind(name: str, machine: bool) -> None:
    kill_scenario(name, machine=machine)


@pytest.mark.full
@both
@pytest.mark.spec("9.1", "9.2", "8.6", "0.4")
@pytest.mark.parametrize("name", names("phase-"))
def test_a_phase_is_filled_once_or_times_out_once(name: str, machine: bool) -> None:
    kill_scenario(name, machine=machine)


@pytest.mark.full
@both
@pytest.mark.spec("9.3", "2.3", "8.6", "0.4")
@pytest.mark.parametrize("name", names("unmet", "hopeless", "goal"))
def test_a_kill_does_not_cause_further_planner_runs(name: str, machine: bool) -> None:
    kill_scenario(name, machine=machine)


@pytest.mark.full
@both
@pytest.mark.spec("9.3", "9.6", "8.5", "8.6", "0.3")
@pytest.mark.parametrize("name", names("blamed", "undone"))
def test_a_landing_is_reverted_once_with_all_its_dependents(name: str, machine: bool) -> None:
    kill_scenario(name, machine=machine)


@pytest.mark.full
@both
@pytest.mark.spec("9.7", "10.6", "8.6", "0.3")
@pytest.mark.parametrize("name", ["continuous", "failing", "budget"])
def test_no_iteration_no_failure_and_no_pause_is_counted_twice(name: str, machine: bool) -> None:
    kill_scenario(name, machine=machine)


# ------------------------------------------------------------------ the scenarios themselves


@pytest.mark.spec("8.3", "8.4", "9.1", "9.3", "9.7", "10.6")
def test_every_scenario_reaches_the_event_it_is_about() -> None:
    """A scenario that never reaches its event would test nothing."""
    for name, event, task, count in (
        ("rerun", "RERUN_GRANTED", "first", 1),
        ("answered", "ESCALATE_EXECUTED", "first", 1),
        ("answered", "NOTICE_SENT", "first", 1),
        ("optional", "FINAL_SUMMARY", "", 2),
        ("group-retry", "RECOVERY_START", "trio", 1),
        ("group-rollback", "TASK_UNLANDED", "a", 1),
        ("group-partial", "TASK_CANCELLED", "b", 1),
        ("group-escalate", "ESCALATION_ANSWERED", "b", 1),
        ("group-blame", "TASK_BLAMED", "trio", 1),
        ("phase-good", "PHASE_FILLED", "fill", 1),
        ("phase-never", "PHASE_TIMED_OUT", "fill", 1),
        ("unmet", "REPLAN_REQUESTED", "", 1),
        ("hopeless", "REPLAN_REQUESTED", "", 3),
        ("goal", "RUN_PAUSED", "", 1),
        ("blamed", "TASK_UNLANDED", "upon", 1),
        ("blamed-kept", "UNDO_DROPPED", "right", 1),
        ("blamed-kept", "ESCALATE_DECISION", "done_when-2", 1),
        ("undone", "TASK_UNLANDED", "three", 1),
        ("undone-refused", "UNDO_DROPPED", "one", 1),
        ("undone-refused", "TASK_UNLANDED", "two", 0),
        ("undone-proven", "TASK_UNLANDED", "two", 1),
        ("continuous", "ITERATION_FINISHED", "", 3),
        ("failing", "RUN_PAUSED", "", 1),
        ("budget", "RUN_PAUSED", "", 1),
        ("account-no-credit", "AGENT_FINISHED", "a", 2),
        ("account-away", "AGENT_FINISHED", "a", 2),
        ("account-repeated-failure", "AGENT_FINISHED", "a", 4),
        ("race-first", "CANDIDATE_RETIRED", "a~1.3", 1),
        ("race-second-round", "RACE_DECIDED", "a", 2),
        ("race-group", "CANDIDATE_SETTLED", "a", 2),
    ):
        assert unkilled(WHOLE_RUNS[name]).told.get((event, task), 0) == count, (
            f"{name}: {event} {task}"
        )


@pytest.mark.spec("8.5", "9.2")
def test_a_replacement_by_the_planner_revives_four_levels_and_a_diamond() -> None:
    waiting = ("left", "right", "join", "last")
    end = unkilled(WHOLE_RUNS["mended"])

    assert end.cascades == [
        ("TASK_BLOCKED", "root", waiting),
        ("TASK_REVIVED", "root", waiting),
    ]
    assert end.states["last"] == "DONE"


# ------------------------------------------------------------------ many deaths, two workers


@pytest.mark.quick_cases(6)
@pytest.mark.spec("0.2", "0.3", "0.4", "8.6")
@pytest.mark.parametrize("name", WHOLE_RUNS)
def test_kills_at_random_accesses_of_whole_runs_lose_nothing(name: str) -> None:
    for seed in range(SEEDS):
        run_with_random_kills(WHOLE_RUNS[name], seed)


@pytest.mark.quick_cases(6)
@pytest.mark.spec("8.6", "11.8", "0.3")
@pytest.mark.parametrize("to_its_end", [False, True], ids=["one-decision", "to-the-end"])
@pytest.mark.parametrize("name", WHOLE_RUNS)
def test_concurrent_decisions_of_two_workers_take_effect_once(name: str, to_its_end: bool) -> None:
    """The first worker stops just before it writes; the second decides, or finishes the run."""
    story = WHOLE_RUNS[name]
    whole = unkilled(story)
    for point, touch in enumerate(whole.touches, start=1):
        if touch in DECIDED:
            end = run_beside_second_worker(story, point, to_its_end=to_its_end)
            differs = end.differs(whole)
            assert not differs, f"touch {point}, {touch}:\n" + "\n".join(differs)


def run_beside_second_worker(story: Scenario, point: int, *, to_its_end: bool) -> Ending:
    asking: list[WorkerLife] = []

    def person(life: WorkerLife) -> bool:
        asking.append(life)
        acted = story.person(life)
        asking.pop()
        return acted

    def interfere(scene: Scene, touch: Accesses) -> None:
        # Concurrent commands of two people are not part of this test.
        if touch.count != point or asking:
            return
        scene.world.time += LEASE * 2
        other = WorkerLife(scene, "other:1", Accesses())
        if to_its_end:
            other.live(story.person)
        else:
            other.closing.complete(other.run().id)
        other.close()

    end = run_to_end(replace(story, person=person), ending, between=interfere)
    assert isinstance(end, Ending)
    return end
