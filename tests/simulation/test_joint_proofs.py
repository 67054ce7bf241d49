"""One proof lands the work of several tasks: at any kill the same end, and nothing unproven."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta

import pytest

from tests.simulation.invariants import check_invariants, journal
from tests.simulation.scenarios import check, story, task
from tests.simulation.worker_lives import RUN, Scenario, Scene, WorkerLife, change_mark, run_to_end
from tests.simulation.world import Accesses
from yaoki.core.model import Finding, Outcome, QueueEntry, Stage, State, Task, Verdict
from yaoki.core.model.stage_report import CandidateVerified

# Loud beside `c` is wrong: `b` and `c` pass apart and fail together.
SHARED = check("tests", "quiet", "b", "c")
NAMES = ("a", "b", "c")
TASKS = tuple(task(name, checks=(SHARED,)) for name in NAMES)
GOOD = story(40, TASKS)
CLASH = story(41, TASKS, {"b": ["loud", "good"]})
# The same, but the check cannot even run.
STARTS = check("tests", "starts", "b", "c")
BROKEN = story(42, tuple(task(name, checks=(STARTS,)) for name in NAMES), {"b": ["loud", "good"]})


class Players:
    """The tasks of one worker, a stage at a time in the order that a test asks for."""

    def __init__(self, life: WorkerLife) -> None:
        self.life = life
        self.tasks = {one.spec.name: one for one in life.worker.claim(3, [RUN])}
        # First attempts failed often, so only the first task enters the queue at once.
        failed = CandidateVerified(Verdict((Finding("tests", Outcome.FAILED),)), "c", "b")
        for _ in range(9):
            life.memory.record(self.tasks["a"], failed, timedelta(0))

    def until(self, name: str, *stages: Stage) -> Task:
        """Run stages of the task until it is in one of these, or over."""
        now, run = self.tasks[name], self.life.run()
        while now.lease is not None and now.stage not in stages:
            now = self.life.worker.run_next_stage(run, now, lambda: None, nullcontext)
        self.tasks[name] = now
        return now

    def next_stage(self, name: str) -> Task:
        run = self.life.run()
        now = self.life.worker.run_next_stage(run, self.tasks[name], lambda: None, nullcontext)
        self.tasks[name] = now
        return now


def land_together(life: WorkerLife) -> Players:
    """`b` and `c` are verified while `a` is; `a` lands, `b` takes `c` along."""
    players = Players(life)
    players.until("a", Stage.VERIFY)
    for name in ("b", "c"):
        assert players.until(name, Stage.LAND).work.queue_entry is QueueEntry.EARLY_LOOK
    players.until("a", Stage.PREPARE)
    assert players.next_stage("b").work.queue_entry is QueueEntry.TOGETHER
    players.next_stage("b")
    return players


def begun(story_: Scenario, act: Callable[[WorkerLife], None], touch: Accesses) -> None:
    with story_.begin() as scene:
        life = WorkerLife(scene, "host:0", touch)
        try:
            life.submit(story_)
            act(life)
        finally:
            life.close()


@pytest.mark.spec("17.7", "0.1", "0.3")
def test_one_proof_lands_two_tasks() -> None:
    def act(life: WorkerLife) -> None:
        players, world = land_together(life), life.world
        joint = players.tasks["b"].work.verified_commit
        own = players.tasks["c"].work.verified_commit
        players.until("b", Stage.PREPARE)
        players.until("c", Stage.PREPARE)

        rows = {row.name: row for row in life.real.rows(RUN)}
        assert all(rows[name].state is State.DONE for name in NAMES)
        assert (rows["b"].landed_commit, rows["c"].landed_commit) == (joint, own)
        assert joint in world.proven
        assert own in world.proven
        assert world.refs[world.branch] == joint
        assert own in world.ancestors(joint)
        judged = [e for e in journal(life.real) if e.event == "QUALITY_JUDGMENT"]
        assert len(judged) == 4, "a, b, c, and b once more with c"
        life.live()
        check_invariants(life)

    begun(GOOD, act, Accesses())


@pytest.mark.spec("17.7", "4.1")
def test_work_that_fails_only_together_is_verified_alone() -> None:
    """`b` and `c` pass apart.  Nobody is blamed for the joint proof; `c` lands, and then `b`
    fails on a branch that contains it.
    """

    def act(life: WorkerLife) -> None:
        players = land_together(life)
        assert players.tasks["b"].work.queue_entry is QueueEntry.ALONE
        assert players.tasks["b"].attempt == 1
        assert players.tasks["b"].counts.failures == {}
        for name in ("c", "b"):
            players.until(name, Stage.PREPARE)
        life.live()
        check_invariants(life)

        rows = {row.name: row for row in life.real.rows(RUN)}
        assert all(rows[name].state is State.DONE for name in NAMES)
        assert {name: rows[name].attempt for name in NAMES} == {"a": 1, "b": 2, "c": 1}

    begun(CLASH, act, Accesses())


@pytest.mark.spec("17.7", "4.1")
def test_a_check_that_cannot_run_on_joined_work_blames_nobody() -> None:
    """Once the leader was asked about, and `done` landed the work of the others with its own."""

    def act(life: WorkerLife) -> None:
        players = land_together(life)
        assert players.tasks["b"].work.queue_entry is QueueEntry.ALONE
        assert players.tasks["b"].state is State.ACTIVE
        assert players.tasks["b"].counts.failures == {}
        assert players.until("c", Stage.PREPARE).state is State.DONE

    begun(BROKEN, act, Accesses())


@pytest.mark.spec("17.7", "0.1")
def test_a_task_that_is_cancelled_meanwhile_is_not_landed_by_another() -> None:
    def act(life: WorkerLife) -> None:
        players = land_together(life)
        life.real.cancel_task(players.tasks["c"].id, "enough")
        refused = players.next_stage("b")
        assert (refused.stage, refused.work.verified_commit) == (Stage.VERIFY, "")
        players.tasks["c"] = life.real.task(players.tasks["c"].id)
        players.until("c", Stage.PREPARE)
        players.until("b", Stage.PREPARE)
        life.live()

        rows = {row.name: row for row in life.real.rows(RUN)}
        assert (rows["b"].state, rows["c"].state) == (State.DONE, State.CANCELLED)
        assert "c" not in life.world.tree(life.world.refs[life.world.branch])

    begun(GOOD, act, Accesses())


@pytest.mark.spec("17.7", "0.2", "0.3", "8.6")
@pytest.mark.parametrize(
    "story_", [GOOD, pytest.param(CLASH, marks=pytest.mark.full)], ids=["good", "clash"]
)
def test_a_kill_at_any_access_of_a_joint_landing_changes_nothing(story_: Scenario) -> None:
    """If a kill lets the loud `b` land first, `c` cannot pass beside it and asks a person."""

    def finish(scene: Scene) -> None:
        def look(life: WorkerLife) -> None:
            check_invariants(life)
            tree = life.world.tree(life.world.refs[life.world.branch])
            states = {row.name: row.state for row in life.real.rows(RUN)}
            asks = {State.ESCALATED} if story_ is CLASH and tree["b"] == "loud" else set()
            assert {states[name] for name in ("a", "b")} == {State.DONE}
            assert states["c"] is State.DONE or states["c"] in asks, states
            landed = [e.task_id for e in journal(life.real) if e.event == "TASK_LANDED"]
            assert len(landed) == len(set(landed)), "no task lands twice"
            assert tree.get("c", "good") == "good"

        run_to_end(story_, look, scene=scene, born=1)

    def act(life: WorkerLife) -> None:
        players = land_together(life)
        for name in ("b", "c"):
            players.until(name, Stage.PREPARE)

    touch, points, seen = Accesses(), [0], set[str]()
    with story_.begin() as scene:

        def die(count: int) -> None:
            points[0] = count
            mark = change_mark(scene, touch)
            if mark in seen:
                return
            seen.add(mark)
            with scene.copied() as left:
                try:
                    finish(left)
                except AssertionError as error:
                    place = f"killed at touch {count}, {touch.names[-1]}"
                    raise AssertionError(f"{place}: {error}") from error

        life = WorkerLife(scene, "host:0", touch)
        try:
            life.submit(story_)
            touch.between = die
            act(life)
        finally:
            life.close()
    assert points[0] > 40, "fewer accesses than a joint landing has"
