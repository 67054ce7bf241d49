"""Candidates built on each other: in one repository, and on several machines with a remote."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.adapters.workspace.clones import clones, open_workspace
from tests.repositories import World, a_world, git, land_task, run_attempt, write
from yaoki.adapters.workspace import GitWorkspace
from yaoki.core.model import Task, TaskId
from yaoki.ports import Candidate, QueueMembers

IDS = frozenset(TaskId(f"ab12cd34-{n}") for n in range(1, 10))


def everybody() -> frozenset[TaskId]:
    return IDS


def but(task: Task) -> QueueMembers:
    return lambda: IDS - {task.id}


def refused(task: Task) -> Task:
    return replace(task, work=replace(task.work, landing_refusals=1))


def adding(name: str) -> Callable[[Path], object]:
    return lambda at: write(at, **{name: "n\n"})


def several(world: World, count: int) -> list[Task]:
    tasks = (run_attempt(world, world.task(n), adding(f"f{n}")) for n in range(1, count + 1))
    return [refused(task) for task in tasks]


def proposed(world: World, tasks: Sequence[Task]) -> list[Candidate]:
    return [world.workspace.landings.build_candidate(world.run, task, everybody) for task in tasks]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return a_world(tmp_path)


@pytest.mark.spec("3.4", "0.1")
def test_queued_tasks_build_on_each_other_and_land_in_order(world: World) -> None:
    first, second, third = proposed(world, several(world, 3))

    assert (first.onto, second.onto, third.onto) == (world.run.base, first.commit, second.commit)
    assert [one.changed for one in (first, second, third)] == [("f1",), ("f2",), ("f3",)]
    assert world.workspace.landings.land(world.run, second.commit, second.onto) == world.run.base
    for one in (first, second, third):
        assert world.workspace.landings.land(world.run, one.commit, one.onto) == one.commit
    assert world.files(third.commit) >= {"f1", "f2", "f3"}


@pytest.mark.spec("3.4")
def test_a_queued_task_waits_while_its_predecessors_may_land(world: World) -> None:
    tasks = several(world, 3)
    first, second, third = proposed(world, tasks)

    coming = world.workspace.landings.is_in_merge_queue
    assert coming(world.run, second.commit, everybody)
    assert coming(world.run, first.commit, but(tasks[1])), "what is behind it is no matter"
    assert not coming(world.run, second.commit, but(tasks[0])), "the first has fallen out"
    world.workspace.landings.land(world.run, first.commit, first.onto)
    assert not coming(world.run, first.commit, everybody), "it is there"
    assert coming(world.run, second.commit, everybody)
    assert third.onto == second.commit


@pytest.mark.spec("3.4")
def test_candidates_behind_one_that_left_the_queue_are_built_again(world: World) -> None:
    one, two, three = several(world, 3)
    first, _, third = proposed(world, (one, two, three))

    again = world.workspace.landings.build_candidate(world.run, three, but(two))

    assert (again.onto, third.onto == first.commit) == (first.commit, False)
    assert not world.workspace.landings.is_in_merge_queue(world.run, third.onto, but(two))
    assert "f2" not in world.files(again.commit)


def test_a_withdrawn_candidate_keeps_no_work_of_a_predecessor_that_did_not_land(
    world: World,
) -> None:
    """The next commit in the worktree landed that work as if it were the task's own."""
    one, two = several(world, 2)
    _, second = proposed(world, [one, two])
    worktree = Path(two.work.worktree)
    assert second.predecessor != world.workspace.branches.head(world.run)

    world.workspace.landings.withdraw_candidate(world.run, two)

    assert git(worktree, "rev-parse", "HEAD") == two.work.head
    assert git(worktree, "status", "--porcelain") == ""
    assert world.files(two.work.head) - world.files(world.run.base) == {"f2"}


@pytest.mark.spec("3.4", "8.2")
def test_a_queued_task_keeps_its_place_when_built_again(world: World) -> None:
    tasks = several(world, 3)
    before = proposed(world, tasks)

    assert proposed(world, tasks) == before


@pytest.mark.spec("3.4", "0.2")
def test_a_landing_outside_the_queue_empties_it(world: World) -> None:
    one, two = several(world, 2)
    first, second = proposed(world, (one, two))
    strange = land_task(world, world.task(8), adding("strange"))

    assert not world.workspace.landings.is_in_merge_queue(world.run, first.commit, everybody)
    assert (
        world.workspace.landings.land(world.run, first.commit, first.onto) == strange.landed_commit
    )
    assert (
        world.workspace.landings.build_candidate(world.run, two, everybody).onto
        == strange.landed_commit
    )
    assert second.onto == first.commit


@pytest.mark.spec("3.4", "1.4")
def test_a_task_without_changes_is_not_queued(world: World) -> None:
    one, two = several(world, 1)[0], refused(run_attempt(world, world.task(2), adding("f1")))
    first, second = proposed(world, (one, two))

    assert (second.commit, second.changed) == (first.commit, ())
    three = refused(run_attempt(world, world.task(3), adding("f3")))
    assert (
        world.workspace.landings.build_candidate(world.run, three, everybody).onto == first.commit
    )


@pytest.mark.spec("3.4", "3.5")
def test_a_conflict_with_the_queue_names_the_predecessor(world: World) -> None:
    one = refused(run_attempt(world, world.task(1), lambda at: write(at, a__txt="mine\n")))
    two = refused(run_attempt(world, world.task(2), lambda at: write(at, a__txt="yours\n")))
    first, second = proposed(world, (one, two))

    assert (second.conflicts, second.onto) == (("a.txt",), first.commit)


@pytest.mark.spec("3.4", "13.1")
def test_no_two_concurrent_tasks_build_on_the_same_candidate(world: World) -> None:
    tasks = several(world, 4)
    gate, found = threading.Barrier(len(tasks)), list[Candidate]()

    def ride(task: Task) -> None:
        own = GitWorkspace(world.repo, world.root)
        gate.wait()
        found.append(own.landings.build_candidate(world.run, task, everybody))

    threads = [threading.Thread(target=ride, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    tip = git(world.repo, "rev-parse", f"refs/yaoki/runs/{world.run.id}-train")
    along = git(world.repo, "rev-list", "--first-parent", f"{world.run.base}..{tip}").split()
    assert sorted(along) == sorted(one.commit for one in found)


@pytest.mark.full
@pytest.mark.spec("3.4", "8.1")
@pytest.mark.parametrize("left", ["", "missing", "a blob"])
def test_an_unreadable_queue_starts_again(world: World, left: str) -> None:
    one, two = several(world, 2)
    blob = git(world.repo, "rev-parse", "main:README")
    held = {"": "", "missing": "12" * 20, "a blob": blob}[left]
    ref = world.repo / ".git" / "refs" / "yaoki" / "runs" / f"{world.run.id}-train"
    ref.write_text(held)

    first, second = proposed(world, (one, two))

    assert (first.onto, second.onto) == (world.run.base, first.commit)


@pytest.mark.spec("3.4", "8.1")
def test_without_a_queue_tasks_are_verified_on_the_branch(tmp_path: Path) -> None:
    """A ref in the way of the queue, made by a person or another tool."""
    told = list[str]()
    plain = a_world(tmp_path)
    world = replace(plain, workspace=GitWorkspace(plain.repo, plain.root, warn=told.append))
    one, two = several(world, 2)
    git(world.repo, "update-ref", f"refs/yaoki/runs/{world.run.id}-train/x", "main")

    first, second = proposed(world, (one, two))

    assert (first.onto, second.onto) == (world.run.base, world.run.base)
    assert world.workspace.landings.land(world.run, second.commit, second.onto) == second.commit
    assert "land one by one" in told[0]


@pytest.mark.spec("13.1", "3.4")
def test_machines_with_a_remote_share_one_merge_queue(tmp_path: Path) -> None:
    both = clones(tmp_path)
    here, there = both.worlds
    one = refused(run_attempt(here, here.task(1), adding("f1")))
    two = refused(run_attempt(there, there.task(2), adding("f2")))

    first = here.workspace.landings.build_candidate(here.run, one, everybody)
    second = there.workspace.landings.build_candidate(there.run, two, everybody)

    assert second.onto == first.commit
    assert there.workspace.landings.is_in_merge_queue(there.run, second.onto, everybody)
    assert here.workspace.landings.land(here.run, first.commit, first.onto) == first.commit
    assert not there.workspace.landings.is_in_merge_queue(there.run, second.onto, everybody)
    assert there.workspace.landings.land(there.run, second.commit, second.onto) == second.commit
    assert both.steps() == ["task1: Do 1.", "task2: Do 2."]
    assert not [name for name in here.refs() if "/0-local-" in name]


@pytest.mark.spec("11.9", "13.1")
def test_the_merge_queue_is_deleted_with_its_run(tmp_path: Path) -> None:
    both = clones(tmp_path)
    here, there = both.worlds
    first = here.workspace.landings.build_candidate(
        here.run, refused(run_attempt(here, here.task(1), adding("f1"))), everybody
    )
    train = f"refs/yaoki/runs/{both.run.id}-train"
    assert both.remote_refs()[train] == first.commit

    archive = open_workspace(there.repo, there.root).recovery.ref_archive()
    found = archive.list_refs(both.run.id)
    archive.delete_refs(both.run.id, found)

    assert found[train] == first.commit
    assert train not in both.remote_refs()


@pytest.mark.spec("8.3", "3.4")
def test_the_merge_queue_of_a_group_is_deleted_with_its_branch(world: World) -> None:
    line = world.workspace.groups.open_group_branch(world.run, "ab12cd34-9")
    own = replace(world, run=line)
    first, lost = proposed(own, several(own, 2))
    world.workspace.landings.land(line, first.commit, first.onto)
    assert lost.onto == first.commit
    world.workspace.landings.land(world.run, first.commit, world.run.base)

    world.workspace.groups.close_group_branch(world.run, "ab12cd34-9")

    assert not [name for name in world.refs() if "ab12cd34-9" in name]
