"""How often git is started, counted by one that stands before it on the PATH."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.acceptance.project import Place, a_plan, writes

# Measured: nine of the stages themselves; the rest fill the proof room, look at what a check left
# there, list its filters and the two trees that are compared, and look for ignored files before a
# worktree goes.
CALLS_MAX = 18
# What a call of ours is known by, and what comes right before its command.
LAST_SETTING = "safe.bareRepository=explicit "


def counting_git(folder: Path, log: Path) -> str:
    """A folder whose `git` writes down each call and does it."""
    folder.mkdir()
    real = shutil.which("git")
    script = folder / "git"
    # An `echo` of less than a page is written whole, whoever writes beside it.
    script.write_text(f'#!/bin/sh\necho "$*" >> {log}\nexec {real} "$@"\n')
    script.chmod(0o755)
    return str(folder)


def calls(place: Place, tasks: int) -> Counter[str]:
    """By command, of a run with so many tasks."""
    names = [f"t{tasks}x{n}" for n in range(tasks)]
    acts = {name: [writes(f"{name}.txt")] for name in names}
    held = a_plan(
        acts,
        [{"id": name} for name in names],
        {"there": {"file": {"path": "README", "exists": True}}},
    )
    log = place.folder / f"calls-{tasks}"
    first = counting_git(place.folder / f"bin-{tasks}", log)
    env = {"PATH": f"{first}:{place.env['PATH']}"}
    done = place.yaoki("run", place.plan(held), "--quiet", "--parallel", "1", env=env)
    assert done.code == 0, done.err
    ours = (line.partition(LAST_SETTING)[2] for line in log.read_text().splitlines())
    return Counter(words.split()[0] for words in ours if words)


@pytest.mark.spec("13.1")
def test_a_task_starts_a_bounded_number_of_git_processes(place: Place) -> None:
    """What more tasks cost more: start-up is the same for two runs.

    Rounded: what is done now and then, and more often where all takes longer, is no task's.
    """
    few, many = calls(place, 2), calls(place, 8)

    more = {name: round((many[name] - few[name]) / 6) for name in many}
    assert sum(more.values()) <= CALLS_MAX, more
