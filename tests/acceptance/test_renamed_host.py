"""Another host name on the same clone: a second container, or a laptop that was renamed."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.project import BOUND_S, PATIENT, Project, wait_until
from tests.acceptance.test_workers import (
    plan_that_waits,
    simple_plan,
    submit_plan,
    wait_until_done,
    workers,
)

RENAMED = ("unshare", "--uts", "sh", "-c", 'hostname elsewhere && exec "$@"', "sh")
pytestmark = [pytest.mark.acceptance, pytest.mark.spec("11.8", "8.6")]


def can_rename_host() -> bool:
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run((*RENAMED, "true"), capture_output=True, timeout=BOUND_S, check=False)
    return tried.returncode == 0


@pytest.fixture
def renamable_project(project: Project) -> Project:
    if not can_rename_host():
        pytest.skip("this machine lets nobody here have a host name of its own")
    return project


@contextmanager
def start_yaoki(
    project: Project, *words: str, before: Sequence[str] = ()
) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        (*before, sys.executable, "-m", "yaoki", *words),
        cwd=project.repo,
        env=project.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        for _ in range(2):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        process.communicate(timeout=BOUND_S)


def with_remote(project: Project) -> None:
    bare = project.folder / "remote.git"
    project.git("clone", "-q", "--bare", str(project.repo), str(bare))
    project.git("remote", "add", "origin", str(bare))
    project.settings(f'{PATIENT}\n[workspace]\nremote = "origin"\n')


@pytest.mark.full
@pytest.mark.parametrize("remote", [False, True], ids=["alone", "remote"])
def test_a_worker_with_another_host_name_does_not_take_a_running_task(
    renamable_project: Project, tmp_path: Path, remote: bool
) -> None:
    project, marker = renamable_project, tmp_path / "go"
    project.settings(PATIENT)
    if remote:
        with_remote(project)
    with start_yaoki(
        project, "run", project.plan(plan_that_waits(marker, "a")), "--quiet"
    ) as first:
        wait_until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")
        run = project.status()["run"]
        with start_yaoki(project, "worker", "--slots", "1", before=RENAMED):
            wait_until(lambda: len({w["host"] for w in workers(project)}) == 2, "both serve")
            # Started and finished after the second worker scanned the runs.
            wait_until_done(project, submit_plan(project, simple_plan("b"), "b.json"))
            marker.touch()
            out, _ = first.communicate(timeout=BOUND_S)

    assert first.returncode == 0, out
    assert "RECONCILED" not in project.event_names(run)
    assert project.event_names(run).count("ATTEMPT_STARTED") == 1


@pytest.mark.full
@pytest.mark.spec("0.2")
def test_a_worker_with_a_new_host_name_waits_for_the_agent_of_a_killed_one(
    renamable_project: Project, tmp_path: Path
) -> None:
    project, marker = renamable_project, tmp_path / "go"
    with start_yaoki(
        project, "run", project.plan(plan_that_waits(marker, "a")), "--quiet"
    ) as first:
        wait_until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")
        first.kill()
        first.wait(BOUND_S)
    run = project.status()["run"]

    with start_yaoki(project, "resume", run, "--quiet", before=RENAMED) as second:
        wait_until(lambda: len({w["host"] for w in workers(project)}) == 1, "the second serves")
        marker.touch()
        out, _ = second.communicate(timeout=BOUND_S)

    assert second.returncode == 0, out
    assert project.event_names(run).count("PROMPT_SENT") == 1
    assert project.event_names(run).count("TASK_LANDED") == 1
