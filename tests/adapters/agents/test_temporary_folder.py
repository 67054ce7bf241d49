"""Each attempt has its own temporary folder, which is deleted with what the agent left there."""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from yaoki.adapters.agents.command import CommandAgent
from yaoki.adapters.processes.process_trees import ShimProcesses
from yaoki.adapters.system.clock import SystemClock
from yaoki.core.model import AgentSpec, TaskId
from yaoki.ports import AttemptRequest, ProcessPhase

PROCESSES, CLOCK = ShimProcesses(), SystemClock()
# Leaves a file and a folder, and prints the folder that it got.
PROGRAM = """
import os, pathlib, stat
folder = pathlib.Path(os.environ["TMPDIR"])
(folder / "sub").mkdir()
(folder / "sub" / "left.node").write_bytes(b"x" * 1000)
print(folder, oct(stat.S_IMODE(folder.stat().st_mode)))
"""


def run_attempt(top: Path, **env: str) -> tuple[Path, str]:
    """The temporary folder of an agent, and its mode."""
    environ = {**os.environ, "TMPDIR": str(top)}
    folder = top / "attempts" / str(len(env))
    order = AttemptRequest(
        task_id=TaskId("abcd1234-1"),
        attempt=1,
        epoch=1,
        agent=AgentSpec("mine", command=(sys.executable, "-c", PROGRAM), env=env),
        prompt="Do it.",
        worktree=top,
        folder=folder,
        timeout=timedelta(minutes=1),
        hang=timedelta(0),
        lease=timedelta(0),
    )
    PROCESSES.start(folder, CommandAgent(environ).build_launch(order))
    while PROCESSES.inspect(folder).phase == ProcessPhase.RUNNING:
        CLOCK.sleep(timedelta(milliseconds=20))
    path, mode = (folder / "out.log").read_text().split()
    return Path(path), mode


@pytest.mark.spec("3.2")
def test_each_attempt_has_its_own_temporary_folder_that_is_deleted(tmp_path: Path) -> None:
    own, mode = run_attempt(tmp_path)

    assert own.parent == tmp_path
    assert mode == "0o700"
    assert not own.exists()


@pytest.mark.spec("3.2")
def test_a_temporary_folder_that_the_plan_names_is_used_and_kept(tmp_path: Path) -> None:
    named = tmp_path / "mine"
    named.mkdir()

    used, _ = run_attempt(tmp_path, TMPDIR=str(named))

    assert used == named
    assert (named / "sub" / "left.node").exists()
