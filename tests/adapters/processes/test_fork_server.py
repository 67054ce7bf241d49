"""Shims from the fork server: nothing depends on it, and it leaves no process behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from yaoki.adapters.processes.process_trees import ShimProcesses
from yaoki.core.model import EndCause
from yaoki.ports import Launch, ProcessPhase, ProcessState

WORKER = """
import pathlib, sys, time
from yaoki.ports import Launch
from yaoki.adapters.processes.process_trees import ShimProcesses
folder, processes = pathlib.Path(sys.argv[1]), ShimProcesses()
processes.start(folder, Launch(("sleep", "60"), str(folder.parent), {}))
print("started", flush=True)
time.sleep(60)
"""
# A python that starts shims and no stem.
ONLY_ALONE = '#!/bin/sh\n[ $# -gt 3 ] || exit 1\nexec {python} "$@"\n'


@pytest.fixture
def processes() -> ShimProcesses:
    return ShimProcesses()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "attempt"
    yield place
    ShimProcesses().end(place, EndCause.STOP)


def launch(folder: Path, *argv: str) -> Launch:
    return Launch(argv, str(folder.parent), {"PATH": os.environ["PATH"]})


def until(true: Callable[[], object]) -> None:
    give_up = time.monotonic() + 40
    while not true():
        assert time.monotonic() < give_up, "waited in vain"
        time.sleep(0.01)


def ended(processes: ShimProcesses, folder: Path) -> ProcessState:
    until(lambda: processes.inspect(folder).phase != ProcessPhase.RUNNING)
    return processes.inspect(folder)


def shim_of(folder: Path) -> psutil.Process:
    return psutil.Process(json.loads((folder / "started.json").read_text())["pid"])


def fork_server_of(folder: Path) -> psutil.Process:
    stem = shim_of(folder).parent()
    assert stem is not None
    assert stem.cmdline()[-1].endswith("adapters/processes/shim/__main__.py"), (
        "the shim was started alone"
    )
    return stem


def is_gone(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.spec("3.7")
def test_shims_of_one_worker_share_a_fork_server_and_have_their_own_sessions(
    processes: ShimProcesses, tmp_path: Path
) -> None:
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        processes.start(folder, launch(folder, "sleep", "60"))

    shims, (stem, other) = [shim_of(f) for f in folders], [fork_server_of(f) for f in folders]

    assert stem == other
    assert [os.getsid(shim.pid) for shim in shims] == [shim.pid for shim in shims]
    assert [processes.end(f, EndCause.STOP).ended_by for f in folders] == ["stop", "stop"]
    until(lambda: not stem.children())


@pytest.mark.spec("0.2", "3.7")
def test_killing_the_fork_server_ends_no_agent_and_prevents_no_start(
    processes: ShimProcesses, folder: Path, tmp_path: Path
) -> None:
    processes.start(folder, launch(folder, "sleep", "60"))
    fork_server_of(folder).send_signal(signal.SIGKILL)

    other = tmp_path / "other"
    processes.start(other, launch(folder, "sh", "-c", "exit 3"))

    assert ended(processes, other).code == 3
    assert processes.inspect(folder).phase == ProcessPhase.RUNNING
    assert processes.end(folder, EndCause.STOP).ended_by == "stop"


@pytest.mark.spec("0.2", "3.7")
def test_the_fork_server_ends_with_its_worker_but_the_agent_does_not(folder: Path) -> None:
    argv = [sys.executable, "-c", WORKER, str(folder)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"started\n"
        stem = fork_server_of(folder)
        worker.kill()

    until(lambda: is_gone(stem))
    assert ShimProcesses().inspect(folder).phase == ProcessPhase.RUNNING
    assert ShimProcesses().end(folder, EndCause.STOP).ended_by == "stop"


@pytest.mark.spec("3.7")
def test_without_a_fork_server_the_shim_starts_alone(folder: Path) -> None:
    python = folder.parent / "python"
    python.write_text(ONLY_ALONE.format(python=sys.executable))
    python.chmod(0o755)
    processes = ShimProcesses(python=str(python))

    code = "until [ -e go ]; do sleep 0.05; done; exit 4"
    processes.start(folder, launch(folder, "sh", "-c", code))

    assert shim_of(folder).ppid() == os.getpid()
    (folder.parent / "go").touch()
    assert ended(processes, folder).code == 4


def test_an_agent_inherits_nothing_from_the_fork_server(
    processes: ShimProcesses, folder: Path
) -> None:
    """Neither descriptors nor signal handlers."""
    code = "ls /proc/self/fd | wc -l; grep SigIgn /proc/self/status; cat"

    processes.start(folder, launch(folder, "sh", "-c", code))

    assert ended(processes, folder).code == 0
    descriptors, ignored = (folder / "out.log").read_text().splitlines()
    assert int(descriptors) == 4, "its three, and that of the folder it lists"
    assert ignored.split()[1] == "0" * 16


@pytest.mark.spec("3.7")
def test_a_forked_shim_that_fails_is_reported_with_its_reason(
    processes: ShimProcesses, folder: Path
) -> None:
    """As for a shim that was started alone, the reason is in shim.log."""
    folder.mkdir()
    (folder / "out.log").mkdir()

    with pytest.raises(Exception, match="the shim failed: IsADirectoryError"):
        processes.start(folder, launch(folder, "true"))


def test_folders_with_odd_names_reach_the_fork_server(
    processes: ShimProcesses, tmp_path: Path
) -> None:
    folder = tmp_path / os.fsdecode(b"a\nb\xff")

    processes.start(folder, launch(folder, "true"))

    assert ended(processes, folder).code == 0
