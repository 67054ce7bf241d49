"""Ctrl-C while `yaoki run` starts, before a task begins: one sentence, nothing lost, what next."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.project import (
    BOUND_S,
    Project,
    a_plan,
    file_contains,
    remaining_output,
    wait_until,
    waits_for,
    writes,
)

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


@pytest.mark.spec("11.8", "18.7")
def test_the_first_interrupt_starts_no_agent_and_lets_running_agents_finish(
    project: Project, tmp_path: Path
) -> None:
    """The set-up of one task takes long: the task is given back, without using a try."""
    finish, first, begun = (tmp_path / name for name in ("finish", "first", "begun"))
    slow = f"mkdir {first} 2>/dev/null || {{ touch {begun}; test -f {finish} || sleep 600; }}"
    names = ["a", "b"]
    plan = a_plan(
        {name: [[waits_for(finish), *writes(f"{name}.txt")]] for name in names},
        [{"id": name, "checks": [name]} for name in names],
        {name: file_contains(f"{name}.txt") for name in names},
        setup=[["sh", "-c", slow]],
    )
    with project.start("run", project.plan(plan)) as run:
        wait_until(begun.exists, "the set-up of one task runs")
        wait_until(lambda: "ATTEMPT_STARTED" in project.event_names(), "the other agent starts")
        run.send_signal(signal.SIGINT)
        wait_until(lambda: "LEASE_RELEASED" in project.event_names(), "the task is given back")
        finish.touch()
        out = remaining_output(run)

    assert run.returncode == 130, out
    assert "running agents finish first, with their checks" in out
    assert project.event_names().count("ATTEMPT_STARTED") == 1
    assert sorted(task["state"] for task in project.status()["tasks"]) == ["DONE", "WAITING"]
    resumed = project.yaoki("resume", "--quiet")
    assert resumed.code == 0, resumed.out + resumed.err
    assert [project.task(name)["attempt"] for name in names] == [1, 1]
