"""Work that is rejected on top of a candidate that never lands takes nothing of it along."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.acceptance.project import Project
from tests.acceptance.test_failure_messages import shell

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.8", "9.3", "17.7")]

FAILED = f"{sys.executable} -m yaoki result --status failed --summary 'cannot do it'"


def plan_with_a_hopeless_task(project: Project) -> dict[str, Any]:
    """`late` is verified on the candidate of `first`, whose check fails after that."""
    begun, built = project.folder / "begun", project.folder / "built"

    def wait(file: object) -> str:
        return f"n=0; while test ! -e {file} -a $n -lt 200; do n=$((n+1)); sleep 0.05; done"

    return {
        "goal": "x",
        "agents": {
            "first": shell("echo bad > first.txt"),
            "late": shell(f"{wait(begun)}; echo good > late.txt; {FAILED}"),
        },
        "checks": {
            "first": {"shell": f"touch {begun}; {wait(built)}; exit 1", "rerun": False},
            "late": {"shell": f"test ! -e first.txt || touch {built}; test -e late.txt"},
        },
        "tasks": [
            {"id": name, "goal": f"write {name}.txt", "agent": name, "checks": [name]}
            | {"retry": {"max_retries": 0}}
            for name in ("first", "late")
        ],
    }


def test_work_that_its_agent_called_failed_lands_alone_after_an_answer(project: Project) -> None:
    """The file of `first`, which passed no check, landed as work of `late`."""
    ran = project.yaoki("run", project.plan(plan_with_a_hopeless_task(project)), "--quiet")
    was_built = (project.folder / "built").exists()

    answered = project.yaoki("answer", "late", "done")
    project.yaoki("resume", "--quiet")

    assert (ran.code, was_built, answered.code) == (4, True, 0), ran.out + answered.err
    assert project.task("late")["state"] == "DONE"
    names = project.git("ls-tree", "-r", "--name-only", f"yaoki/{project.status()['run']}").split()
    assert ("late.txt" in names, "first.txt" in names) == (True, False)
