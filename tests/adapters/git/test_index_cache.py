"""The index cache of a worktree saves hashing and never hides a change."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.repositories import World, a_world, commit, git, run_attempt, start_attempt, write
from yaoki.core.model import RunId


@pytest.fixture
def world(tmp_path: Path) -> World:
    return a_world(tmp_path)


def _known(world: World, task_id: str) -> Path:
    return next((world.root / ".index" / f"{task_id}.known").iterdir())


@pytest.mark.spec("3.2", "6.1")
def test_a_change_of_equal_size_with_a_reset_mtime_is_detected(world: World) -> None:
    def agent(at: Path) -> None:
        before = (at / "a.txt").stat()
        write(at, a__txt="a1\na2\naX\n")
        os.utime(at / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))

    first = run_attempt(world, world.task(), lambda at: write(at, new__txt="1\n"))
    again = run_attempt(world, first, agent)

    assert world.show(again.work.head, "a.txt") == "a1\na2\naX"


@pytest.mark.spec("3.2")
def test_settings_that_make_git_skip_files_hide_no_change(world: World) -> None:
    """An agent's changes are committed under any such settings."""
    for name, value in (("checkStat", "minimal"), ("trustctime", "false"), ("ignoreStat", "true")):
        git(world.repo, "config", f"core.{name}", value)
    first = run_attempt(world, world.task(), lambda at: write(at, new__txt="1\n"))
    file = Path(first.work.worktree) / "a.txt"
    before = file.stat()

    def agent(at: Path) -> None:
        write(at, a__txt="a1\na2\naX\n", b__txt="c\n")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    again = run_attempt(world, first, agent)

    assert world.show(again.work.head, "a.txt") == "a1\na2\naX"
    assert world.show(again.work.head, "b.txt") == "c"


# git compares times by the second: what is written in the second of the index is always read again.
READ = """#!/bin/sh
[ "$1" = smudge ] && [ "$2" = z.txt ] && sleep 1.1
[ "$1" = clean ] && echo "$2" >> {log}
cat
"""


@pytest.mark.spec("13.1")
def test_unchanged_files_are_not_hashed_again(tmp_path: Path) -> None:
    """A filter counts the reads: git calls it for each file that it hashes."""
    world = a_world(tmp_path)
    log, filter_ = tmp_path / "read", tmp_path / "filter"
    filter_.write_text(READ.format(log=log))
    filter_.chmod(0o755)
    for way in ("clean", "smudge"):
        git(world.repo, "config", f"filter.count.{way}", f"{filter_} {way} %f")
    write(world.repo, __gitattributes="*.txt filter=count\n", z__txt="last\n")
    commit(world.repo)
    run = replace(world.run, id=RunId("cd34ef56"), base=git(world.repo, "rev-parse", "main"))
    world.workspace.branches.open_run_branch(run)
    begun = start_attempt(replace(world, run=run), world.task())
    log.write_text("")

    write(Path(begun.work.worktree), a__txt="changed\n")
    kept = world.workspace.worktrees.commit_attempt(run, begun)

    assert world.show(kept.head, "a.txt") == "changed"
    assert set(log.read_text().split()) - {"z.txt"} == {"a.txt"}


@pytest.mark.spec("0.2")
def test_a_broken_or_missing_index_cache_is_ignored(world: World) -> None:
    begun = start_attempt(world, world.task())
    known = _known(world, begun.id)

    known.write_bytes(b"no index")
    write(Path(begun.work.worktree), new__txt="1\n")
    kept = world.workspace.worktrees.commit_attempt(world.run, begun)
    known.unlink()
    write(Path(begun.work.worktree), new__txt="2\n")
    again = world.workspace.worktrees.commit_attempt(world.run, begun)

    assert world.show(kept.head, "new.txt") == "1"
    assert world.show(again.head, "new.txt") == "2"


@pytest.mark.spec("3.2", "6.1")
def test_only_an_index_cache_of_this_process_is_used(world: World) -> None:
    """An agent finds the cache and marks a file in it as never changing."""
    begun = start_attempt(world, world.task())
    at, known = Path(begun.work.worktree), _known(world, begun.id)

    marked = at.parent / "marked"
    shutil.copy2(known, marked)
    env = {**os.environ, "GIT_INDEX_FILE": str(marked)}
    words = ["git", "update-index", "--assume-unchanged", "a.txt"]
    subprocess.run(words, cwd=at, env=env, check=True)
    shutil.copy2(marked, known)
    write(at, a__txt="hidden\n")
    kept = world.workspace.worktrees.commit_attempt(world.run, begun)

    assert world.show(kept.head, "a.txt") == "hidden"


def test_the_index_cache_of_a_finished_task_is_dropped(world: World) -> None:
    done = run_attempt(world, world.task(), lambda at: write(at, new__txt="1\n"))

    world.workspace.worktrees.remove_worktree(done)

    assert list((world.root / ".index").iterdir()) == []
