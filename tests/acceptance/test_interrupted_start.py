"""Ctrl-C while `yaoki run` starts, before a task begins: one sentence, nothing lost, what next."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.acceptance.project import BOUND_S, Project, a_plan, file_contains, writes

pytestmark = pytest.mark.acceptance

# Ctrl-C comes exactly when this function of the start-up is called.
INTERRUPTED_AT = """
import importlib, os, signal, sys
from yaoki.faces.cli.main import main

place, name = sys.argv[1].rsplit(".", 1)
module, _, owner = place.partition(":")
holder = importlib.import_module(module)
holder = getattr(holder, owner) if owner else holder
original = getattr(holder, name)

def interrupted(*given, **named):
    os.kill(os.getpid(), signal.SIGINT)
    return original(*given, **named)

setattr(holder, name, interrupted)
sys.exit(main(sys.argv[2:]))
"""
BEFORE_THE_RUN = "yaoki.faces.cli.commands.run._require_worktree_folder"
BEFORE_THE_WORKER = "yaoki.faces.cli.commands.run.outlive_terminal"
IN_THE_WORKER = "yaoki.app.upkeep:Upkeep.back_up_if_due"


def interrupt(project: Project, place: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-c", INTERRUPTED_AT, place, *words),
        cwd=project.repo,
        env=project.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )


def one_task(project: Project) -> str:
    script, checks = {"a": [writes("a.txt")]}, {"a": file_contains("a.txt")}
    return project.plan(a_plan(script, [{"id": "a", "checks": ["a"]}], checks))


@pytest.mark.spec("9.8", "12.3")
@pytest.mark.parametrize("place", [BEFORE_THE_WORKER, IN_THE_WORKER])
def test_an_interrupt_before_the_first_task_says_that_nothing_is_lost(
    project: Project, place: str
) -> None:
    plan = one_task(project)

    stopped = interrupt(project, place, "run", plan)

    run = project.status()["run"]
    assert stopped.returncode == 130, stopped.stderr
    assert f"run {run}: stopped before a task began; nothing is lost" in stopped.stdout
    assert "attempt 1" not in stopped.stdout
    assert stopped.stdout.splitlines()[-1] == f"next: yaoki resume {run}"
    again = interrupt(project, place, "resume", run)
    assert again.returncode == 130, again.stderr
    assert again.stdout.splitlines()[-1] == f"next: yaoki resume {run}"
    resumed = project.yaoki("resume", "--quiet")
    assert resumed.code == 0, resumed.out + resumed.err


@pytest.mark.spec("9.8", "12.3")
def test_an_interrupt_before_the_run_is_stored_says_that_nothing_was_started(
    project: Project,
) -> None:
    plan = one_task(project)

    stopped = interrupt(project, BEFORE_THE_RUN, "run", plan)

    assert stopped.returncode == 130, stopped.stderr
    assert "interrupted before the run began: nothing was started\n" in stopped.stdout
    assert stopped.stdout.splitlines()[-1] == f"next: yaoki run {plan}"
