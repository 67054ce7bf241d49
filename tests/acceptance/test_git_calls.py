"""The number of git processes, counted by a wrapper on the PATH."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.acceptance.project import Project, a_plan, writes

# Measured: a worktree is filled, its files are listed, added and written as a tree, its ignored
# files are listed, the proof room is filled, and a folder is compared with its commit twice.
CALLS_MAX = 8
# The options that mark yaoki's calls of git; the command follows them.
LAST_SETTING = "safe.bareRepository=explicit "


def counting_git(folder: Path, log: Path) -> str:
    """A folder with a `git` that records each call and executes it."""
    folder.mkdir()
    real = shutil.which("git")
    script = folder / "git"
    # An `echo` of less than a page is written atomically.
    script.write_text(f'#!/bin/sh\necho "$*" >> {log}\nexec {real} "$@"\n')
    script.chmod(0o755)
    return str(folder)


def count_git_calls(project: Project, tasks: int) -> Counter[str]:
    """The number of calls by git command, for a run with this many tasks."""
    names = [f"t{tasks}x{n}" for n in range(tasks)]
    acts = {name: [writes(f"{name}.txt")] for name in names}
    held = a_plan(
        acts,
        [{"id": name} for name in names],
        {"there": {"file": {"path": "README", "exists": True}}},
    )
    log = project.folder / f"calls-{tasks}"
    first = counting_git(project.folder / f"bin-{tasks}", log)
    env = {"PATH": f"{first}:{project.env['PATH']}"}
    done = project.yaoki("run", project.plan(held), "--quiet", "--parallel", "1", env=env)
    assert done.code == 0, done.err
    ours = (line.partition(LAST_SETTING)[2] for line in log.read_text().splitlines())
    return Counter(words.split()[0] for words in ours if words)


@pytest.mark.spec("13.1")
def test_a_task_starts_a_bounded_number_of_git_processes(project: Project) -> None:
    """The additional calls of six more tasks: start-up is the same for both runs.

    Rounded, because periodic calls depend on the duration and belong to no task.
    """
    few, many = count_git_calls(project, 2), count_git_calls(project, 8)

    more = {name: round((many[name] - few[name]) / 6) for name in many}
    assert sum(more.values()) <= CALLS_MAX, more
