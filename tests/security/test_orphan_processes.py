"""Processes that try to outlive their attempt (V10) are ended."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tests.acceptance.project import Project, file_contains
from tests.acceptance.test_sandbox import needs_bubblewrap, write_sandbox_settings

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.10", "3.8")]
# Forked twice, in a new session, with an empty environment: nothing identifies it.
SURVIVES = """\
import os, pathlib, signal, sys, time
first = pathlib.Path({mark!r})
if not first.exists() or {always!r}:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            code = (
                "import time\\n"
                "for _ in range(300):\\n"
                "    open({mark!r}, 'a').write('alive\\\\n')\\n"
                "    time.sleep(0.1)\\n"
            )
            os.execve(sys.executable, [sys.executable, "-c", code], {{}})
        os._exit(0)
    while not first.exists():
        time.sleep(0.02)
    {kill}
pathlib.Path("a.txt").write_text("good\\n")
"""
KILLS = {
    "nobody": "pass",
    "its shim": "os.kill(os.getppid(), signal.SIGKILL); time.sleep(0.3)",
}


def a_plan(project: Project, code: str) -> str:
    return project.plan(
        {
            "goal": "Survive",
            "agents": {"bold": {"command": [sys.executable, "-c", code]}},
            "agent": "bold",
            "checks": {"good": file_contains("a.txt")},
            "tasks": [{"id": "a", "goal": "Write a.txt.", "checks": ["good"]}],
        }
    )


def has_stopped_writing(mark: Path) -> bool:
    before = mark.stat().st_size
    time.sleep(0.6)
    return mark.stat().st_size == before


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("who", KILLS)
def test_an_orphan_process_does_not_outlive_its_attempt(project: Project, who: str) -> None:
    mark = project.folder / "mark"
    code = SURVIVES.format(mark=str(mark), always=False, kill=KILLS[who])

    done = project.yaoki("run", a_plan(project, code))

    assert done.code == 0, done.out
    assert mark.exists(), done.out
    assert has_stopped_writing(mark)


@pytest.mark.full
@pytest.mark.parametrize("who", KILLS)
def test_a_sandboxed_orphan_process_does_not_outlive_its_attempt(
    project: Project, who: str
) -> None:
    needs_bubblewrap()
    own = project.folder / "own"
    own.mkdir()
    write_sandbox_settings(project, mode="on", writable=[str(own)])
    mark = own / "mark"
    code = SURVIVES.format(mark=str(mark), always=False, kill=KILLS[who])

    done = project.yaoki("run", a_plan(project, code))

    assert done.code == 0, done.out
    assert mark.exists(), done.out
    assert has_stopped_writing(mark)
