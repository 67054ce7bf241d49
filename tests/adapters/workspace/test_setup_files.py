"""What set-up made in a worktree, told apart from what was there before and came afterwards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.repositories import World, a_world, git, land_task, run_attempt, start_attempt, write
from yaoki.core.model import AttemptMode


@pytest.fixture
def world(tmp_path: Path) -> World:
    return a_world(tmp_path)


@pytest.mark.spec("0.2", "16.1")
def test_files_that_precede_a_set_up_are_work(world: World) -> None:
    """A person works in a worktree that was rebuilt; the set-up that follows is killed once."""
    task = start_attempt(world, world.task())
    at = Path(task.work.worktree)
    write(at, mine__py="m\n", a__txt="a person's\n")
    write(at / "build", mine="m\n")
    for made in ("half\n", "whole\n"):
        world.workspace.worktrees.begin_setup(task)
        write(at, made__py=made, b__txt="changed by set-up\n")
        write(at / "build", made=made)
        write(at, staged=made)
        git(at, "add", "staged")

    changes = world.workspace.worktrees.record_setup_files(task)
    saved = world.workspace.worktrees.commit_attempt(
        world.run, replace(task, mode=AttemptMode.TAKEN_OVER)
    )

    assert changes.restored == ("b.txt",)
    assert set(saved.changed) == {"mine.py", "a.txt", "build/mine"}
    for name in ("made.py", "build/made", "staged"):
        assert (at / name).read_text() == "whole\n"


def make_both(at: Path, text: str) -> None:
    """A single file, and one in a folder that tools own."""
    write(at, made__py=text)
    write(at / "build", made__py=text)


@pytest.mark.spec("0.2", "16.1")
def test_a_file_that_another_task_lands_is_no_longer_of_set_up(world: World) -> None:
    def set_up_and_write(at: Path) -> None:
        make_both(at, "m\n")
        world.workspace.worktrees.record_setup_files(world.task())
        write(at, new="n\n")

    done = run_attempt(world, world.task(), set_up_and_write)
    land_task(world, world.task(2), lambda at: make_both(at, "o\n"))
    candidate = world.workspace.landings.build_candidate(world.run, done)
    at = Path(done.work.worktree)
    make_both(at, "p\n")

    again = world.workspace.worktrees.commit_attempt(world.run, done)

    assert candidate.changed == ("new",)
    assert git(at, "show", f"{candidate.commit}:made.py") == "o"
    assert git(at, "show", f"{again.head}:made.py") == "p"
    assert git(at, "show", f"{again.head}:build/made.py") == "p"
    assert not again.warnings


@pytest.mark.spec("16.1")
def test_names_with_special_characters_stay_in_the_worktree(world: World) -> None:
    task = start_attempt(world, world.task())
    at = Path(task.work.worktree)
    names = ("!x[a]*?.py", "# y \\", "build/ z!", "-e", "ein\nzwei")
    (at / "build").mkdir()
    for name in names:
        (at / name).write_text("made\n")
    world.workspace.worktrees.record_setup_files(task)
    (at / "new").write_text("n\n")

    saved = world.workspace.worktrees.commit_attempt(world.run, task)
    done = replace(task, work=replace(task.work, head=saved.head, tree=saved.tree))
    world.workspace.landings.build_candidate(world.run, done)

    assert saved.changed == ("new",)
    assert all((at / name).exists() for name in names)
