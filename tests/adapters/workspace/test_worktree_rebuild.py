"""A missing worktree is made again at its work."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.repositories import World, a_world, git, land_task, run_attempt, write
from yaoki.core.model import Task
from yaoki.errors import GitFailed
from yaoki.ports import Candidate

BRANCH = "refs/heads/yaoki/ab12cd34-1"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return a_world(tmp_path)


def proving(world: World) -> tuple[Task, Candidate, Path]:
    """A task with its candidate checked out, and with output of set-up."""
    land_task(world, world.task(2), lambda at: write(at, other="o"))
    done = run_attempt(world, world.task(), lambda at: write(at, new="n\n", deps__log="d"))
    return done, world.workspace.landings.build_candidate(world.run, done), Path(done.work.worktree)


def exactly(at: Path, commit_: str) -> bool:
    """True at this commit on the task's branch with only ignored files besides."""
    head = git(at, "rev-parse", "HEAD")
    return (head, git(at, "symbolic-ref", "HEAD"), git(at, "status", "--porcelain")) == (
        commit_,
        BRANCH,
        "",
    )


def unmade(world: World, at: Path) -> None:
    """Killed inside `git worktree add`."""
    (world.repo / ".git" / "worktrees" / "ab12cd34-1" / "locked").write_text("initializing\n")
    (at / "a.txt").unlink()


def gone(_: World, at: Path) -> None:
    shutil.rmtree(at)


def forgotten(world: World, at: Path) -> None:
    (at / ".git").unlink()
    git(world.repo, "worktree", "prune")
    write(at, late="written afterwards\n")


def headless(world: World, _: Path) -> None:
    (world.repo / ".git" / "worktrees" / "ab12cd34-1" / "HEAD").write_text("nonsense")


@pytest.mark.spec("0.2", "3.3")
@pytest.mark.parametrize(
    "harm", [unmade, gone, forgotten, headless], ids=lambda harm: harm.__name__
)
def test_a_missing_worktree_is_rebuilt_with_its_work(
    world: World, harm: Callable[[World, Path], None]
) -> None:
    done = run_attempt(world, world.task(), lambda at: write(at, new="n\n"))
    at = Path(done.work.worktree)
    harm(world, at)

    assert world.workspace.worktrees.rebuild_worktree(done)

    assert exactly(at, done.work.head)
    assert not world.workspace.worktrees.rebuild_worktree(done)
    assert world.workspace.landings.build_candidate(world.run, done).changed == ("new",)
    if harm is forgotten:
        assert any(
            "late" in world.files(work.commit)
            for work in world.workspace.recovery.list_saved_work()
        )


@pytest.mark.spec("0.2")
def test_an_existing_worktree_is_left_alone(world: World) -> None:
    """Also without its `.git` link: files and set-up output stay."""
    done = run_attempt(world, world.task(), lambda at: write(at, new="n\n", deps__log="d"))
    at = Path(done.work.worktree)
    write(at, unkept="u")
    (at / ".git").unlink()

    assert not world.workspace.worktrees.rebuild_worktree(done)

    assert (at / "unkept").exists()
    assert (at / "deps.log").exists()
    assert git(at, "rev-parse", "HEAD") == done.work.head


@pytest.mark.spec("0.2")
@pytest.mark.parametrize("left", ["branch", "work ref", "base"])
def test_without_a_recorded_head_the_best_remaining_commit_is_used(world: World, left: str) -> None:
    done = run_attempt(world, world.task(), lambda at: write(at, new="n\n"))
    begun = replace(done, work=replace(done.work, head=""))
    shutil.rmtree(done.work.worktree)
    git(world.repo, "worktree", "prune")
    if left != "branch":
        git(world.repo, "branch", "-q", "-D", "yaoki/ab12cd34-1")
    if left == "base":
        git(world.repo, "update-ref", "-d", "refs/yaoki/work/ab12cd34-1/1")

    assert world.workspace.worktrees.rebuild_worktree(begun)

    expected = done.work.base if left == "base" else done.work.head
    assert exactly(Path(done.work.worktree), expected)


@pytest.mark.spec("0.6")
def test_without_any_commit_there_is_nothing_to_rebuild(world: World) -> None:
    with pytest.raises(GitFailed, match="no commit that ab12cd34-1 started from"):
        world.workspace.worktrees.rebuild_worktree(world.task())
