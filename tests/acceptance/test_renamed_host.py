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

from tests.acceptance.project import BOUND_S, PATIENT, Place, until
from tests.acceptance.test_workers import is_done, simple, submitted, waiting, workers

RENAMED = ("unshare", "--uts", "sh", "-c", 'hostname elsewhere && exec "$@"', "sh")
pytestmark = [pytest.mark.acceptance, pytest.mark.spec("11.8", "8.6")]


def renames() -> bool:
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run((*RENAMED, "true"), capture_output=True, timeout=BOUND_S, check=False)
    return tried.returncode == 0


@pytest.fixture
def named(place: Place) -> Place:
    if not renames():
        pytest.skip("this machine lets nobody here have a host name of its own")
    return place


@contextmanager
def started(
    place: Place, *words: str, before: Sequence[str] = ()
) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        (*before, sys.executable, "-m", "yaoki", *words),
        cwd=place.repo,
        env=place.env,
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


def with_remote(place: Place) -> None:
    bare = place.folder / "remote.git"
    place.git("clone", "-q", "--bare", str(place.repo), str(bare))
    place.git("remote", "add", "origin", str(bare))
    place.settings(f'{PATIENT}\n[workspace]\nremote = "origin"\n')


@pytest.mark.full
@pytest.mark.parametrize("remote", [False, True], ids=["alone", "remote"])
def test_a_worker_with_another_host_name_does_not_take_a_running_task(
    named: Place, tmp_path: Path, remote: bool
) -> None:
    place, marker = named, tmp_path / "go"
    place.settings(PATIENT)
    if remote:
        with_remote(place)
    with started(place, "run", place.plan(waiting(marker, "a")), "--quiet") as first:
        until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")
        run = place.status()["run"]
        with started(place, "worker", "--slots", "1", before=RENAMED):
            until(lambda: len({w["host"] for w in workers(place)}) == 2, "both serve")
            # Begun and ended after the second one looked round.
            is_done(place, submitted(place, simple("b"), "b.json"))
            marker.touch()
            out, _ = first.communicate(timeout=BOUND_S)

    assert first.returncode == 0, out
    assert "RECONCILED" not in place.story(run)
    assert place.story(run).count("ATTEMPT_STARTED") == 1


@pytest.mark.full
@pytest.mark.spec("0.2")
def test_a_worker_with_a_new_host_name_waits_for_the_agent_of_a_killed_one(
    named: Place, tmp_path: Path
) -> None:
    place, marker = named, tmp_path / "go"
    with started(place, "run", place.plan(waiting(marker, "a")), "--quiet") as first:
        until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")
        first.kill()
        first.wait(BOUND_S)
    run = place.status()["run"]

    with started(place, "resume", run, "--quiet", before=RENAMED) as second:
        until(lambda: len({w["host"] for w in workers(place)}) == 1, "the second serves")
        marker.touch()
        out, _ = second.communicate(timeout=BOUND_S)

    assert second.returncode == 0, out
    assert place.story(run).count("PROMPT_SENT") == 1
    assert place.story(run).count("TASK_LANDED") == 1
