"""A hangup of the terminal stops the run gracefully; it can be resumed later."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.project import (
    BOUND_S,
    Project,
    a_plan,
    file_contains,
    wait_until,
    waits_for,
    writes,
)


@contextmanager
def start_in_terminal(
    project: Project, words: Sequence[str]
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The program as a terminal emulator starts it: the window is its controlling terminal."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        ("setsid", "--ctty", *words),
        cwd=project.repo,
        env={**project.env, "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        yield process, ours
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def two_tasks(marker: Path) -> dict[str, object]:
    return a_plan(
        {"slow": [[waits_for(marker), *writes("slow.txt")]], "after": [writes("after.txt")]},
        [
            {"id": "slow", "checks": ["slow"]},
            {"id": "after", "checks": ["after"], "needs": ["slow"]},
        ],
        {"slow": file_contains("slow.txt"), "after": file_contains("after.txt")},
    )


def is_working(project: Project) -> bool:
    tasks = project.status().get("tasks", ()) if project.has_store() else ()
    return any(task["stage"] == "WORK" for task in tasks)


@pytest.mark.full
@pytest.mark.spec("11.8", "0.2")
@pytest.mark.parametrize("screen", [("run",), ("run", "--quiet")])
@pytest.mark.skipif(
    not shutil.which("setsid"), reason="setsid makes a terminal the controlling one"
)
def test_closing_the_terminal_stops_the_run_after_the_current_agent_finishes(
    project: Project, screen: tuple[str, ...]
) -> None:
    """The running agent finishes and its work lands; no further task starts."""
    marker = project.folder / "go"
    words = (sys.executable, "-m", "yaoki", *screen, project.plan(two_tasks(marker)))

    with start_in_terminal(project, words) as (process, window):
        wait_until(lambda: is_working(project), "the agent is at work")
        os.close(window)
        marker.touch()
        code = process.wait(BOUND_S)

    assert code == 130
    stands = {task["name"]: task["state"] for task in project.status()["tasks"]}
    assert stands == {"slow": "DONE", "after": "WAITING"}
    assert not (project.repo / ".yaoki" / "internal-errors.log").exists()
    assert project.yaoki("resume").code == 0
    assert (project.task("slow")["attempt"], project.task("after")["attempt"]) == (1, 1)


@pytest.mark.full
@pytest.mark.spec("11.8")
@pytest.mark.skipif(not shutil.which("nohup"), reason="there is no nohup here")
def test_a_run_under_nohup_continues_after_a_hangup(project: Project) -> None:
    marker, log = project.folder / "go", project.folder / "log"
    words = ("sh", "-c", f'exec nohup "$@" > {log} 2>&1 < /dev/null', "sh")
    call = (sys.executable, "-m", "yaoki", "run", project.plan(two_tasks(marker)))

    with start_in_terminal(project, (*words, *call)) as (process, window):
        wait_until(lambda: is_working(project), "the agent is at work")
        os.close(window)
        marker.touch()
        code = process.wait(BOUND_S)

    assert code == 0, log.read_text()
    assert project.status()["status"] == "DONE"
