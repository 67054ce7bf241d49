"""Joint commits: the verified work of several tasks lands with one commit of the branch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.adapters.workspace.test_merge_queue import adding, everybody, refused
from tests.repositories import World, a_world, git, land_task, run_attempt, write
from yaoki.core.model import Task, TaskId
from yaoki.errors import NotNow
from yaoki.ports import Candidate, LandedStep


@pytest.fixture
def world(tmp_path: Path) -> World:
    return a_world(tmp_path)


def verified(world: World, n: int, act: Callable[[Path], object] | None = None) -> Task:
    """A task that was verified on the branch as it was."""
    task = run_attempt(world, world.task(n), act or adding(f"f{n}"))
    found = world.workspace.landings.build_candidate(world.run, task)
    work = replace(task.work, verified_commit=found.commit, onto=found.onto)
    return replace(task, work=work)


def leading(world: World, n: int, *others: Task) -> tuple[Task, Candidate]:
    task = refused(run_attempt(world, world.task(n), adding(f"f{n}")))
    found = world.workspace.landings.build_candidate(
        world.run, task, everybody, lambda: list(others)
    )
    return task, found


def landed(world: World) -> tuple[Task, Task, Candidate, str]:
    """The branch has moved; task 2 waits, and task 3 lands with it."""
    waiting = verified(world, 2)
    first = land_task(world, world.task(1), adding("f1"))
    leader, joint = leading(world, 3, waiting)
    assert world.workspace.landings.land(world.run, joint.commit, joint.onto) == joint.commit
    return waiting, leader, joint, first.landed_commit


@pytest.mark.spec("17.7", "0.1")
def test_a_joint_commit_follows_the_head_and_contains_the_verified_commit(world: World) -> None:
    waiting, leader, joint, head = landed(world)

    parents = git(world.repo, "rev-parse", f"{joint.commit}^1", f"{joint.commit}^3").split()
    assert parents == [head, leader.work.head]
    join = git(world.repo, "log", "-1", "--format=%s", f"{joint.commit}^2")
    assert join == "Join the verified work of task2"
    assert (joint.predecessor, joint.companions) == (head, (waiting.id,))
    assert joint.changed == ("f3",), "what the others changed is not this task's change"
    assert world.files(joint.commit) >= {"f1", "f2", "f3"}
    assert world.workspace.branches.branch_contains(world.run, waiting.work.verified_commit)
    read = world.workspace.landings.read_joint(joint.commit)
    assert read is not None
    assert (read.predecessor, dict(read.parts)) == (
        head,
        {waiting.id: waiting.work.verified_commit},
    )
    assert world.workspace.landings.read_joint(head) is None
    tasks = git(
        world.repo, "log", "-1", "--format=%(trailers:key=Yaoki-Task,valueonly)", joint.commit
    )
    assert tasks.split() == [leader.id, waiting.id]


@pytest.mark.spec("17.7", "9.3")
def test_every_task_of_a_joint_commit_is_a_landing_of_the_branch(world: World) -> None:
    waiting, leader, joint, head = landed(world)

    steps = world.workspace.branches.list_landings(world.run)
    assert steps == (
        LandedStep(world.task(1).id, head),
        LandedStep(waiting.id, waiting.work.verified_commit, joint_commit=joint.commit),
        LandedStep(leader.id, joint.commit),
    )
    assert [step.branch_commit for step in steps] == [head, joint.commit, joint.commit]
    combined = world.workspace.branches.combine_landings(world.run.base, [joint.commit])
    assert world.files(combined) - world.files(world.run.base) == {"f3"}


@pytest.mark.spec("17.7", "9.6")
@pytest.mark.parametrize("which", [0, 1], ids=["taken along", "leader"])
def test_each_task_of_a_joint_commit_is_undone_by_itself(world: World, which: int) -> None:
    waiting, leader, joint, _ = landed(world)
    own = (waiting.work.verified_commit, joint.commit)[which]
    task = (waiting, leader)[which]

    head = world.workspace.landings.undo(world.run, {task.id: own}, lambda *_: None)

    assert {"f2", "f3"} & world.files(head) == {("f3", "f2")[which]}
    again = world.workspace.landings.undo(world.run, {task.id: own}, lambda *_: None)
    assert again == head, "undoing twice changes nothing"
    other = (joint.commit, waiting.work.verified_commit)[which]
    rest = world.workspace.landings.undo(world.run, {TaskId("other"): other}, lambda *_: None)
    assert not {"f2", "f3"} & world.files(rest)


@pytest.mark.spec("17.7", "9.3")
def test_a_withdrawn_joint_commit_leaves_the_work_of_its_own_task_alone(world: World) -> None:
    """Whatever is committed next in the worktree must not land the work of the others."""
    leader, joint = leading(world, 3, verified(world, 2))
    worktree = Path(leader.work.worktree)
    assert (worktree / "f2").exists()

    world.workspace.landings.withdraw_candidate(world.run, leader)

    assert not (worktree / "f2").exists()
    assert git(worktree, "rev-parse", "HEAD") == leader.work.head != joint.commit
    assert git(worktree, "status", "--porcelain") == ""


@pytest.mark.spec("17.7")
def test_work_that_does_not_merge_is_not_taken_along(world: World) -> None:
    clash = verified(world, 2, lambda at: write(at, f1="other\n"))
    fits = verified(world, 3)
    land_task(world, world.task(1), adding("f1"))

    _, joint = leading(world, 4, clash, fits)

    assert joint.companions == (fits.id,)
    assert not joint.conflicts


@pytest.mark.spec("17.7")
def test_work_that_clashes_with_all_others_is_built_alone(world: World) -> None:
    waiting = verified(world, 2, lambda at: write(at, f3="other\n"))
    head = land_task(world, world.task(1), adding("f1")).landed_commit

    _, alone = leading(world, 3, waiting)

    assert (alone.companions, alone.onto, alone.predecessor) == ((), head, head)


@pytest.mark.spec("17.7", "0.1")
def test_work_verified_on_a_candidate_that_never_landed_is_not_taken_along(world: World) -> None:
    gone = refused(run_attempt(world, world.task(1), adding("f1")))
    world.workspace.landings.build_candidate(world.run, gone, everybody)
    behind = refused(run_attempt(world, world.task(2), adding("f2")))
    found = world.workspace.landings.build_candidate(world.run, behind, everybody)
    work = replace(behind.work, verified_commit=found.commit, onto=found.onto)
    alone = lambda: frozenset({world.task(3).id})  # noqa: E731

    leader = refused(run_attempt(world, world.task(3), adding("f3")))
    built = world.workspace.landings.build_candidate(
        world.run, leader, alone, lambda: [replace(behind, work=work)]
    )

    assert built.companions == ()
    assert world.files(built.commit) & {"f1", "f2", "f3"} == {"f3"}


@pytest.mark.spec("17.7", "0.3")
def test_a_repeated_call_builds_the_same_joint_commit(world: World) -> None:
    waiting = verified(world, 2)
    land_task(world, world.task(1), adding("f1"))
    leader, joint = leading(world, 3, waiting)

    again = world.workspace.landings.build_candidate(
        world.run, leader, everybody, lambda: [waiting]
    )
    without = world.workspace.landings.build_candidate(world.run, leader, everybody, list)

    assert again == joint
    assert without.companions == (), "the other task was withdrawn"
    in_queue = world.workspace.landings.is_in_merge_queue
    assert not in_queue(world.run, waiting.work.verified_commit, everybody)


@pytest.mark.spec("17.7")
def test_a_task_sees_that_it_is_taken_along(world: World) -> None:
    waiting = verified(world, 2)
    land_task(world, world.task(1), adding("f1"))
    in_queue = world.workspace.landings.is_in_merge_queue
    assert not in_queue(world.run, waiting.work.verified_commit, everybody)

    leader, _ = leading(world, 3, waiting)

    assert in_queue(world.run, waiting.work.verified_commit, everybody)
    left = lambda: everybody() - {leader.id}  # noqa: E731
    assert not in_queue(world.run, waiting.work.verified_commit, left)


@pytest.mark.spec("17.7", "9.6")
def test_later_work_on_a_task_of_a_joint_commit_refuses_its_undo(world: World) -> None:
    waiting, _, _, _ = landed(world)
    land_task(world, world.task(4), lambda at: write(at, f2="more\n"))

    with pytest.raises(NotNow, match="later work builds on"):
        world.workspace.landings.undo(
            world.run, {waiting.id: waiting.work.verified_commit}, lambda *_: None
        )
