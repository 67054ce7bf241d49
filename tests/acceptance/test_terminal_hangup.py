"""The terminal is closed while a run works in it: it stops as if asked to, and goes on later."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.project import BOUND_S, Place, a_plan, holds, until, waits_for, writes


@contextmanager
def in_a_window(
    place: Place, words: Sequence[str]
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The program as a terminal emulator starts it: the window is its controlling terminal."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        ("setsid", "--ctty", *words),
        cwd=place.repo,
        env={**place.env, "TERM": "xterm"},
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
        {"slow": holds("slow.txt"), "after": holds("after.txt")},
    )


def at_work(place: Place) -> bool:
    tasks = place.status().get("tasks", ()) if place.stored() else ()
    return any(task["stage"] == "WORK" for task in tasks)


@pytest.mark.full
@pytest.mark.spec("11.8", "0.2")
@pytest.mark.parametrize("screen", [("run",), ("run", "--quiet")])
@pytest.mark.skipif(
    not shutil.which("setsid"), reason="setsid makes a terminal the controlling one"
)
def test_closing_the_terminal_stops_the_run_after_the_current_agent_finishes(
    place: Place, screen: tuple[str, ...]
) -> None:
    """The agent at work finishes and its work lands; nothing is begun any more."""
    marker = place.folder / "go"
    words = (sys.executable, "-m", "yaoki", *screen, place.plan(two_tasks(marker)))

    with in_a_window(place, words) as (process, window):
        until(lambda: at_work(place), "the agent is at work")
        os.close(window)
        marker.touch()
        code = process.wait(BOUND_S)

    assert code == 130
    stands = {task["name"]: task["state"] for task in place.status()["tasks"]}
    assert stands == {"slow": "DONE", "after": "WAITING"}
    assert not (place.repo / ".yaoki" / "internal-errors.log").exists()
    assert place.yaoki("resume").code == 0
    assert (place.task("slow")["attempt"], place.task("after")["attempt"]) == (1, 1)


@pytest.mark.full
@pytest.mark.spec("11.8")
@pytest.mark.skipif(not shutil.which("nohup"), reason="there is no nohup here")
def test_a_run_under_nohup_continues_after_a_hangup(place: Place) -> None:
    marker, log = place.folder / "go", place.folder / "log"
    words = ("sh", "-c", f'exec nohup "$@" > {log} 2>&1 < /dev/null', "sh")
    call = (sys.executable, "-m", "yaoki", "run", place.plan(two_tasks(marker)))

    with in_a_window(place, (*words, *call)) as (process, window):
        until(lambda: at_work(place), "the agent is at work")
        os.close(window)
        marker.touch()
        code = process.wait(BOUND_S)

    assert code == 0, log.read_text()
    assert place.status()["status"] == "DONE"
