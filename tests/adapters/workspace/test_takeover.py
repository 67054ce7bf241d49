"""A person takes over a conflict: their work in the worktree is verified, merge included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.repositories import (
    World,
    a_world,
    commit,
    git,
    land_task,
    run_attempt,
    start_attempt,
    with_conflict,
    write,
)
from yaoki.core.model import AttemptMode, Task, Work
from yaoki.ports import Candidate

pytestmark = pytest.mark.spec("10.4", "0.2")

ADMIN = Path(".git/worktrees/ab12cd34-1")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return a_world(tmp_path)


def escalated(world: World) -> Task:
    """The task and the run branch both changed a.txt; the task is escalated."""
    mine = run_attempt(world, world.task(1), lambda at: write(at, a__txt="mine\n", new="n"))
    land_task(world, world.task(2), lambda at: write(at, a__txt="other\n", b__txt="B\n"))
    assert world.workspace.landings.build_candidate(world.run, mine).conflicts == ("a.txt",)
    return with_conflict(mine)


def answered(world: World, task: Task) -> tuple[Task, Candidate]:
    """`yaoki answer TASK done`: prepare, snapshot, commit, build the candidate."""
    taken = replace(task, mode=AttemptMode.TAKEN_OVER)
    place = world.workspace.worktrees.prepare(world.run, taken, taken.attempt + 1)
    world.workspace.worktrees.take_snapshot(taken, taken.attempt + 1)
    work = replace(
        taken.work, base=place.base, head="", worktree=str(place.worktree), tree=place.tree
    )
    begun = replace(taken, attempt=taken.attempt + 1, work=work)
    kept = world.workspace.worktrees.commit_attempt(world.run, begun)
    assert world.workspace.worktrees.commit_attempt(world.run, begun) == kept
    proved = replace(begun, work=replace(work, head=kept.head))
    return proved, world.workspace.landings.build_candidate(world.run, proved)


def merge(at: Path) -> None:
    git(at, "merge", "-q", "yaoki/ab12cd34", code=1)


def resolve(at: Path) -> None:
    write(at, a__txt="mine and other\n")


def resolve_and_add(at: Path) -> None:
    resolve(at)
    git(at, "add", "-A")


def resolve_and_commit(at: Path) -> None:
    resolve(at)
    commit(at, "merged by hand")


@pytest.mark.parametrize(
    "how", [resolve, resolve_and_add, resolve_and_commit], ids=lambda how: how.__name__
)
def test_a_merge_made_by_hand_is_verified(world: World, how: Callable[[Path], None]) -> None:
    task = escalated(world)
    at = Path(task.work.worktree)
    merge(at)
    how(at)

    proved, found = answered(world, task)

    assert (found.conflicts, found.conflict_markers) == ((), ())
    assert world.show(found.commit, "a.txt") == "mine and other"
    assert world.show(found.commit, "b.txt") == "B"
    assert found.changed == ("a.txt", "new")
    parents = git(world.repo, "rev-parse", f"{found.commit}^1", f"{found.commit}^2").split()
    assert parents == [world.workspace.branches.head(world.run), proved.work.head]
    assert not (world.repo / ADMIN / "MERGE_HEAD").exists()
    assert git(at, "status", "--porcelain") == ""


def edit_and_commit(at: Path) -> None:
    write(at, mine="p\n")
    commit(at, "by hand")
    write(at, other="p\n")


@pytest.mark.spec("12.3")
@pytest.mark.parametrize("candidate", ["none", "verified", "withdrawn"])
@pytest.mark.parametrize(
    ("how", "count"),
    [(lambda _: None, 0), (lambda at: write(at, mine="p"), 1), (edit_and_commit, 2)],
)
def test_only_the_files_that_the_person_changed_are_counted(
    world: World, how: Callable[[Path], None], count: int, candidate: str
) -> None:
    """The worktree has the agent's files and, after it was verified, those that landed before."""
    task = run_attempt(world, world.task(1), lambda at: write(at, agent="a\n"))
    land_task(world, world.task(2), lambda at: write(at, landed="l\n"))
    if candidate != "none":
        world.workspace.landings.build_candidate(world.run, task)
    if candidate == "withdrawn":
        world.workspace.landings.withdraw_candidate(world.run, task)
    how(Path(task.work.worktree))
    taken = replace(task, mode=AttemptMode.TAKEN_OVER)

    place = world.workspace.worktrees.prepare(world.run, taken, 2)
    work = replace(taken.work, base=place.base, head="", tree=place.tree)
    begun = replace(taken, attempt=2, work=work)
    committed = world.workspace.worktrees.commit_attempt(world.run, begun)

    assert committed.person_file_count == count
    assert "agent" in committed.changed


@pytest.mark.spec("12.3")
def test_an_earlier_attempt_that_a_person_merged_is_counted_as_their_change(world: World) -> None:
    """Its files were "unchanged since the last attempt", which had changed nothing."""
    first = run_attempt(world, world.task(1), lambda at: write(at, agent="a\n"))
    world.workspace.landings.build_candidate(world.run, first)
    world.workspace.landings.withdraw_candidate(world.run, first)
    fresh = replace(first, attempt=1, needs_fresh_worktree=True, work=Work())
    idle = run_attempt(world, fresh, lambda _: None)
    git(Path(idle.work.worktree), "merge", "-q", first.work.head)
    taken = replace(idle, mode=AttemptMode.TAKEN_OVER, needs_fresh_worktree=False)

    place = world.workspace.worktrees.prepare(world.run, taken, 3)
    work = replace(taken.work, base=place.base, head="", tree=place.tree)
    committed = world.workspace.worktrees.commit_attempt(
        world.run, replace(taken, attempt=3, work=work)
    )

    assert committed.person_file_count == 1


@pytest.mark.parametrize("other_landed", [True, False])
@pytest.mark.parametrize("how", [lambda at: write(at, mine="p\n"), edit_and_commit])
def test_a_candidate_that_did_not_land_is_not_in_the_history_of_a_takeover(
    world: World, how: Callable[[Path], None], other_landed: bool
) -> None:
    """`git log` showed a landing that never was: its subject is that of a landing."""
    task = run_attempt(world, world.task(1), lambda at: write(at, agent="a\n"))
    if other_landed:
        land_task(world, world.task(2), lambda at: write(at, landed="l\n"))
    landings, at = world.workspace.landings, Path(task.work.worktree)
    failed = landings.build_candidate(world.run, task)

    landings.withdraw_candidate(world.run, task)
    landings.withdraw_candidate(world.run, task)
    clean = git(at, "status", "--porcelain")
    again = landings.build_candidate(world.run, task)
    landings.withdraw_candidate(world.run, task)
    how(at)
    _, found = answered(world, task)

    assert clean == ""
    assert again.tree == failed.tree
    head = world.workspace.branches.head(world.run)
    subjects = git(world.repo, "log", "--format=%s", f"{head}..{found.commit}").splitlines()
    (landing,) = git(world.repo, "log", "-1", "--format=%s", found.commit).splitlines()
    assert subjects.count(landing) == 1, subjects
    merged = [subject for subject in subjects if subject.endswith(": the run branch merged in")]
    assert bool(merged) == other_landed, subjects
    assert {*found.changed} >= {"agent", "mine"}
    assert "landed" not in found.changed


def test_a_merge_resolved_with_ours_is_a_merge(world: World) -> None:
    """The tree is unchanged, so only the parents show the merge."""
    task = escalated(world)
    at = Path(task.work.worktree)
    git(at, "merge", "-q", "--no-commit", "-s", "ours", "yaoki/ab12cd34")

    _, found = answered(world, task)

    assert found.conflicts == ()
    assert world.show(found.commit, "a.txt") == "mine"


def test_conflict_markers_of_a_person_are_reported(world: World) -> None:
    task = escalated(world)
    merge(Path(task.work.worktree))

    _, found = answered(world, task)

    assert (found.conflicts, found.conflict_markers) == ((), ("a.txt",))


def test_the_run_branch_may_move_on_while_a_person_works(world: World) -> None:
    """The person merged an older head; yaoki does not merge again with markers."""
    task = escalated(world)
    at = Path(task.work.worktree)
    merge(at)
    resolve_and_commit(at)
    land_task(world, world.task(3), lambda there: write(there, third="3"))

    _, found = answered(world, task)

    assert (found.conflicts, found.conflict_markers) == ((), ())
    assert world.show(found.commit, "a.txt") == "mine and other"
    assert world.files(found.commit) >= {"third", "new"}


def test_edits_over_yaokis_conflict_markers_resolve_them(world: World) -> None:
    """The usual case: an agent had the markers first and did not resolve them."""
    task = with_conflict(run_attempt(world, escalated(world), lambda _: None))
    assert world.workspace.landings.build_candidate(world.run, task).conflict_markers == ("a.txt",)
    resolve(Path(task.work.worktree))

    _, found = answered(world, task)

    assert (found.conflicts, found.conflict_markers) == ((), ())
    assert world.show(found.commit, "a.txt") == "mine and other"


def test_a_second_conflict_names_files_with_the_markers_of_the_first(world: World) -> None:
    """A person who takes over would begin with markers that git does not report."""
    task = with_conflict(run_attempt(world, escalated(world), lambda _: None))
    land_task(world, world.task(3), lambda at: write(at, a__txt="third\n"))

    found = world.workspace.landings.build_candidate(world.run, task)

    assert (found.conflicts, found.conflict_markers) == (("a.txt",), ("a.txt",))


def test_a_first_conflict_has_no_markers_in_the_work(world: World) -> None:
    found = world.workspace.landings.build_candidate(world.run, escalated(world))

    assert (found.conflicts, found.conflict_markers) == (("a.txt",), ())


def test_edits_without_a_merge_stay_and_conflict(world: World) -> None:
    """An edit cannot be told from a resolution; recording a merge would undo landed work."""
    task = escalated(world)
    at = Path(task.work.worktree)
    resolve(at)

    proved, found = answered(world, task)

    assert found.conflicts == ("a.txt",)
    assert (at / "a.txt").read_text() == "mine and other\n"
    assert world.show(proved.work.head, "a.txt") == "mine and other"


def test_a_persons_work_is_never_replaced_by_a_fresh_worktree(
    world: World,
) -> None:
    task = start_attempt(world, world.task())
    at = Path(task.work.worktree)
    write(at, by_hand="h")

    taken = replace(task, attempt=0, needs_fresh_worktree=True, mode=AttemptMode.TAKEN_OVER)
    place = world.workspace.worktrees.prepare(world.run, taken, 1)

    assert not place.fresh
    assert (at / "by_hand").exists()


def test_an_agents_unfinished_merge_is_dropped(world: World) -> None:
    """The agent may have abandoned the merge; recording it would undo landed work."""
    begun = start_attempt(world, replace(escalated(world), feedback=None))
    at = Path(begun.work.worktree)
    git(at, "merge", "-q", "yaoki/ab12cd34", code=1)
    git(at, "checkout", "-q", "HEAD", "--", ".")

    kept = world.workspace.worktrees.commit_attempt(world.run, begun)
    found = world.workspace.landings.build_candidate(
        world.run, replace(begun, work=replace(begun.work, head=kept.head))
    )

    assert found.conflicts == ("a.txt",)
    assert not (world.repo / ADMIN / "MERGE_HEAD").exists()
