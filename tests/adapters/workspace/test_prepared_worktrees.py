"""Prepared worktrees: a task gets one like a new one, and none is left over."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.repositories import World, a_world, git, land_task, run_attempt, start_attempt, write
from yaoki.adapters.workspace import GitWorkspace

# Makes a spare one and is killed with it.
KILLED = """
import os, pathlib, pickle, signal, sys
from tests.repositories import World, start_attempt
from yaoki.adapters.workspace import GitWorkspace
repo, root = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
run = pickle.loads(bytes.fromhex(sys.argv[3]))
world = World(repo, root, GitWorkspace(repo, root, ahead_from_files=1), run)
start_attempt(world, world.task(7))
world.workspace.worktrees.prepare_ahead(run, 1)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    """The first task has its worktree, so that others are prepared from now on."""
    made = a_world(tmp_path)
    ahead = GitWorkspace(made.repo, made.root, ahead_from_files=1)
    world = replace(made, workspace=ahead)
    start_attempt(world, world.task(9))
    return world


def spares(world: World) -> list[str]:
    return sorted(path.name for path in world.root.glob("spare-*"))


def noted(world: World) -> set[str]:
    """The folders of git's worktrees."""
    lines = git(world.repo, "worktree", "list", "--porcelain").splitlines()
    return {Path(line.split(" ", 1)[1]).name for line in lines if line.startswith("worktree ")}


def tree_of(at: Path) -> dict[str, tuple[int, bytes]]:
    files = (p for p in at.rglob("*") if p.is_file() and ".git" not in p.relative_to(at).parts)
    return {str(p.relative_to(at)): (p.stat().st_mode, p.read_bytes()) for p in files}


@pytest.mark.spec("13.1", "3.1")
def test_a_prepared_worktree_is_handed_over_at_the_newest_commit(world: World) -> None:
    world.workspace.worktrees.prepare_ahead(world.run, 1)
    assert len(spares(world)) == 1
    done = land_task(world, world.task(1), lambda at: write(at, new__txt="1\n"))
    world.workspace.worktrees.prepare_ahead(world.run, 1)
    assert len(spares(world)) == 1, "the first took the one that was there"
    last = land_task(world, done, lambda at: write(at, a__txt="newer\n"))

    begun = start_attempt(world, world.task(2))

    at = Path(begun.work.worktree)
    assert spares(world) == []
    assert begun.work.base == last.landed_commit
    assert git(at, "status", "--porcelain", "--ignored", "--branch") == f"## yaoki/{begun.id}"
    other = start_attempt(
        replace(world, workspace=GitWorkspace(world.repo, world.root)), world.task(3)
    )
    assert tree_of(at) == tree_of(Path(other.work.worktree))


@pytest.mark.spec("3.2", "8.1")
def test_work_in_a_prepared_worktree_is_saved_landed_and_removed(world: World) -> None:
    world.workspace.worktrees.prepare_ahead(world.run, 2)

    done = land_task(world, world.task(1), lambda at: write(at, new__txt="1\n"))
    world.workspace.worktrees.remove_worktree(done)

    assert world.show(done.landed_commit, "new.txt") == "1"
    assert done.id not in noted(world)
    assert not (world.root / done.id).exists()


def test_no_more_worktrees_are_prepared_than_wanted_and_none_in_small_repositories(
    world: World,
) -> None:
    for _ in range(2):
        world.workspace.worktrees.prepare_ahead(world.run, 2)
    assert len(spares(world)) == 2

    large = replace(world, workspace=GitWorkspace(world.repo, world.root, ahead_from_files=1000))
    start_attempt(large, large.task(5))
    large.workspace.worktrees.prepare_ahead(world.run, 4)

    assert len(spares(world)) == 2


@pytest.mark.spec("3.1")
def test_a_repository_without_files_has_worktrees_too(tmp_path: Path) -> None:
    """As `git commit --allow-empty` makes it: git may write no index for one."""
    git(tmp_path, "init", "-q", "-b", "main", "empty")
    git(tmp_path / "empty", "commit", "-q", "--allow-empty", "-m", "begin")
    made = a_world(tmp_path, tmp_path / "empty")
    world = replace(made, workspace=GitWorkspace(made.repo, made.root, ahead_from_files=1))

    done = land_task(world, world.task(1), lambda at: write(at, new__txt="1\n"))

    assert world.files(done.landed_commit) == {"new.txt"}


@pytest.mark.spec("13.1")
def test_a_process_removes_its_prepared_worktrees_when_it_ends(world: World) -> None:
    other = replace(world, workspace=GitWorkspace(world.repo, world.root, ahead_from_files=1))
    start_attempt(other, other.task(8))
    other.workspace.worktrees.prepare_ahead(world.run, 1)
    mine = spares(world)
    world.workspace.worktrees.prepare_ahead(world.run, 1)

    world.workspace.worktrees.drop_prepared_worktrees()

    assert spares(world) == mine
    assert noted(world) & set(mine) == set(mine)
    other.workspace.worktrees.drop_prepared_worktrees()
    assert spares(world) == []
    assert list(world.root.glob(".spare-*")) == []


@pytest.mark.spec("0.2", "8.6")
def test_prepared_worktrees_of_killed_processes_are_removed_and_others_stay(world: World) -> None:
    world.workspace.worktrees.prepare_ahead(world.run, 1)
    mine = spares(world)
    words = (str(world.repo), str(world.root), pickle.dumps(world.run).hex())
    top = Path(__file__).parents[3]
    killed = subprocess.run([sys.executable, "-c", KILLED, *words], cwd=top, check=False)
    assert killed.returncode < 0
    assert len(spares(world)) == 2

    GitWorkspace(world.repo, world.root).worktrees.remove_orphans()

    assert spares(world) == mine
    assert len(list(world.root.glob(".spare-*"))) == 1
    start_attempt(world, world.task(1))
    assert spares(world) == []


@pytest.mark.spec("0.2", "4.8")
def test_a_failed_hand_over_leaves_nothing_behind(tmp_path: Path) -> None:
    """The worktree already has the task's name when its files cannot be written."""
    fails, filter_ = tmp_path / "fails", tmp_path / "filter"
    filter_.write_text(f"#!/bin/sh\nrm {fails} 2>/dev/null && exit 1\ncat\n")
    filter_.chmod(0o755)
    made = a_world(tmp_path)
    world = replace(made, workspace=GitWorkspace(made.repo, made.root, ahead_from_files=1))
    for key, value in (("smudge", str(filter_)), ("clean", "cat"), ("required", "true")):
        git(world.repo, "config", f"filter.odd.{key}", value)
    first = land_task(
        world, world.task(9), lambda at: write(at, __gitattributes="*.txt filter=odd\n")
    )
    world.workspace.worktrees.prepare_ahead(world.run, 1)
    land_task(world, first, lambda at: write(at, a__txt="newer\n"))
    fails.touch()

    begun = start_attempt(world, world.task(1))

    at = Path(begun.work.worktree)
    assert not fails.exists(), "it did fail once"
    assert git(at, "status", "--porcelain", "--ignored", "--branch") == f"## yaoki/{begun.id}"
    assert (at / "a.txt").read_text() == "newer\n"
    assert spares(world) == []
    assert noted(world) == {"repo", begun.id, first.id}


@pytest.mark.spec("8.6")
def test_the_index_cache_of_a_killed_workers_task_is_removed(world: World) -> None:
    left = world.root / ".index" / "ab12cd34-77.known"
    left.mkdir(parents=True)

    world.workspace.worktrees.remove_orphans()

    assert not left.exists()
    assert (world.root / ".index" / f"{world.task(9).id}.known").exists()


def rewritten(spare: Path) -> None:
    write(spare, a__txt="somebody was here\n")


def added(spare: Path) -> None:
    write(spare, x__log="ignored\n")


def hidden(spare: Path) -> None:
    git(spare, "update-index", "--skip-worktree", "a.txt")
    write(spare, a__txt="hidden\n")


def emptied(spare: Path) -> None:
    for file in spare.iterdir():
        file.unlink() if file.is_file() else None


def gone(spare: Path) -> None:
    spare.rename(spare.with_name("elsewhere"))


@pytest.mark.spec("3.1", "0.2")
@pytest.mark.parametrize("harm", [rewritten, added, hidden, emptied, gone])
def test_a_modified_prepared_worktree_is_repaired_or_removed(
    world: World, harm: Callable[[Path], None]
) -> None:
    world.workspace.worktrees.prepare_ahead(world.run, 1)
    harm(world.root / spares(world)[0])

    begun = start_attempt(world, world.task(1))

    at = Path(begun.work.worktree)
    assert git(at, "status", "--porcelain", "--ignored", "--branch") == f"## yaoki/{begun.id}"
    assert (at / "a.txt").read_text() == "a1\na2\na3\n"
    assert spares(world) == []


@pytest.mark.spec("0.2", "8.1")
def test_files_at_the_path_of_a_new_worktree_are_saved(world: World) -> None:
    """A folder at that path is saved before it is replaced."""
    world.workspace.worktrees.prepare_ahead(world.run, 1)
    done = run_attempt(world, world.task(1), lambda at: write(at, new__txt="1\n"))
    world.workspace.worktrees.prepare_ahead(world.run, 1)
    write(Path(done.work.worktree), late__txt="late\n")

    start_attempt(world, replace(done, needs_fresh_worktree=True))

    refs = [ref for ref in world.refs() if f"/work/{done.id}/" in ref]
    assert any("late.txt" in world.files(ref) for ref in refs), refs
